"""The page: one file that loads nothing, runs nothing, and is light or dark as its reader is."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources

from askwho.report._drawing import Drawn
from askwho.report._html import Html, element, joined, plain
from askwho.report._palette import by_value, variables
from askwho.report._svg import Sheet, inline

NO_FIGURES = "Figures are drawn where matplotlib is installed: pip install 'askwho[plot]'."
"""What a page says in the place of the first figure where none could be drawn."""
# The sections by their anchors, in the order of the page; those that a log has nothing for are left out.
_CONTENTS = {
    "frontier": "Frontier",
    "hidden": "Hidden reasons",
    "asked": "Who is asked",
    "difficulty": "How many",
    "calibration": "Calibration",
    "over-time": "Over time",
    "changed": "Changed outcomes",
    "provenance": "Provenance",
}


class Figures:
    """Figures as parts of a page, and the styles that they use.

    Args:
        drawn: the figures.
        addresses: from a figure's file, such as `frontier.png`, to where it lies beside the page.
    """

    def __init__(self, drawn: Sequence[Drawn], addresses: Mapping[str, str]) -> None:
        self._drawn = {one.drawing.name: one for one in drawn}
        self._addresses = addresses
        self._missed = False
        self.sheet = Sheet(by_value())

    def __call__(self, name: str) -> Html:
        """Return a figure, for a screen and for a phone, with links to its files."""
        if not self._drawn:
            # Once is enough: where the first would be.
            missed, self._missed = self._missed, True
            return Html() if missed else element("p", NO_FIGURES, class_="muted")
        one = self._drawn[name]
        links = joined(
            (element("a", kind.upper(), href=self._addresses[f"{name}.{kind}"]) for kind in ("png", "svg")), " · "
        )
        return element(
            "figure",
            inline(one.svg, self.sheet, prefix=f"{name}-", label=one.drawing.says, class_="screen"),
            inline(one.phone, self.sheet, prefix=f"{name}-phone-", label=one.drawing.says, class_="phone"),
            element("figcaption", one.drawing.says, " ", links),
        )


def page(*, title: str, header: Html, sections: Sequence[Html], footer: Html, sheet: Sheet) -> str:
    """Return the whole document; its policy lets in this one style sheet, and nothing else.

    Args:
        title: of the window.
        header: before the sections.
        sections: in the order of the contents.
        footer: after them.
        sheet: the figures' styles, after the sections were made.
    """
    own = resources.files("askwho.report").joinpath("report.css").read_text(encoding="utf-8")
    css = f"{variables()}\n{own}{sheet.css}\n"
    seal = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{seal}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", plain(title, 120)),
        Html(f"<style>{css}</style>"),
    )
    there = [ident for ident in _CONTENTS if any(each.startswith(f'<section id="{ident}"') for each in sections)]
    links = [element("li", element("a", _CONTENTS[ident], href=f"#{ident}")) for ident in there]
    contents = element("nav", element("ul", *links), aria_label="Contents")
    body = element(
        "body",
        element("header", header, contents, id="headline"),
        element("main", *sections),
        element("footer", footer),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
