"""All loops, by name."""

from askwho._fast._asked import advanced, least
from askwho._fast._believed import likeliest, scores_after

__all__ = ["advanced", "least", "likeliest", "scores_after"]
