"""Asking in turn for a small panel: what one more answer is worth, learned for every set of those asked before."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float32, Int

from askwho.beliefs._asking import Asking, Basis
from askwho.beliefs._pool import Case, Pool, expected_costs
from askwho.beliefs._stacked import Stacked, of_every_set, summary_of
from askwho.core import each_fold

# Ridge a row, by hand, as in `Asking`.
_RIDGE = 0.1
# What stopping costs is half what is expected of it, which varies less, and half what came, which is never too sure.
# Where mistakes differ it is what is expected: a few mistakes would be nearly all that came.
_EXPECTED = 0.5


@dataclass(frozen=True, eq=False)
class BySets:
    """A rule for every set, and those that each fold is judged by.

    Args:
        asking: the rule that all rows teach.
        held: for each fold, the rule that the others teach.
    """

    asking: Asking
    held: list[Asking]

    @classmethod
    def fit(
        cls,
        pool: Pool,
        case: Case,
        truth: Int[np.ndarray, " n"],
        *,
        fees: Float[np.ndarray, "n a"],
        prices: Float[np.ndarray, " p"],
        entities: Int[np.ndarray, " e"],
        fold: Int[np.ndarray, " n"],
        free_start: bool,
        random_state: int = 0,
    ) -> "BySets":
        """Return the rule learned by backward induction over the sets, from everybody to nobody.

        Least-squares Monte Carlo (Longstaff and Schwartz 2001) with the states listed instead of drawn: for every set
        and every entity outside it, what follows (stop, or go on as learned for the larger set) is regressed on what is
        believed before. Beliefs and regressions are those of other folds, so that no row is judged by itself.

        Args:
            pool: how the answers of `entities` alone are believed together.
            case: past queries, their prior and evidence out of fold, with everybody's answer.
            truth: shape (n,), as indices into the classes.
            fees: shape (n, |A|), expected.
            prices: shape (p,).
            entities: shape (e,), who may be asked.
            fold: shape (n,), of each query.
            free_start: whether a decision can be made before anybody is asked.
            random_state: the seed.
        """
        small, paid = case.only(entities), fees[:, entities].astype(np.float32)
        parts = list(each_fold(fold))
        pools = [Stacked.fit(pool, small.rows(seen), truth[seen]) for seen, _ in parts]
        believed = _out_of_fold(pools, small, [held for _, held in parts])
        size, rates = len(entities), prices.astype(np.float32)
        # For each set what it comes to, shape (n, p), at first for everybody, who can only decide.
        worth = {2**size - 1: np.repeat(_stopped(believed[-1], truth, case.costs)[:, None], len(prices), axis=1)}
        bases: list[Basis] = []
        rules: list[list[np.ndarray]] = [[] for _ in range(len(parts) + 1)]
        for number in range(2**size - 2, -1, -1):
            summary, expected = summary_of(believed[number], case.costs)
            stop = _stopped(believed[number], truth, case.costs)
            basis = Basis.of(summary, random_state=random_state + number)
            inputs = basis.apply(summary)
            if case.costs is not None:
                inputs *= expected[:, None]
            others = [j for j in range(size) if not number >> j & 1]
            then = np.stack([worth[number | 1 << j] for j in others], axis=1) - stop[:, None, None]
            whole, *found = _regressed(inputs, then.reshape(len(then), -1), [held for _, held in parts])
            change = np.empty_like(then)
            for (_, held), weights in zip(parts, found, strict=True):
                change[held] = (inputs[held] @ weights).reshape(len(held), *then.shape[1:])
            charged = paid[:, others, None] * rates
            change += charged
            best = change.argmin(axis=1, keepdims=True)
            gained = np.take_along_axis(then + charged, best, axis=1)[:, 0]
            asks = np.take_along_axis(change, best, axis=1)[:, 0] < 0
            worth[number] = stop[:, None] + np.where(asks, gained, np.float32(0.0))
            bases.insert(0, basis)
            for rule, weights in zip(rules, [whole, *found], strict=True):
                gains = np.zeros((len(weights), size, len(prices)), dtype=np.float32)
                gains[:, others] = weights.reshape(len(weights), len(others), -1)
                rule.insert(0, gains)
        pools.insert(0, Stacked.fit(pool, small, truth))
        made = [
            Asking(entities, prices, bases, gains, free_start, pool, by_sets=True)
            for gains, pool in zip(rules, pools, strict=True)
        ]
        return cls(made[0], made[1:])


def _out_of_fold(pools: list[Stacked], case: Case, held: list[Int[np.ndarray, " _"]]) -> Float32[np.ndarray, "s n c"]:
    """What is believed after each set, shape (2^e, n, C), by the models of other folds."""
    believed = np.empty((2 ** case.codes.shape[1], len(case), len(case.labels)), dtype=np.float32)
    for pool, rows in zip(pools, held, strict=True):
        believed[:, rows] = of_every_set(pool, case.rows(rows))
    return believed


def _stopped(
    believed: Float32[np.ndarray, "n c"], truth: Int[np.ndarray, " n"], costs: Float32[np.ndarray, "c c"] | None
) -> Float32[np.ndarray, " n"]:
    """What stopping costs, shape (n,): half as expected, half as it came; as expected where mistakes differ."""
    if costs is not None:
        return expected_costs(costs, believed).min(axis=1)
    wrong = believed.argmax(axis=1) != truth
    return (_EXPECTED * (1 - believed.max(axis=1)) + (1 - _EXPECTED) * wrong).astype(np.float32)


def _regressed(
    inputs: Float32[np.ndarray, "n b"], targets: Float32[np.ndarray, "n t"], held: list[Int[np.ndarray, " _"]]
) -> list[Float32[np.ndarray, "b t"]]:
    """Weights of the inputs from all rows, and from all but those of each fold."""
    gram, pull = inputs.T @ inputs, inputs.T @ targets
    found = [_solved(gram, pull)]
    for rows in held:
        some = inputs[rows]
        found.append(_solved(gram - some.T @ some, pull - some.T @ targets[rows]))
    return found


def _solved(gram: np.ndarray, pull: np.ndarray) -> Float32[np.ndarray, "b t"]:
    """Ridge regression; the constant, what asking gains in the mean, is not held back."""
    # The constant is 1 in every row, or what stopping costs there, of which all other inputs are parts.
    unit = gram[0, 0] or gram.dtype.type(1.0)
    held = np.full(len(gram), _RIDGE * unit, dtype=gram.dtype)
    held[0] = 1e-6 * unit
    return np.linalg.solve(gram + np.diag(held), pull).astype(np.float32)
