"""What the policy did on held-out rows, at its prices and at mixtures of neighbouring ones."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho.exceptions import InvalidInputError
from askwho.frontier import Frontier
from askwho.router._scoring import Task, mean_error

# Between two neighbouring prices the share of the second moves in steps so small that some thousand rows cannot tell
# them apart, even where the one spends many times the money of the other.
_STEPS = 32
# Steps of a share that nothing is tested at.
_FINE = 128


@dataclass(frozen=True)
class Setting:
    """How queries are decided: each at one of two prices, by its own coin.

    Args:
        fee_weight: λ where the coin is `share` or above: of every query, where `share` is 0.
        other: λ where the coin is below `share`.
        share: how many are decided at `other`.
    """

    fee_weight: float
    other: float
    share: float


@dataclass(frozen=True, eq=False)
class Rows:
    """What the adaptive policy did on held-out rows at each price: enough to meet a target without a refit.

    Places are counted along the path of prices, from the lowest, where money is worth least, to the highest; between
    two neighbours lie their mixtures, where there are coins.

    Args:
        prices: λ, shape (p,).
        errors: shape (p, n), zero-one or squared; NaN where a committee cannot be scored.
        fees: shape (p, n), what was really charged; NaN where it cannot be known.
        sizes: shape (p, n), how many were asked.
        groups: shape (n,), which rows belong together; None where each is alone.
        coins: shape (n,), what `coins` says of each query; None in artefacts from before there were any.
    """

    prices: Float[np.ndarray, " p"]
    errors: Float[np.ndarray, "p n"]
    fees: Float[np.ndarray, "p n"]
    sizes: Int[np.ndarray, "p n"]
    groups: Int[np.ndarray, " n"] | None = None
    coins: Float[np.ndarray, " n"] | None = None
    # Settings found before, by target: finding one takes long beside deciding one query.
    found: dict[Any, Setting] = field(default_factory=dict, init=False, repr=False)

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

    def take(self, rows: np.ndarray) -> "Rows":
        """Return what was done on some of the rows; a row may come twice."""
        groups, coins = self.groups, self.coins
        return Rows(
            self.prices,
            self.errors[:, rows],
            self.fees[:, rows],
            self.sizes[:, rows],
            None if groups is None else groups[rows],
            None if coins is None else coins[rows],
        )

    def validated(self, task: Task) -> list[dict[str, float]]:
        """Return fee weight, error, mean fee and mean k at each price, over the rows that could be scored."""
        points: list[dict[str, float]] = []
        for price, error, fee, size in zip(self.prices, self.errors, self.fees, self.sizes, strict=True):
            scored = ~np.isnan(error)
            means = (fee[scored].mean(), size[scored].mean()) if scored.any() else (np.nan, np.nan)
            points.append(
                {
                    "fee_weight": float(price),
                    "error": mean_error(error, task),
                    "mean_fee": float(means[0]),
                    "mean_k": float(means[1]),
                }
            )
        return points

    def meeting(self, task: Task, *, budget: float | None, accuracy: float | None) -> Setting:
        """Return the setting at which these rows meet a mean fee, an error, or both; or say what can be had.

        A budget takes the least error that it buys on the lower hull of the prices, an error the least fee: at one
        price, or at two of them mixed.
        """
        squared, points = task == "regression", self.validated(task)
        fees, errors = (np.array([point[name] for point in points]) for name in ("mean_fee", "error"))
        known = np.flatnonzero(np.isfinite(errors))
        # Squared errors mix, their roots do not.
        hull = Frontier.of(fees[known], np.square(errors[known]) if squared else errors[known])
        least, beside, money = float(hull.fees[0]), "", np.inf if budget is None else budget
        if accuracy is not None:
            least = hull.fee_for(accuracy**2 if squared else accuracy)
            if np.isnan(least):
                raise InvalidInputError(f"`accuracy` must be at least {errors[known].min():.6g}, got {accuracy}.")
            beside = f" beside an `accuracy` of {accuracy:g}"
        if money < least:
            raise InvalidInputError(f"`budget` must be at least {least:.6g}{beside}, got {budget}.")
        spent = float(min(money, hull.fees[-1])) if accuracy is None else least
        dear = int(np.searchsorted(hull.fees, spent))
        cheap = max(dear - 1, 0)
        here, there = (float(self.prices[known[hull.settings[place]]]) for place in (cheap, dear))
        share = 1.0 if dear == cheap else (spent - hull.fees[cheap]) / (hull.fees[dear] - hull.fees[cheap])
        # In whole steps from there on, until these rows' own coins keep the target: they do at one of the two ends.
        last = 1 if self.coins is None else _FINE
        steps = range(int(share * last), -1, -1) if accuracy is None else range(math.ceil(share * last), last + 1)

        def kept(setting: Setting) -> bool:
            paid, erred = self.tried(setting, task)
            return paid <= money * (1 + 1e-9) if accuracy is None else erred <= accuracy * (1 + 1e-9)

        ends = {0: Setting(here, here, 0.0), last: Setting(there, there, 0.0)}
        return next(filter(kept, (ends.get(step) or Setting(here, there, step / last) for step in steps)))

    def tried(self, setting: Setting, task: Task) -> tuple[float, float]:
        """Return the mean fee and the error of these rows at a setting, each at the price that its own coin says."""
        prices = self.prices.tolist()
        here, there = prices.index(setting.fee_weight), prices.index(setting.other)
        aside = (0.0 if self.coins is None else self.coins) < setting.share
        fees, errors = (np.where(aside, table[there], table[here]) for table in (self.fees, self.errors))
        return float(fees[~np.isnan(errors)].mean()), mean_error(errors, task)

    @property
    def _steps(self) -> int:
        return 1 if self.coins is None else _STEPS


def grouped(groups: np.ndarray | None) -> Int[np.ndarray, " n"] | None:
    """Return the group of each row as a number, shape (n,); None where every row is alone."""
    if groups is None:
        return None
    names, group = np.unique(groups, return_inverse=True)
    return None if len(names) == len(group) else group.reshape(-1).astype(np.intp)


def coins(X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """Return a number in [0, 1) for each query, shape (n,): uniform over queries, and always the same for the same one.

    It is a hash of the features. So a mixture of two prices is a fixed rule, alone or in company, today or tomorrow;
    queries with the same features fall on the same side.
    """
    # Adding zero turns -0.0 into 0.0: equal features must have equal bits.
    bits = (X.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
    factors = _scrambled(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    return (_scrambled(bits @ factors) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _scrambled(words: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64: every bit in moves every bit out; uint64 wraps."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
