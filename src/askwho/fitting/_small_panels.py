"""Asking in turn for small panels: a rule for every set of those asked, unless held-out rows are worse off by it."""

import numpy as np
from jaxtyping import Float, Int

from askwho.beliefs import MOST_MEMBERS, Beliefs, BySets, Case
from askwho.core import each_fold
from askwho.policy import InTurn, Outcomes
from askwho.replay import Judges, Replay

# Weights of all models together at the most, by hand: more take minutes to learn, and rows that few logs have.
_MOST_WEIGHTS = 1_000_000


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
    groups = np.arange(len(saved)) if one.groups is None else one.groups
    error = np.sqrt(np.square(np.bincount(groups, saved - saved.mean())).sum()) / len(saved)
    return bool(saved.mean() > error)
