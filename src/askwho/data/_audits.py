"""Of which rows somebody looked the truth up: mostly of those on which two answers differ, perhaps."""

from collections.abc import Iterator, Mapping
from itertools import combinations, islice

import numpy as np
from jaxtyping import Bool

from askwho.core import is_null
from askwho.data._holes import LEAST_SHARE
from askwho.data._kinds import as_codes, explained, kinds
from askwho.data._problem import Problem
from askwho.data._tables import Table

# How often a clean log may be blamed, over all pairs together.
_CHANCE = 1e-3
# Pairs that are looked at: those of 20 entities.
_MOST_PAIRS = 190
# A kind of row of which fewer than this part has a truth has next to none: nothing is weighed to stand for it.
_HARDLY = 0.02


def audits(
    sample: Table,
    known: Bool[np.ndarray, " n"],
    *,
    truth: str,
    answers: Mapping[str, str],
    features: list[str],
    told: bool,
) -> Iterator[Problem]:
    """Yield a problem where the truth is known by whether two answers agree, more than by any feature.

    Args:
        sample: rows of the log.
        known: shape (n,), of which of them the truth is.
        truth: its column.
        answers: from entity to its column.
        features: those that are single values.
        told: whether a column tells the probabilities: then it does no harm, unless of a kind none is known.
    """
    if known.all() or not known.any():
        return
    looked = known.astype(np.float64)
    pairs = list(islice(combinations(answers, 2), _MOST_PAIRS))
    found: list[tuple[float, str, str, float, float]] = []
    for one, other in pairs:
        said, there = (sample[answers[each]] for each in (one, other)), ~is_null(sample[answers[one]])
        there &= ~is_null(sample[answers[other]])
        codes = as_codes(np.concatenate([values.astype(object) for values in said])).reshape(2, -1)
        differ = np.where(there, codes[0] != codes[1], -1)
        share, luck = explained(looked, differ)
        if share >= LEAST_SHARE and luck < _CHANCE / len(pairs):
            found.append((share, one, other, float(looked[differ == 1].mean()), float(looked[differ == 0].mean())))
    if not found:
        return
    share, one, other, apart, alike = max(found)
    if share <= max((explained(looked, kinds(sample[name]).codes)[0] for name in features), default=0.0):
        return
    never = min(apart, alike) < _HARDLY
    if never or not told:
        what = "no figure is told of all rows" if never else "those rows are weighed by what the log shows of it"
        yield Problem(
            "warning",
            f"known of {apart:.0%} of rows where {one} and {other} differ, and of {alike:.0%} where they agree: "
            f"{what}. Look some of the others up, too, and write down how likely each was (`propensity`)",
            truth,
        )
