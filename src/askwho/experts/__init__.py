"""Experts: sources of answers, each behind one async method, with a fee, limits, and ways to fail."""

from askwho.experts._expert import Charged, Expert, ExpertError, Limits, Question, Reply, limits_of, worst_of
from askwho.experts._fake import Fake

__all__ = [
    "Charged",
    "Expert",
    "ExpertError",
    "Fake",
    "Limits",
    "Question",
    "Reply",
    "limits_of",
    "worst_of",
]
