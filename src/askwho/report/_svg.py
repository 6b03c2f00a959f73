"""A drawing of matplotlib's as part of a page: its styles as classes of one sheet, its colours as the page's own.

Styles in attributes would need a policy that lets any style in; classes in one sheet need the sheet's hash alone.
"""

import re
from collections.abc import Mapping
from xml.etree import ElementTree as ET

from askwho.report._html import Html, element

# Attributes that draw, and neither load nor run anything.
_KEPT = {"d", "x", "y", "width", "height", "transform", "clip-path", "viewBox"}
# Elements that matplotlib draws with; any other is left out, with all that is in it.
_TAGS = {"svg", "g", "path", "use", "defs", "clipPath", "rect", "text", "tspan"}
# Weight and size in the short form of a font that matplotlib writes; the family is the page's.
_FONT = re.compile(r"(?:(bold|[1-9]00) )?([\d.]+)px ")
# As ElementTree spells the name of a link within a drawing.
_HREF = "{http://www.w3.org/1999/xlink}href"


class Sheet:
    """The styles that drawings use, each under a short name.

    Args:
        colours: from a colour of a drawing to what the page calls it.
    """

    def __init__(self, colours: Mapping[str, str]) -> None:
        self.colours = colours
        self._names: dict[str, str] = {}

    def name(self, style: str) -> str | None:
        """Return the class of an attribute's style; None where it says nothing."""
        spelt = ";".join(filter(None, (self._spelt(part) for part in style.split(";"))))
        return self._names.setdefault(spelt, f"s{len(self._names)}") if spelt else None

    @property
    def css(self) -> str:
        """The rules, in the order in which they were first used."""
        return "\n".join(f".{name}{{{style}}}" for style, name in self._names.items())

    def _spelt(self, declaration: str) -> str | None:
        what, _, value = (part.strip() for part in declaration.partition(":"))
        if what == "font":
            # The page's own font, in the drawing's size.
            found = _FONT.search(f"{value} ")
            weight = f"font-weight:{found[1]};" if found and found[1] else ""
            return f"{weight}font-size:{found[2]}px" if found else None
        return f"{what}:{self.colours.get(value.lower(), value)}" if what and value else None


def inline(svg: bytes, sheet: Sheet, *, prefix: str, label: str, class_: str) -> Html:
    """Return a drawing as an element of a page.

    Args:
        svg: as matplotlib wrote it, with text as text.
        sheet: where its styles go.
        prefix: what its ids begin with, different for each drawing of a page.
        label: what it shows, in words.
        class_: the element's class.
    """
    root = ET.fromstring(svg)  # noqa: S314 - our own drawing, from memory
    inside = [_copied(child, sheet, prefix) for child in root]
    return element("svg", *inside, viewBox=root.get("viewBox"), role="img", aria_label=label, class_=class_)


def _copied(node: ET.Element, sheet: Sheet, prefix: str) -> Html | None:
    """The same element for a page: nothing that is not known to be harmless, and no ids but those that are used."""
    tag = node.tag.rpartition("}")[2]
    if tag not in _TAGS:
        return None
    attributes = {name: value for name, value in node.attrib.items() if name in _KEPT}
    if "clip-path" in attributes:
        attributes["clip-path"] = attributes["clip-path"].replace("url(#", f"url(#{prefix}")
    if tag in ("path", "clipPath") and "id" in node.attrib:
        attributes["id"] = prefix + node.attrib["id"]
    if _HREF in node.attrib:
        attributes["href"] = "#" + prefix + node.attrib[_HREF].lstrip("#")
    named = sheet.name(node.attrib.get("style", ""))
    if named is not None:
        attributes["class"] = named
    children = [_copied(child, sheet, prefix) for child in node]
    return element(tag, (node.text or "").strip() or None, *children, **attributes)
