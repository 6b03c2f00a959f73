"""Drawings made by matplotlib: each once for a screen, once for a phone, and once as PNG."""

import importlib
import io
import warnings
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from askwho.report._palette import LIGHT

# Widths in inches: at 96 pixels each the page's column, and a phone of 390 pixels without its margins.
_SCREEN, _PHONE = 7.4, 3.7
# Everything that a figure depends on, in the page's colours: a reader's own settings change nothing.
_SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["muted"],
    "axes.edgecolor": LIGHT["line"],
    "xtick.color": LIGHT["line"],
    "ytick.color": LIGHT["line"],
    "xtick.labelcolor": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["muted"],
    "grid.color": LIGHT["line"],
    "figure.facecolor": LIGHT["surface"],
    "savefig.facecolor": LIGHT["surface"],
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    # A dollar in a name is a dollar, and text stays text: the reader's own fonts show any script.
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "askwho",
}


@runtime_checkable
class Painter(Protocol):
    """Draws onto a figure, which may be for a phone."""

    def __call__(self, figure: Any, *, phone: bool) -> None: ...  # noqa: ANN401


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn.

    Args:
        name: of its files.
        says: what it shows, in words, for those who do not see it.
        paint: draws onto a figure.
        height: in inches.
        phone_height: likewise.
    """

    name: str
    says: str
    paint: Painter
    height: float = 3.7
    phone_height: float = 3.9


@dataclass(frozen=True)
class Drawn:
    """A figure that was drawn: SVG for a screen and for a phone, and PNG."""

    drawing: Drawing
    svg: bytes
    phone: bytes
    png: bytes


def draw(drawings: list[Drawing]) -> list[Drawn]:
    """Return the drawings drawn, the same for the same input, whatever matplotlib is set to outside.

    None where matplotlib is not installed: a page says all of it in words and tables too.
    """
    matplotlib = plotting()
    if matplotlib is None:
        return []
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        # A letter that matplotlib's font lacks is still a letter in the SVG.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        return [_drawn(drawing) for drawing in drawings]


def plotting() -> Any:  # noqa: ANN401 - a module without stubs
    """Return matplotlib, or None where it is not installed."""
    try:
        importlib.import_module("matplotlib.figure")
        return importlib.import_module("matplotlib")
    except ImportError:
        return None


def _drawn(drawing: Drawing) -> Drawn:
    figures: Any = importlib.import_module("matplotlib.figure")

    def saved(figure: Any, kind: str) -> bytes:  # noqa: ANN401
        stream = io.BytesIO()
        # No date and no version in the file: the same figure has the same bytes.
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, dpi=160, metadata=metadata)
        return stream.getvalue()

    screen = figures.Figure(figsize=(_SCREEN, drawing.height), layout="constrained")
    drawing.paint(screen, phone=False)
    phone = figures.Figure(figsize=(_PHONE, drawing.phone_height), layout="constrained")
    drawing.paint(phone, phone=True)
    return Drawn(drawing, saved(screen, "svg"), saved(phone, "svg"), saved(screen, "png"))
