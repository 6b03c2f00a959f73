"""What strangers wrote, made fit for a terminal."""


def visible(text: str, *, keep: str = "") -> str:
    r"""Return a text in which whatever a terminal would obey is spelt out; the characters in `keep` stay.

    >>> visible("red\x1b[31m")
    'red\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)
