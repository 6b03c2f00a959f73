"""Committees by hand: one query, one size, plain Python."""

import math
from collections import defaultdict
from statistics import median


def vote(answers, voted, weights, ties):
    """The winning answer of one committee, or None."""
    tally, first = defaultdict(float), {}
    for rank, (answer, speaks, weight) in enumerate(zip(answers, voted, weights, strict=True)):
        if speaks:
            tally[answer] += weight
            first.setdefault(answer, rank)
    if not tally:
        return None
    best = max(tally.values())
    return min((a for a, total in tally.items() if total == best), key=first.get if ties == "rank" else None)


def softmax(scores, voted):
    top = max((s for s, speaks in zip(scores, voted, strict=True) if speaks), default=0.0)
    return [math.exp(s - top) if speaks else 0.0 for s, speaks in zip(scores, voted, strict=True)]


def average(answers, voted, weights):
    pairs = [(a, w) for a, speaks, w in zip(answers, voted, weights, strict=True) if speaks]
    return sum(a * w for a, w in pairs) / sum(w for _, w in pairs) if pairs else None


def middle(answers, voted):
    said = [a for a, speaks in zip(answers, voted, strict=True) if speaks]
    return median(said) if said else None
