"""What the policy did on held-out rows, at its prices and at mixtures of neighbouring ones."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from askwho._parts import State, part
from askwho._unit import Unit
from askwho.exceptions import InvalidInputError
from askwho.policy._errors import as_small, from_small, mean_error
from askwho.policy._fixed import Fixed

# Between two neighbouring prices the share of the second moves in steps so small that some thousand rows cannot tell
# them apart, even where the one spends many times the money of the other.
_STEPS = 32
# Means are sums of floats: a target that equals one must not miss it by the last digit.
_ROUNDED = 1 + 1e-9
# The price at which rows err least is looked for among means of so many neighbours to each side: of single prices the
# luckiest would be found. Of some thirty, about a quarter.
_NEIGHBOURS = 4
# Targets whose settings are kept: more than a service has, and so few that a new one for each query fills no memory.
_MOST_FOUND = 256


@dataclass(frozen=True)
class Setting:
    """How queries are decided: each at one of two neighbouring prices, by its own coin; or all alike.

    Args:
        fee_weight: λ where the coin is `share` or above: of every query, where `share` is 0.
        other: λ where the coin is below `share`.
        share: how many are decided at `other`.
        fixed: who is asked about every query, where no price did better.
    """

    fee_weight: float
    other: float
    share: float
    fixed: tuple[int, ...] = ()


@part("outcomes")
@dataclass(frozen=True, eq=False)
class Outcomes:
    """What the adaptive policy did on held-out rows at each price: enough to meet a target without a refit.

    Places are counted along the path of prices, from the lowest, where money is worth least, to the highest; between
    two neighbours lie their mixtures, where there are coins.

    Args:
        prices: λ, shape (p,).
        errors: shape (p, n), zero-one or squared; NaN where a committee cannot be scored.
        fees: shape (p, n), what was really charged; NaN where it cannot be known.
        sizes: shape (p, n), how many were asked.
        groups: shape (n,), which rows belong together; None where each is alone.
        coins: shape (n,), `Seen.coins` of each query; None where prices are not mixed.
        fresh: whether nothing of the policy was learned from these rows: they may carry a promise.
        estimated: what is an estimate, because not everybody was asked, or not every truth looked up: `"errors"`,
            `"fees"`; nothing may be promised of it.
        kept: what was done on rows that were kept for promises; None where none were.
        fixed: what committees got that are the same for every query; None where there are none to compare with.
        easiest: where along the prices, from the lowest, other rows than these erred least: an error is promised from
            there on. Of money that nobody is asked to save, the last part may buy more errors.
    """

    prices: Float[np.ndarray, " p"]
    errors: Float[np.ndarray, "p n"]
    fees: Float[np.ndarray, "p n"]
    sizes: Int[np.ndarray, "p n"]
    groups: Int[np.ndarray, " n"] | None = None
    coins: Float[np.ndarray, " n"] | None = None
    fresh: bool = False
    estimated: tuple[str, ...] = ()
    kept: "Outcomes | None" = None
    fixed: Fixed | None = None
    easiest: int = 0
    # Settings found before, by target: finding one takes long beside deciding one query.
    _found: dict[Any, Setting] = field(default_factory=dict[Any, Setting], init=False, repr=False)

    def remembered(self, key: Any, find: Callable[[], Setting]) -> Setting:  # noqa: ANN401 - whatever names a target
        """Return the setting of that key, found once; many threads may ask."""
        known = self._found.get(key)
        if known is None:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            known = self._found[key] = find()
        return known

    @property
    def places(self) -> int:
        """How many places the path has."""
        return (len(self.prices) - 1) * self._steps + 1

    def mixed(self, places: Int[np.ndarray, " h"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the two prices that each place mixes, as indices, and the share of the second, each of shape (h,)."""
        order = np.argsort(self.prices, kind="stable")
        price, step = np.divmod(places, self._steps)
        return order[price], order[price + (step > 0)], step / self._steps

    def setting(self, place: int) -> Setting:
        """Return how queries are decided at a place."""
        here, there, share = self.mixed(np.array([place]))
        return Setting(float(self.prices[here[0]]), float(self.prices[there[0]]), float(share[0]))

    def at(self, table: Float[np.ndarray, "p n"], places: Int[np.ndarray, " h"]) -> Float[np.ndarray, "n h"]:
        """Return the errors or the fees of every row at some places, shape (n, h)."""
        here, there, share = self.mixed(places)
        return (
            table[here].T
            if self.coins is None
            else np.where(self.coins[:, None] < share, table[there].T, table[here].T)
        )

    @property
    def begin(self) -> int:
        """The place at which tests of an error begin."""
        return self.easiest * self._steps

    def least(self) -> int:
        """Return where along the prices these rows err least, neighbours taken together; the last of several."""
        known = ~np.isnan(self.errors)
        sums, counts = (
            each[np.argsort(self.prices, kind="stable")]
            for each in (np.where(known, self.errors, 0.0).sum(axis=1), known.sum(axis=1).astype(np.float64))
        )
        around = [slice(max(0, i - _NEIGHBOURS), i + _NEIGHBOURS + 1) for i in range(len(sums))]
        means = np.array([sums[some].sum() / max(1.0, counts[some].sum()) for some in around])
        return int(np.flatnonzero(means == means.min())[-1])

    def take(self, rows: np.ndarray) -> "Outcomes":
        """Return what was done on some of the rows; a row may come twice."""
        groups, coins = self.groups, self.coins
        return Outcomes(
            self.prices,
            self.errors[:, rows],
            self.fees[:, rows],
            self.sizes[:, rows],
            None if groups is None else groups[rows],
            None if coins is None else coins[rows],
            self.fresh,
            self.estimated,
            easiest=self.easiest,
        )

    def validated(self, unit: Unit) -> list[dict[str, float]]:
        """Return fee weight, error, mean fee and mean k at each price, over the rows that could be scored."""
        points: list[dict[str, float]] = []
        for price, error, fee, size in zip(self.prices, self.errors, self.fees, self.sizes, strict=True):
            scored = ~np.isnan(error)
            means = (fee[scored].mean(), size[scored].mean()) if scored.any() else (np.nan, np.nan)
            points.append(
                {
                    "fee_weight": float(price),
                    "error": mean_error(error, unit),
                    "mean_fee": float(means[0]),
                    "mean_k": float(means[1]),
                }
            )
        return points

    def told(self, unit: Unit) -> list[dict[str, float | None]]:
        """Return what `validated` does, errors only where they are no estimates: those want effective rows beside."""
        hidden: dict[str, float | None] = {"error": None} if "errors" in self.estimated else {}
        return [{**point, **hidden} for point in self.validated(unit)]

    def meeting(self, unit: Unit, *, budget: float | None, max_error: float | None) -> Setting:
        """Return the setting at which these rows meet a mean fee, an error, or both; or say what can be had.

        Along the path of prices more money is taken to buy no more errors: the errors of its places are smoothed so, by
        isotonic regression. A budget takes the least error that it buys, an error the least fee. A committee that is
        the same for every query is taken where it is the best that a budget buys; never to meet an error, which the
        luckiest of many would be found to meet.
        """
        from scipy.optimize import isotonic_regression  # noqa: PLC0415 - a price needs none of it, and it takes long

        fees, raw = self.means(unit)
        errors = np.where(np.isnan(raw), np.inf, raw)
        known = np.flatnonzero(np.isfinite(errors))
        smooth = np.full(len(raw), np.inf)
        smooth[known] = isotonic_regression(errors[known]).x
        meet = np.isfinite(smooth)
        if max_error is not None:
            # Met by these very rows, too.
            reached = np.maximum(errors, smooth)
            meet &= reached <= max_error * _ROUNDED
            if not meet.any():
                raise InvalidInputError(f"`max_error` must be at least {reached.min():.6g}, got {max_error}.")
        if budget is not None:
            dear, meet = meet, meet & (fees <= budget * _ROUNDED)
            if not meet.any():
                beside = "" if max_error is None else f" beside a `max_error` of {max_error:g}"
                raise InvalidInputError(f"`budget` must be at least {fees[dear].min():.6g}{beside}, got {budget}.")
        if max_error is None:
            meet &= smooth <= smooth[meet].min()
        found = np.flatnonzero(meet)
        order = (fees[found], errors[found]) if max_error is None else (errors[found], fees[found])
        place = int(found[np.lexsort(order)[0]])
        if budget is not None and max_error is None and self.fixed is not None:
            alike = self.fixed.within(unit, budget * _ROUNDED)
            if alike is not None and self._better(
                self.fixed, alike, place, float(fees[place]), float(smooth[place]), unit
            ):
                return replace(self.setting(place), fixed=self.fixed.who(alike))
        return self.setting(place)

    def _better(self, fixed: Fixed, committee: int, place: int, fee: float, error: float, unit: Unit) -> bool:
        """Whether a committee for all is to be preferred: by any gain for no more money, by a clear one for much more.

        By luck one of many committees always errs a little less: for as much again its gain must be a standard error.
        """
        fees, errors = fixed.means(unit)
        if fees[committee] <= fee * _ROUNDED:
            return (float(errors[committee]), float(fees[committee])) < (error, fee)
        change = fixed.errors[committee] - self.at(self.errors, np.array([place]))[:, 0]
        change = change[~np.isnan(change)]
        noise = change.std() / np.sqrt(max(1, len(change)))
        dearer = min(1.0, float(fees[committee]) / fee - 1.0) if fee > 0 else 1.0
        return bool(errors[committee] < error) and bool(change.mean() < -dearer * noise)

    def foreseen(self, setting: Setting, unit: Unit) -> tuple[float, float]:
        """Return the mean fee and the error that a setting of these rows had on them."""
        if setting.fixed and self.fixed is not None:
            for committee, (fee, error) in enumerate(zip(*self.fixed.means(unit), strict=True)):
                if self.fixed.who(committee) == setting.fixed:
                    return float(fee), float(error)
        fees, errors = self.means(unit)
        for place in range(self.places):
            if self.setting(place) == replace(setting, fixed=()):
                return float(fees[place]), float(errors[place])
        raise InvalidInputError(f"`setting` must be one of these rows, got {setting}.")

    def trade(self) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return mean fee and mean loss at each price, each of shape (p,); losses smoothed: more money buys no more.

        NaN where no row could be scored.
        """
        from scipy.optimize import isotonic_regression  # noqa: PLC0415 - a price needs none of it, and it takes long

        scored = ~np.isnan(self.errors)
        fees, losses = (_means_of(table, scored) for table in (self.fees, self.errors))
        order = np.argsort(self.prices, kind="stable")
        order = order[~np.isnan(losses[order])]
        if len(order):
            losses[order] = isotonic_regression(losses[order]).x
        return fees, losses

    def means(self, unit: Unit) -> tuple[Float[np.ndarray, " h"], Float[np.ndarray, " h"]]:
        """Return mean fee and error at every place, each of shape (places,), over the rows that could be scored."""
        fees, errors = np.full(self.places, np.nan), np.full(self.places, np.nan)
        # A price's mixtures at a time: all at once would take hundreds of times the memory of the rows.
        for places in np.array_split(np.arange(self.places), len(self.prices)):
            error, fee = self.at(self.errors, places), self.at(self.fees, places)
            known = ~np.isnan(error).all(axis=0)
            scored = ~np.isnan(error[:, known])
            errors[places[known]] = error[:, known].mean(axis=0, where=scored)
            fees[places[known]] = fee[:, known].mean(axis=0, where=scored)
        return fees, unit.all_shown(errors)

    def to_state(self) -> State:
        """Return what was done as arrays: shares of wrong answers as small numbers, the rest as it is."""
        arrays = {"prices": self.prices, "fees": self.fees, "sizes": self.sizes.astype(np.int16)}
        arrays["errors"] = as_small(self.errors)
        if self.groups is not None:
            arrays["groups"] = self.groups.astype(np.int32)
        if self.coins is not None:
            arrays["coins"] = self.coins
        plain = {"fresh": self.fresh, "estimated": list(self.estimated), "easiest": self.easiest}
        return State(plain=plain, arrays=arrays).hold(kept=self.kept, fixed=self.fixed)

    @classmethod
    def from_state(cls, state: State) -> "Outcomes":
        """Return the outcomes that `to_state` wrote."""
        there = [name for name in ("groups", "coins") if name in state.arrays]
        prices, given, fees, sizes, *more = state.pick(
            prices="p", errors="p n", fees="p n", sizes="p n", **dict.fromkeys(there, "n"), gaps=("errors", "fees")
        )
        if not fees.size:
            raise InvalidInputError(f"`tried` must hold a row and a price at the least, got shape {fees.shape}.")
        beside = dict(zip(there, more, strict=True))
        groups = beside["groups"].astype(np.intp) if "groups" in beside else None
        estimated = tuple(str(each) for each in state.plain["estimated"])
        kept = state.read("kept")
        if kept is not None and not (isinstance(kept, cls) and np.array_equal(kept.prices, prices)):
            raise InvalidInputError("`kept` must be outcomes at the same prices, got others: the artefact is damaged.")
        easiest = int(state.plain["easiest"])
        if not 0 <= easiest < len(prices):
            raise InvalidInputError(f"`easiest` must be one of {len(prices)} prices, got {easiest}.")
        fixed = state.read("fixed")
        if fixed is not None and not (isinstance(fixed, Fixed) and fixed.errors.shape[1] == fees.shape[1]):
            raise InvalidInputError("`fixed` must be of the same rows, got others: the artefact is damaged.")
        return cls(
            prices,
            from_small(given),
            fees,
            sizes.astype(np.intp),
            groups,
            beside.get("coins"),
            bool(state.plain["fresh"]),
            estimated,
            kept,
            fixed,
            easiest,
        )

    @property
    def _steps(self) -> int:
        return 1 if self.coins is None else _STEPS


def _means_of(table: Float[np.ndarray, "p n"], scored: Bool[np.ndarray, "p n"]) -> Float[np.ndarray, " p"]:
    """The mean of each row of a table over what can be scored, and is known; NaN where nothing is."""
    known = scored & ~np.isnan(table)
    counts = known.sum(axis=1)
    sums = np.where(known, table, 0.0).sum(axis=1)
    return np.divide(sums, counts, out=np.full(len(table), np.nan), where=counts > 0)


def grouped(groups: Shaped[np.ndarray, " n"]) -> Int[np.ndarray, " n"] | None:
    """Return the group of each row as a number, shape (n,); None where every row is alone."""
    names, group = np.unique(groups, return_inverse=True)
    return None if len(names) == len(group) else group.reshape(-1).astype(np.intp)
