"""Markup in which whatever is not markup already is escaped, and text that a stranger wrote made fit to be shown."""

import html
import unicodedata
from collections.abc import Iterable, Sequence

# Elements of ours that have no end tag.
_VOID = {"meta", "br"}
# What turns the direction of the text around it: a name must not rearrange the page.
_TURNS = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A)), "\u200e", "\u200f", "\u061c"}


class Html(str):
    """Text that is markup: `element` puts it in as it is, and any other text escaped."""

    __slots__ = ()


def element(tag: str, *children: str | None, **attributes: str | None) -> Html:
    """Return an element; a child that is no `Html` is escaped, None is left out; `aria_label` is aria-label."""
    spelt = "".join(
        f' {name.strip("_").replace("_", "-")}="{html.escape(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{spelt}>")
    return Html(f"<{tag}{spelt}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str | None], between: str = "") -> Html:
    """Return the parts one after another, each escaped unless it is `Html`."""
    glue = _safe(between)
    return Html(glue.join(_safe(part) for part in parts if part is not None))


def plain(value: object, most: int = 80) -> str:
    """Return any value as one line of text, at most so long, without characters that cannot be shown.

    >>> plain("some words   apart", 8)
    'some wo…'
    """
    # A megabyte of text is not walked through for the sake of its first line.
    words = " ".join(str(value)[: 8 * most + 64].split())
    text = "".join("\ufffd" if _unfit(letter) else letter for letter in words)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def name_of(value: str, most: int) -> str:
    """Return a name of at most so many letters, shortened in the middle: names of a family differ at their ends.

    >>> name_of("Meta-Llama-3-8B-Instruct", 12)
    'Meta-L…truct'
    """
    text = plain(value, 400)
    head = most // 2
    return text if len(text) <= most else text[:head] + "…" + text[len(text) - (most - head - 1) :]


def quoted(value: object, most: int = 80) -> Html:
    """Return what a user wrote, escaped, shortened, and kept from changing the direction of the text around it."""
    return element("bdi", plain(value, most) or "(empty)")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, label: str, words: int = 1) -> Html:
    """Return a table that scrolls within itself; the first `words` columns are text, the others numbers."""

    def kind(i: int) -> str | None:
        return None if i < words else "n"

    top = [element("th", cell, scope="col", class_=kind(i)) for i, cell in enumerate(head)]
    body = [
        element(
            "tr",
            element("th", row[0], scope="row"),
            *(element("td", cell, class_=kind(i)) for i, cell in enumerate(row[1:], 1)),
        )
        for row in rows
    ]
    whole = element("table", element("thead", element("tr", *top)), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=label)


def _unfit(letter: str) -> bool:
    return letter in _TURNS or unicodedata.category(letter) in ("Cc", "Cs", "Cn", "Co")


def _safe(part: str) -> str:
    return part if isinstance(part, Html) else html.escape(part)
