"""All loops, by name."""

from askwho._fast._asked import advanced, bent, least, numbered, wanted_by_any
from askwho._fast._believed import likeliest, scores_after
from askwho._fast._lines import interpolated
from askwho._fast._ranked import argsorted, cheapest, gathered, orders, sizes
from askwho._fast._resampled import drawn
from askwho._fast._voted import leaders

__all__ = [
    "advanced",
    "argsorted",
    "bent",
    "cheapest",
    "drawn",
    "gathered",
    "interpolated",
    "leaders",
    "least",
    "likeliest",
    "numbered",
    "orders",
    "scores_after",
    "sizes",
    "wanted_by_any",
]
