"""Asking in turn, learned from held-out rows."""

import numpy as np
from jaxtyping import Int

from askwho.beliefs import Asking, Pool, random_masks, worth_asking
from askwho.core import each_fold
from askwho.policy import InTurn, Outcomes
from askwho.replay import Replay, like_at_once, price_grid

FEWEST_WHOLE = 8
"""A committee of k is worth learning of where so many rows have k answers."""
# Prices that the rule is learned at; between two it is interpolated.
_PRICES = 14


def learn_turns(
    replay: Replay,
    real: Replay,
    fold: Int[np.ndarray, " n"],
    *,
    random_state: int,
    like: Outcomes,
    others: Replay | None = None,
) -> InTurn:
    """Return the rule, and what it got, paid and asked on rows that it had not seen.

    Args:
        replay: rows of the log, out of fold, with an answer of everybody.
        real: the same rows with the answers that are there.
        fold: shape (n,).
        random_state: the seed.
        like: what asking at once did on the same rows, and on others behind them.
        others: rows of which no truth is known.
    """
    beliefs, case, answers, truth = replay.believed()
    panel = replay.log.panel
    prices = price_grid(panel.fees, case.expected if case.costs is None else replay.seen.expected, _PRICES)
    asked = replay.asked
    right = beliefs.right(answers, case.codes, truth)
    entities = worth_asking(beliefs.pool, case, right, asked=asked, fees=panel.fees, prices=prices)
    # A base answers whether it is worth asking or not, and is heard with the others.
    base = np.flatnonzero(panel.is_kind("base") & ~beliefs.evidence.silent & (case.codes >= 0).any(axis=0))
    entities = np.union1d(entities, base)
    everybody = len(entities) == np.any(case.codes >= 0, axis=0).sum()

    # Committees that hardly a row has are not asked for: what they would get could never be seen.
    answered = np.sort(real.asked[:, entities].sum(axis=1))[::-1]
    most = max(1, int(answered[min(FEWEST_WHOLE, len(answered)) - 1])) if len(entities) else 0

    def pool(rows: np.ndarray) -> Pool:
        # Weights learned from a whole large panel are about its weak members, and too sure of the good ones together.
        if everybody:
            return beliefs.pool.only(entities)
        masks = random_masks(asked[rows][:, entities], random_state=random_state)
        return Pool.fit(case.rows(rows).only(entities), right[rows], masks)

    def rule(rows: np.ndarray) -> Asking:
        return Asking.fit(
            pool(rows),
            case.rows(rows),
            asked=asked[rows],
            fees=replay.seen.fees[rows],
            prices=prices,
            entities=entities,
            free_start=bool(beliefs.evidence.silent.any()),
            most=most,
            random_state=random_state,
        )

    # Between two prices the rule is a mixture of theirs: more of them cost little, and a budget is met more closely.
    tried = np.sort(np.concatenate([prices, np.sqrt(prices[1:-1] * prices[2:])]))
    n = len(case)
    if others is not None:
        whole = rule(np.arange(n))
        parts = [(held, real.rows(held).walked(rule(rows), tried)) for rows, held in each_fold(fold % 2)]
        parts.append((n + np.arange(len(others.log)), others.walked(whole, tried)))
        order = np.argsort(np.concatenate([held for held, _ in parts]))
        got, paid, sizes, weights = (np.hstack([done[i] for _, done in parts])[:, order] for i in range(4))
        error, fee = like_at_once(like, tried, got, paid, weights)
        return InTurn(whole, real.outcomes(tried, error, fee, sizes, in_turn=True, others=others))
    got, paid, sizes = np.empty((len(tried), n)), np.empty((len(tried), n)), np.empty((len(tried), n), dtype=np.intp)
    anew = real.anew(random_state)
    # Two halves suffice: what is learned here has few parameters.
    for rows, held in each_fold(fold % 2):
        there = [each.rows(held) for each in anew]
        got[:, held], paid[:, held], sizes[:, held] = real.rows(held).taken(rule(rows), tried, there)
    return InTurn(rule(np.arange(n)), real.outcomes(tried, got, paid, sizes, in_turn=True))
