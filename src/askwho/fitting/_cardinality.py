"""How many to ask, learned; and what that does on held-out rows at each price."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from askwho._parts import at_work
from askwho._types import Order
from askwho.core import each_fold, in_order
from askwho.fitting._surrogate import SurrogateCardinality
from askwho.policy import Cardinality, Curve, Outcomes, grouped
from askwho.replay import Replay, at_size, corrected, pooled_ratio

# Prices on the grid: neighbours differ by less than the rows can tell; the paper's networks are trained at fewer.
_PRICES, _SURROGATE_PRICES = 31, 17
# Every fourth price teaches the curve: rankings of neighbouring prices are nearly the same.
_TAUGHT = 4


def learn_cardinality(
    replay: Replay,
    real: Replay,
    fold: Int[np.ndarray, " n"],
    *,
    settings: SurrogateCardinality | None,
    width: int,
    random_state: int,
    anew: Sequence[Replay] = (),
    others: Replay | None = None,
) -> tuple[Cardinality, Outcomes]:
    """Return how many to ask, and what that did on rows that it had not seen, at each price.

    Args:
        replay: rows of the log, out of fold, with an answer of everybody.
        real: the same rows with the answers that are there.
        fold: shape (n,).
        settings: of the paper's Algorithm 2; None for D_x(k), learned once for every price.
        width: the largest committee.
        random_state: the seed.
        anew: the rows with answers imagined anew, several times over, where there are holes: what is expected.
        others: rows of which no truth is known: nothing is learned from them, but what is met is met over them, too.
    """
    seen, n = replay.seen, len(replay.log)
    prices = replay.prices(_PRICES if settings is None else _SURROGATE_PRICES)
    if settings is not None and settings.fee_weights is not None:
        prices = np.array(settings.fee_weights, dtype=np.float64)
    orders = replay.orders(prices.tolist(), width)
    moved = seen.judged.scores is None
    errors = [replay.errors(order) for order in (orders if moved else orders[:1])] * (1 if moved else len(orders))

    stands = _stands(real)

    def learn(rows: np.ndarray) -> Cardinality:
        # A ranking that no price moves teaches the same at each of them.
        taught = slice(0, None, _TAUGHT) if moved else slice(0, 1)
        curve = Curve.fit(
            seen.X[rows],
            seen.expected[rows],
            [order[rows] for order in orders[taught]],
            [each[rows] for each in errors[taught]],
            weighed=replay.log.weighed,
            weights=None if stands is None else stands[rows],
            random_state=random_state,
        )
        if settings is None:
            return Cardinality(width, curve)
        targets = errors if settings.metric is None else [_by_metric(replay, o, settings.metric) for o in orders]
        networks = settings.fit(
            seen.X[rows],
            [each[rows] for each in targets],
            [np.cumsum(in_order(seen.fees, order), axis=1)[rows, : errors[0].shape[1]] for order in orders],
            fee_weights=prices,
            groups=replay.log.groups[rows],
            random_state=random_state,
        )
        return Cardinality(width, curve, networks)

    sizes = np.empty((len(prices), n), dtype=np.intp)
    expected = np.empty((len(prices), n))
    every = np.empty((len(orders[::_TAUGHT]), n, errors[0].shape[1]))
    parts = [(learn(rows), held) for rows, held in each_fold(fold)]
    scale = 1.0
    if real.chances is not None:
        for part, held in parts:
            for p, order in enumerate(orders[::_TAUGHT]):
                every[p, held] = part.curve.predict(seen.X[held], seen.expected[held], order[held])
        scale = _scale(real, orders[::_TAUGHT], every, anew)
    for part, held in ((_scaled(part, scale), held) for part, held in parts):
        # Sizes as the policy will choose them: its curve is scaled, too, or a budget would be met by other committees.
        sizes[:, held] = part.sizes_at(
            seen.X[held], seen.expected[held], [o[held] for o in orders], seen.fees[held], prices.tolist()
        )
        # What is imagined anew stands in for the curve.
        if real.chances is not None and not anew:
            for p, order in enumerate(orders):
                curve = part.curve.predict(seen.X[held], seen.expected[held], order[held])
                expected[p, held] = at_size(curve, sizes[p, held])
    got, paid = real.came(orders, sizes, errors if real.chances is None else None)
    learned = _scaled(learn(np.arange(n)), scale)
    if real.chances is not None:
        weights, groups = real.weights(orders, sizes), real.log.groups
        if anew:
            # At the size that it found the least the curve is too hopeful.
            expected = np.mean([rows.came(orders, sizes)[0] for rows in anew], axis=0)
        if others is not None:
            more, more_sizes, more_paid = _unscored(others, learned, prices)
            expected, sizes, paid = (
                np.hstack(pair) for pair in ((expected, more), (sizes, more_sizes), (paid, more_paid))
            )
            got, weights = np.hstack([got, np.full(more.shape, np.nan)]), np.hstack([weights, np.zeros(more.shape)])
            groups = np.concatenate([groups, others.log.groups])
        got = corrected(expected, got, weights, grouped(groups))
    return at_work(learned), real.outcomes(prices, got, paid, sizes, others=others)


def _unscored(
    rows: Replay, learned: Cardinality, prices: Float[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "p m"], Int[np.ndarray, "p m"], Float[np.ndarray, "p m"]]:
    """What rows without a truth are expected to get at each price, how many are asked, and what they are paid."""
    seen = rows.seen
    orders = rows.orders(prices.tolist(), learned.width)
    sizes = learned.sizes_at(seen.X, seen.expected, orders, seen.fees, prices.tolist())
    each = list(zip(orders, sizes, strict=True))
    expected = [at_size(learned.curve.predict(seen.X, seen.expected, order), size) for order, size in each]
    return np.stack(expected), sizes, np.stack([at_size(rows.paid(order), size) for order, size in each])


def _scale(
    real: Replay, orders: Sequence[Order], expected: Float[np.ndarray, "p n K"], anew: Sequence[Replay]
) -> float:
    """By how much more, or less, committees really got than the curve says that was learned from imagined answers.

    Answers that stay as they were given say of the others what the features may have told already: first the curve is
    brought to what answers come to that are all imagined anew, then to what came.
    """
    assert real.chances is not None  # noqa: S101 - there are holes
    hoped, first = np.concatenate([each.T for each in expected]), 1.0
    if anew:
        drawn = sum(float(rows.errors(order)[:, : expected.shape[2]].sum()) for rows in anew for order in orders)
        first = drawn / len(anew) / float(hoped.sum()) if hoped.sum() > 0 else 1.0
    came = np.concatenate([real.errors(order).T for order in orders])
    weights = np.concatenate([real.chances.prefixes(order).T[: expected.shape[2]] for order in orders])
    return first * pooled_ratio(first * hoped, came, weights, grouped(real.log.groups))


def _stands(real: Replay) -> np.ndarray | None:
    """For how many queries each row stands whose truth was looked up, as far as elsewhere; None where all were."""
    if real.chances is None:
        return None
    weights = np.minimum(real.chances.weights(np.zeros(real.asked.shape, dtype=bool)), np.sqrt(len(real.log)))
    return None if (weights == weights[0]).all() else weights


def _scaled(learned: Cardinality, scale: float) -> Cardinality:
    """The same with what the curve says taken times `scale`."""
    return replace(learned, curve=replace(learned.curve, scale=scale))


def _by_metric(replay: Replay, order: Order, metric: str) -> np.ndarray:
    """Errors by another metric: an aggregation's, or the best member's, which needs the truth."""
    if metric == "best-of-k":
        return replay.best_of(order)
    return replay.errors(order, metric)
