"""Rules of a user's own for when two answers are the same, importable by name, good ones and bad."""

SEEN: list[str] = []


def last_word(text: str) -> str | None:
    """The last word, in small letters; of "nothing" there is no key."""
    SEEN.append(text)
    word = text.rsplit(maxsplit=1)[-1].lower() if text.split() else ""
    return None if word == "nothing" else word


def length(text: str) -> int:
    """No key: a number."""
    return len(text)


def broken(text: str) -> str:
    """No rule: it fails on most texts."""
    return {"cat": "cat"}[text]


NO_FUNCTION = "cat"
