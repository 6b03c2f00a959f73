"""Small panels: a model for every set of those asked, at once and in turn, unless held-out rows are worse off by it."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int, Shaped

from askwho.beliefs import MOST_MEMBERS, Beliefs, BySets, Case, Sets
from askwho.core import each_fold
from askwho.policy import POSTERIOR, InTurn, Outcomes
from askwho.replay import Judges, Replay

# Weights of all models together at the most, by hand: more take minutes to learn, and rows that few logs have.
_MOST_WEIGHTS = 1_000_000


def choose_sets(replay: Replay, fold: Int[np.ndarray, " n"], *, width: int) -> Replay:
    """Return the rows with a model for every set of those asked at once, unless the pool is clearly better.

    Where some mistakes are worse than others a verdict needs the probability of what is rare and dear, which one pool
    for all sets tells less well. Where all are alike the likeliest class will do: there it was measured to be level,
    and the pool stays.

    Args:
        replay: rows of the log, out of fold.
        fold: shape (n,).
        width: the largest committee.
    """
    beliefs, case = replay.combiner.beliefs, replay.case
    if not isinstance(beliefs, Beliefs) or not isinstance(case, Case) or case.costs is None:
        return replay
    entities = np.flatnonzero(~beliefs.silent)
    if not _fits(replay, case, len(entities)):
        return replay
    _, _, answers, truth = replay.believed()
    right = beliefs.right(answers, case.codes, truth)
    sets, told = Sets.fit(beliefs.pool, case, right, entities=entities, fold=fold)
    combiner = replace(replay.combiner, beliefs=replace(beliefs, sets=sets))
    by_sets = replace(replay, combiner=combiner, case=told)
    # Of every size, at the price at which nothing but errors counts.
    order = replay.order(0.0, width)
    saved = (by_sets.errors(order, POSTERIOR) - replay.errors(order, POSTERIOR)).mean(axis=1)
    return replay if _clearly_above_zero(saved, replay.log.groups) else by_sets


def learn_by_sets(
    replay: Replay,
    fold: Int[np.ndarray, " n"],
    *,
    prices: Float[np.ndarray, " p"],
    entities: Int[np.ndarray, " e"],
    random_state: int,
) -> tuple[InTurn, Judges] | None:
    """Return the rule for every set and what it did on rows that it had not seen; None where it cannot be learned.

    It needs an answer of everybody to every query, few entities, and classes that are known.

    Args:
        replay: rows of the log, out of fold.
        fold: shape (n,).
        prices: λ, shape (p,).
        entities: shape (e,), who may be asked.
        random_state: the seed.
    """
    beliefs, case, answers, truth = replay.believed()
    if not isinstance(beliefs, Beliefs) or not isinstance(case, Case) or not _fits(replay, case, len(entities)):
        return None
    found = BySets.fit(
        beliefs.pool.only(entities),
        case,
        beliefs.right(answers, case.codes, truth),
        fees=replay.seen.fees,
        prices=prices,
        entities=entities,
        fold=fold,
        free_start=bool(beliefs.silent.any()),
        random_state=random_state,
    )
    n = len(case)
    got, paid, sizes = np.empty((len(prices), n)), np.empty((len(prices), n)), np.empty((len(prices), n), dtype=np.intp)
    judges = [(held, asking) for (_, held), asking in zip(each_fold(fold), found.held, strict=True)]
    for held, asking in judges:
        got[:, held], paid[:, held], sizes[:, held] = replay.rows(held).taken(asking, prices)
    return InTurn(found.asking, replay.outcomes(prices, got, paid, sizes, in_turn=True)), judges


def _fits(replay: Replay, case: Case, size: int) -> bool:
    """Whether a model for every set can be learned from these rows, in bearable time."""
    if replay.chances is not None or not len(case.labels) or not 0 < size <= MOST_MEMBERS:
        return False
    known = 0 if case.known is None else case.known.shape[1]
    width = known + len(case.labels) * (1 + 3 * size)
    return len(case.labels) > 1 and 2**size * width * len(case.labels) <= _MOST_WEIGHTS


def clearly_better(one: Outcomes, other: Outcomes) -> bool:
    """Return whether the one's errors and fees cost less, in the mean over prices, by more than one standard error.

    The rule of one standard error (Breiman et al. 1984), rows of one group counted as one.

    Args:
        one: what a rule did.
        other: what another did, at the same prices on the same rows.
    """
    saved = (other.errors - one.errors + one.prices[:, None] * (other.fees - one.fees)).mean(axis=0)
    return _clearly_above_zero(saved, np.arange(len(saved)) if one.groups is None else one.groups)


def _clearly_above_zero(saved: Float[np.ndarray, " n"], groups: Shaped[np.ndarray, " n"]) -> bool:
    """Whether a mean is above zero by more than one standard error."""
    _, group = np.unique(groups, return_inverse=True)
    error = np.sqrt(np.square(np.bincount(group.reshape(-1), saved - saved.mean())).sum()) / len(saved)
    return bool(saved.mean() > error)
