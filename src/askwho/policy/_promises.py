"""Targets with a promise: settings whose mean fee or error is shown, on held-out rows, to be within a target.

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei 2021): settings are tested one after the other along the
path of prices, from where the target is easiest until the first that fails: a budget from the highest price, an error
from the lowest price at which other rows erred hardly more than at the least. A setting that breaks the target is
reached only by passing the test of the first that does, which happens with probability 1 − confidence at the most:
so everything before the failure may be used, and no test pays for the others.

What is assumed: rows, or groups where there are any, are drawn independently from what the queries to come are drawn
from; nothing of the policy was learned from them; and no loss is above its bound, no group larger than its own, which
the user states where the log cannot: no sample tells what it has not seen.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from askwho._unit import Unit
from askwho.exceptions import InvalidInputError
from askwho.policy._outcomes import Outcomes, Setting
from askwho.policy._target import Target

# Bets are set anew so many times at the most; more of them win nothing.
_BETS = 500
# Aim a little past the goal: the bets hedge in steps, and land beside it.
_MARGIN = 1.05
# Never stake all: one row must not end the game.
_MOST_STAKE = 0.99
# Places are tested together, as many as fit into so many cells.
_CELLS, _AT_A_TIME = 1 << 20, 128
# What is said where a promise would stand on what was never seen.
_ESTIMATED = (
    "`{name}` cannot be promised on these rows: not everybody was asked, or not every truth is known, and what would "
    "have been answered or charged is an estimate. Ask without `confidence`, or calibrate on rows without holes."
)
# Enough for six digits, which is what a message shows: 2⁻²⁴ of the range is left.
_HALVINGS = 24


def shown_within(
    losses: Float[np.ndarray, "n h"],
    targets: Float[np.ndarray, " h"],
    bounds: Float[np.ndarray, " h"],
    *,
    level: float,
    groups: np.ndarray | None = None,
    most_rows: int = 1,
) -> Bool[np.ndarray, " h"]:
    """Return which means are shown to be within their targets, shape (h,).

    A mean above its target is shown to be within it with probability `level` at the most, for any number of rows.

    Losses that are all 0 or 1 take the exact binomial tail. Others are bet upon (Waudby-Smith and Ramdas 2024): a
    capital, part of which is staked on the next loss being below the target, comes to 1/level times itself with
    probability `level` at the most, if the mean is not below. Stakes are free as long as they are set before the row is
    seen. Ours hedge a payment of 1/level where the sum of the rows ends in its lower tail and of nothing elsewhere: in
    the normal limit the goal is reached just where the usual one-sided test rejects, and no loss within its bound,
    however skewed, reaches it more often than `level`. They depend on the capital, the rows left and the variance so
    far, as those of Voráček and Orabona (2025), which aim at the same goal by its logarithm.

    Outcomes of one group are not independent: a group is one bet, on the sum of its rows, so that the mean is over rows
    while chance is over groups. Its bound is that of as many rows as a group can have.

    Args:
        losses: shape (n, h), zero or above; NaN where unknown, which is left out.
        targets: shape (h,).
        bounds: shape (h,), the largest that losses can be.
        level: the chance to be wrong.
        groups: shape (n,), numbers of groups from 0; None where each row is alone.
        most_rows: how many a group can have, at least as many as the largest of these.
    """
    known = ~np.isnan(losses)
    # What no loss exceeds needs no test.
    trivial = targets >= bounds
    if (
        groups is None
        and most_rows == 1
        and bool((bounds == 1.0).all())
        and bool(np.isin(losses[known], (0.0, 1.0)).all())
    ):
        from scipy.special import bdtr  # noqa: PLC0415 - for promises alone: it takes long to import

        wrong, n = np.where(known, losses, 0.0).sum(axis=0), known.sum(axis=0)
        return trivial | (bdtr(wrong, n, np.minimum(targets, 1.0)) <= level)
    gains = np.where(known, targets - losses, 0.0)
    if groups is not None:
        gains, known = _summed(gains, groups), _summed(known, groups) > 0
    gains = gains / most_rows
    # Logs are often sorted: by date, by task, by label.
    order = np.random.default_rng(0).permutation(len(gains))
    room = np.where(trivial, 1.0, bounds - targets)
    reached = _goal_reached(gains[order], known[order], targets * room, _MOST_STAKE / room, level)
    # A goal that was reached on the way stays reached; but nobody believes rows that miss the target themselves.
    return trivial | (reached & (gains.sum(axis=0) >= 0))


def _summed(table: np.ndarray, groups: np.ndarray) -> np.ndarray:
    order = np.argsort(groups, kind="stable")
    _, starts = np.unique(groups[order], return_index=True)
    return np.add.reduceat(table[order].astype(np.float64), starts, axis=0)


def _goal_reached(
    gains: np.ndarray, known: np.ndarray, spread: np.ndarray, most: np.ndarray, level: float
) -> np.ndarray:
    """Bet along the rows; `spread` is the variance of one row to begin with, `most` the largest stake, each (h,)."""
    from scipy.special import ndtri  # noqa: PLC0415 - as above

    starts = np.linspace(0, len(gains), min(_BETS, len(gains)), endpoint=False).astype(np.intp)
    squares = np.add.reduceat(np.square(gains), starts, axis=0)
    counts = np.add.reduceat(known.astype(np.float64), starts, axis=0)
    left = np.maximum(counts[::-1].cumsum(axis=0)[::-1], 1.0)
    seen = np.ones(gains.shape[1])
    # In parts of the goal. The payment's fair price is Φ(d), d deviations of the sum to come from its lower tail: from
    # the price comes d, and from d how fast the price moves with the sum, which is what to stake.
    capital = np.full(gains.shape[1], level / _MARGIN)
    for i, rows in enumerate(np.split(gains, starts[1:])):
        density = np.exp(-0.5 * np.square(ndtri(capital))) / np.sqrt(2 * np.pi)
        deviation = np.sqrt(np.maximum(spread / seen * left[i], 1e-300))
        stake = np.minimum(density / (capital * deviation), most)
        capital = np.maximum(capital * np.prod(1.0 + stake * rows, axis=0), 1e-300)
        # At the goal the game is over: a whole payment stakes nothing.
        capital[capital >= 1.0 / _MARGIN] = 1.0
        spread, seen = spread + squares[i], seen + counts[i]
    return capital == 1.0


def find_setting(
    outcomes: Outcomes, target: Target, *, unit: Unit, most_fee: float | None, in_groups: bool = False
) -> Setting:
    """Return the setting at which held-out rows meet a mean fee, an error, or both; or say what can be had.

    So that a budget between two stored prices is spent, the setting may mix them: a query's features toss its coin, and
    it is decided at the one price or the other, always at the same. The mixture itself is what was tried.

    With `confidence` it is a promise: with that probability over the rows, queries drawn from what these were drawn
    from cost at most `budget` in the mean, and err at most `max_error`; both at once, where both are given. This holds
    for any number of rows, if they are independent, or their groups where there are any. The rows are those that `fit`
    kept for promises, or that `calibrate` was given: nothing else ever saw them.

    Args:
        outcomes: what was done on held-out rows.
        target: a budget, an error, or both.
        unit: how errors are shown.
        most_fee: the largest fee that a query can have; None where fees differ by query, and nothing says.
        in_groups: whether queries come in groups, even if each of these rows is alone.
    """

    def find() -> Setting:
        if target.confidence is None:
            return outcomes.meeting(unit, budget=target.budget, max_error=target.max_error)
        rows = outcomes if outcomes.fresh else outcomes.kept
        if rows is None:
            raise InvalidInputError(
                "`confidence` must be promised by rows that nothing was learned from, got a policy without any: fit "
                "with promise=0.3, which keeps that share of the log apart, or calibrate on other rows."
            )
        promises = Promises(
            rows,
            most_fee=_fee_bound(rows, target, most_fee) if target.budget is not None else float("inf"),
            most_loss=_loss_bound(rows, target, unit) if target.max_error is not None else float("inf"),
            most_rows=_group_bound(rows, target, in_groups=in_groups),
            unit=unit,
        )
        return promises.choose(budget=target.budget, max_error=target.max_error, confidence=target.confidence)

    return outcomes.remembered(target, find)


def _fee_bound(rows: Outcomes, target: Target, most_fee: float | None) -> float:
    """The largest fee that a query can have: of fees that all have, or as the user states it."""
    if "fees" in rows.estimated:
        raise InvalidInputError(_ESTIMATED.format(name="budget"))
    largest = float(rows.fees.max())
    # Rows may be charged otherwise than those that taught.
    if most_fee is not None and largest <= most_fee * (1 + 1e-9):
        return most_fee
    if target.max_fee is None:
        raise InvalidInputError(
            "`max_fee` must be given to promise a `budget` where fees differ by query: no row excludes a larger bill. "
            f"State what no query will ever be charged; the largest here is {largest:g}."
        )
    if target.max_fee < largest:
        raise InvalidInputError(f"`max_fee` must be at least {largest:g}, got {target.max_fee:g}: a row is charged it.")
    return target.max_fee


def _loss_bound(rows: Outcomes, target: Target, unit: Unit) -> float:
    """The largest loss that a query can have: 1, what the worst mistake costs, or as the user states it, squared."""
    if "errors" in rows.estimated:
        raise InvalidInputError(_ESTIMATED.format(name="max_error"))
    largest = float(np.max(rows.errors, initial=0.0, where=~np.isnan(rows.errors)))
    if largest <= unit.most < np.inf:
        return unit.most
    largest = unit.shown(largest)
    if target.max_loss is None:
        raise InvalidInputError(
            "`max_loss` must be given to promise a `max_error` of numbers: no row excludes a larger error. State what "
            f"no error will ever be above, in the unit of the truth; the largest here is {largest:g}."
        )
    if target.max_loss < largest:
        raise InvalidInputError(f"`max_loss` must be at least {largest:g}, got {target.max_loss:g}: a row errs by it.")
    return target.max_loss**2 if unit.root else target.max_loss


def _group_bound(rows: Outcomes, target: Target, *, in_groups: bool) -> int:
    """The most rows that a group can have: 1 where each is alone, else as the user states it."""
    if rows.groups is None and not in_groups:
        return 1
    largest = 1 if rows.groups is None else int(np.bincount(rows.groups).max())
    if target.max_group is None:
        raise InvalidInputError(
            "`max_group` must be given to promise anything of rows in groups: none excludes a larger group, with fees "
            f"and errors of its own. State how many rows no group will ever have; the largest here has {largest}."
        )
    if target.max_group < largest:
        raise InvalidInputError(f"`max_group` must be at least {largest}, got {target.max_group}: a group has as many.")
    return target.max_group


class Promises:
    """Which places on a path of prices keep a mean fee, a mean error, or both, with a stated confidence.

    Args:
        rows: what the policy did on held-out rows.
        most_fee: the largest fee that a query can have.
        most_loss: the largest loss that one can have, squared where losses are.
        most_rows: how many rows a group can have; 1 where each is alone.
        unit: how errors are shown: targets are, losses are not.
    """

    def __init__(self, rows: Outcomes, *, most_fee: float, most_loss: float, unit: Unit, most_rows: int = 1) -> None:
        self.rows = rows
        self.unit = unit
        self._fees = _Losses(rows, rows.fees, np.full(rows.places, most_fee), most_rows)
        self._errors = _Losses(rows, rows.errors, np.full(rows.places, most_loss), most_rows)

    def choose(self, *, budget: float | None, max_error: float | None, confidence: float) -> Setting:
        """Return the setting that keeps what is asked for, or say what could be kept.

        A budget buys the least error, an error is bought at the least fee; of both the least fee.

        Args:
            budget: the mean fee to stay within.
            max_error: the error to stay within.
            confidence: how sure to be of it; of both at once, where both are given.
        """
        level = (1.0 - confidence) / (1 if budget is None or max_error is None else 2)
        kept = np.ones(self.rows.places, dtype=bool)
        if max_error is not None:
            kept &= self._of_error(max_error, level)
            if not kept.any():
                raise self._refused("max_error", max_error, self._least_error(max_error, level), confidence)
        if budget is not None:
            wanted, kept = kept, kept & self._of_fee(budget, level)
            if not kept.any():
                beside = "" if max_error is None else f" beside a `max_error` of {max_error:g}"
                raise self._refused("budget", budget, self._least_fee(budget, level, wanted), confidence, beside)
        return self.rows.setting(self._best(np.flatnonzero(kept), by_error=max_error is None))

    def _of_fee(self, budget: float, level: float) -> np.ndarray:
        """Which places keep a budget: from the highest price down."""
        return self._fees.passed(np.arange(self.rows.places)[::-1], budget, level)

    def _of_error(self, max_error: float, level: float) -> np.ndarray:
        """Which places keep an error: upwards from a price at which other rows erred hardly more than at the least."""
        path = np.arange(self.rows.begin, self.rows.places)
        return self._errors.passed(path, max_error**2 if self.unit.root else max_error, level)

    def _best(self, places: np.ndarray, *, by_error: bool) -> int:
        """The best of some places, in the mean over coins: which side a few rows fell on is no merit."""
        error, fee = self._errors.means(places), self._fees.means(places)
        return int(places[np.lexsort((fee, error) if by_error else (error, fee))[0]])

    def _least_error(self, max_error: float, level: float) -> float:
        """The least error that can be promised."""
        least = self._errors.least(np.array([self.rows.begin]), level)
        return _workable(
            max(self.unit.shown(least), max_error), lambda target: bool(self._of_error(target, level).any())
        )

    def _least_fee(self, budget: float, level: float, wanted: np.ndarray) -> float:
        """The least budget that can be promised together with one of the wanted places."""
        least = self._fees.least(np.arange(np.flatnonzero(wanted)[-1], self.rows.places), level)
        return _workable(max(least, budget), lambda target: bool((self._of_fee(target, level) & wanted).any()))

    def _refused(self, name: str, got: float, least: float, confidence: float, beside: str = "") -> InvalidInputError:
        groups = self.rows.groups
        n = f"{self.rows.fees.shape[1]} rows" if groups is None else f"{len(np.unique(groups))} groups of rows"
        return InvalidInputError(
            f"`{name}` must be at least {least:.6g}{beside} for confidence {confidence:g}, got {got:g}: "
            f"{n} cannot promise less. Ask for less confidence, or calibrate on more rows."
        )


@dataclass(frozen=True, eq=False)
class _Losses:
    """Fees or errors along the path: their tests and their means.

    Args:
        rows: what the policy did on held-out rows.
        table: shape (p, n), of them.
        bounds: shape (places,), the largest at each place.
        most_rows: how many rows a group can have.
    """

    rows: Outcomes
    table: Float[np.ndarray, "p n"]
    bounds: Float[np.ndarray, " places"]
    most_rows: int

    def shown(self, places: np.ndarray, targets: np.ndarray, level: float) -> np.ndarray:
        """Which of some places are shown to be within their targets."""
        losses = self.rows.at(self.table, places)
        groups, most = self.rows.groups, self.most_rows
        return shown_within(losses, targets, self.bounds[places], level=level, groups=groups, most_rows=most)

    def passed(self, path: np.ndarray, target: float, level: float) -> np.ndarray:
        """Which places come before the first of a path that fails."""
        passed = np.zeros(self.rows.places, dtype=bool)
        for places in self._some(path):
            shown = self.shown(places, np.full(len(places), target), level)
            passed[places] = np.logical_and.accumulate(shown)
            if not shown.all():
                break
        return passed

    def least(self, path: np.ndarray, level: float) -> float:
        """The least target that every place of a path keeps, by halving."""
        return max(self._least(places, level) for places in self._some(path))

    def _least(self, places: np.ndarray, level: float) -> float:
        low, high = np.zeros(len(places)), self.bounds[places]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            shown = self.shown(places, middle, level)
            low, high = np.where(shown, low, middle), np.where(shown, middle, high)
        return float(high.max())

    def _some(self, path: np.ndarray) -> list[np.ndarray]:
        count = min(_AT_A_TIME, max(8, _CELLS // self.table.shape[1]))
        return np.split(path, range(count, len(path), count))

    def means(self, places: np.ndarray) -> np.ndarray:
        """The mean at each of some places, shape (h,), whatever the coins say; huge where nothing is known."""
        known = ~np.isnan(self.table)
        total = np.where(known, self.table, 0.0).sum(axis=1)
        mean = np.divide(total, known.sum(axis=1), out=np.full(len(total), 1e300), where=known.any(axis=1))
        here, there, share = self.rows.mixed(places)
        return (1 - share) * mean[here] + share * mean[there]


def _workable(target: float, works: Callable[[float], bool]) -> float:
    """The first number from a target upwards, in six digits, that works; the largest loss always does."""
    while True:
        digits = 10.0 ** (5 - np.floor(np.log10(max(target, 1e-300))))
        target = float(f"{np.ceil(target * digits) / digits:.6g}")
        if works(target):
            return target
        target *= 1.01
