"""Fees by query that depend on what was answered: they would tell the answer before it is asked for."""

from collections.abc import Iterator, Mapping

import numpy as np

from askwho._types import Task
from askwho.core import is_null
from askwho.data._kinds import as_numbers, as_ranks, explained, kinds
from askwho.data._problem import Problem, listed
from askwho.data._tables import Table

# The share of the variance of an entity's fees, by rank, that its answers explain: below it, fees tell next to nothing.
LEAST_SHARE = 0.1
# How often a clean log may be blamed, over all entities and tests of it together.
_CHANCE = 1e-3
# Kinds of answers of fewer rows are left out: the test's distribution is one of large samples.
_LEAST_ROWS = 5
# Fees that are known: of fewer nothing can be told.
_LEAST_FEES = 30
# Tests of one entity: by whether it answered, by what, and by how right it was.
_TESTS = 3
# A simpler reason that explains nearly as much is the one to be told.
_NEARLY = 0.9


def charges(
    sample: Table, *, fees: Mapping[str, str], answers: Mapping[str, str], truth: str | None, task: Task
) -> Iterator[Problem]:
    """Yield one problem for all entities whose fees differ by what they answered, beyond chance.

    The test is that of Kruskal and Wallis on ranks, which no unit and no outlier moves, with a least share of variance,
    for in a long log anything is beyond chance; corrected by Bonferroni for all entities and tests. It is conditional
    on nothing: a fee that the query's length sets, and through it what is answered, is blamed if it tells that much.
    Whether the query alone set it is for the reader to say.

    Args:
        sample: rows of the log.
        fees: from entity to its column of fees.
        answers: from entity to its column of answers or grades.
        truth: the column of the truth, if there is one.
        task: what the truth is.
    """
    found: dict[str, tuple[float, str]] = {}
    for name, column in fees.items():
        charged = as_numbers(sample[column])
        known = np.zeros(0, dtype=bool) if charged is None else ~np.isnan(charged)
        if charged is None or known.sum() < _LEAST_FEES:
            continue
        ranks = as_ranks(charged[known])
        said, right = sample[answers[name]][known], None if truth is None else sample[truth][known]
        reasons = {why: explained(ranks, codes) for why, codes in _reasons(said, right, task)}
        sure = {why: share for why, (share, chance) in reasons.items() if chance < _CHANCE / (_TESTS * len(fees))}
        most = max(sure.values(), default=0.0)
        if most >= LEAST_SHARE:
            found[name] = next((share, why) for why, share in sure.items() if share >= _NEARLY * most)
    if found:
        order = sorted(found, key=lambda name: -found[name][0])
        share, why = found[order[0]]
        yield Problem(
            "warning",
            f"fees of {listed(order)} differ by {why} ({share:.0%} of the variance of {order[0]}'s): a fee must be "
            "known before asking. Give each entity its usual fee, and leave it empty where nobody was asked",
            fees[order[0]] if len(order) == 1 else None,
        )


def _reasons(said: np.ndarray, truth: np.ndarray | None, task: Task) -> Iterator[tuple[str, np.ndarray]]:
    """What fees may differ by, the simplest first: the kind of each row, -1 where it is of none."""
    empty = is_null(said)
    counts = np.array([(~empty).sum(), empty.sum()])
    if counts.min() >= _LEAST_ROWS:
        yield "whether there is an answer", empty.astype(np.int64)
    if truth is None:
        yield "the grade", kinds(said).of_at_least(_LEAST_ROWS).codes
        return
    off = _off(said, truth, empty, task)
    if off is not None:
        codes = kinds(off).of_at_least(_LEAST_ROWS).codes
        why = "whether the answer is right" if task == "classification" else "how wrong the answer is"
        yield why, np.where(empty, -1, codes)
    # Answers that are rare, as free ones are, are one kind: reasons are weighed on the same rows.
    codes = kinds(said).of_at_least(_LEAST_ROWS).codes
    yield "the answer", np.where(codes < 0, codes.max() + 1, codes)


def _off(said: np.ndarray, truth: np.ndarray, empty: np.ndarray, task: Task) -> np.ndarray | None:
    """How wrong each answer was; NaN where there is none."""
    one, other = as_numbers(said), as_numbers(truth)
    if task == "classification":
        wrong = (one != other) if one is not None and other is not None else np.asarray(said != truth, dtype=bool)
        return np.where(empty, np.nan, wrong.astype(np.float64))
    return None if one is None or other is None else np.abs(one - other)
