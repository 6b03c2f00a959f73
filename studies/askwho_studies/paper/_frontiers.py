"""What every method of the paper's figures gets and pays: fixed k, both kinds of k(x), random, oracle, rivals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from askwho._types import FloatRanks
from askwho.core import in_order, rank, select_top_k
from askwho.fitting import SurrogateCardinality
from askwho.metrics import Frontier
from askwho.policy import Calibration, Curve
from askwho.replay import price_grid
from askwho_studies.paper._baselines import agreement_stops, in_house_first, oracle_order
from askwho_studies.paper._scored import LAMBDAS, Metric, Part, Rival, Scored

REPETITIONS = 50
"""How many times the random policy is drawn (paper, Reproducibility)."""
# What the methods are called in results and figures: a fixed k, and both kinds of k(x);
FIXED, PER_PRICE, ONCE = "top-k", "k(x), a network for each λ", "k(x), learned once"
# the first kind again, with what the second gets: the policy's own scores, enough steps, a hidden layer;
AT_BEST = "k(x), a network for each λ, at its best"
ADAPTIVE = (PER_PRICE, AT_BEST, ONCE)
"""Every k(x)."""
# what needs no learning, or needs the truth;
RANDOM, ORACLE, ORACLE_SIZE = "random", "oracle", "oracle k(x)"
# and rivals that ask whatever the query is.
CASCADE, EVERYBODY = "agreement cascade", "everybody"

# Prices beside the paper's for the k(x) that is learned once: it answers for all of them.
_MORE_PRICES = 16
# Thresholds of agreement between numbers, by hand: for six entities more would stop nearly all rows alike.
_AGREEMENTS = 12

Progress = Callable[[str], None]
AnyOrder = Int[np.ndarray, "_ K"]
AnyRanks = Float[np.ndarray, "_ K"]


@dataclass(frozen=True, eq=False)
class Points:
    """The settings of one method: mean losses, zero-one or squared, mean fees and mean sizes.

    Args:
        settings: k, λ, or what else tells them apart, shape (s,).
        errors: on test rows, shape (s,).
        fees: on test rows, shape (s,).
        sizes: how many are asked on test rows, shape (s,).
        chosen_errors: on the rows that settings are chosen by, shape (s,).
        chosen_fees: there, shape (s,).
    """

    settings: Float[np.ndarray, " s"]
    errors: Float[np.ndarray, " s"]
    fees: Float[np.ndarray, " s"]
    sizes: Float[np.ndarray, " s"]
    chosen_errors: Float[np.ndarray, " s"]
    chosen_fees: Float[np.ndarray, " s"]

    def at_budgets(self, budgets: ArrayLike) -> tuple[Float[np.ndarray, " b"], Float[np.ndarray, " b"]]:
        """Return losses and fees on test rows under budgets, each (b,); NaN below the cheapest setting.

        Which settings to mix for a budget is read off the rows to choose by: test rows only say what came of it.
        """
        return self._mixed(self.errors, budgets), self._mixed(self.fees, budgets)

    def sizes_at(self, budgets: ArrayLike) -> Float[np.ndarray, " b"]:
        """Return how many are asked under budgets, shape (b,), as `at_budgets` chooses."""
        return self._mixed(self.sizes, budgets)

    def _mixed(self, table: Float[np.ndarray, " s"], budgets: ArrayLike) -> Float[np.ndarray, " b"]:
        hull = Frontier.of(self.chosen_fees, self.chosen_errors)
        asked = np.asarray(budgets, dtype=np.float64)
        # Rounding must not put a budget below the very setting that it was read off.
        within = asked * (1 + 1e-9) >= hull.fees[0]
        return np.where(within, np.interp(asked, hull.fees, table[hull.settings]), np.nan)

    def cheapest_within(self, loss: float) -> int:
        """Return the cheapest setting that keeps to a loss on the rows to choose by; the best, where none does."""
        good = np.flatnonzero(self.chosen_errors <= max(loss, float(self.chosen_errors.min())))
        return int(good[self.chosen_fees[good].argmin()])

    @property
    def best(self) -> int:
        """The setting with the least error on the rows to choose by, the cheapest of equals."""
        return self.cheapest_within(float(self.chosen_errors.min()))


def frontiers(
    scored: Scored,
    metric: Metric,
    *,
    surrogate: SurrogateCardinality | None,
    at_best: SurrogateCardinality | None = None,
    prices: Sequence[float] = LAMBDAS,
    repetitions: int = REPETITIONS,
    random_state: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Points]:
    """Return every method's settings under one metric.

    Args:
        scored: one seed.
        metric: what a committee's error is, while k(x) is learned and when it is judged.
        surrogate: how to train the paper's k(x) as printed, all its λ side by side; None leaves it out.
        at_best: how to train it at its best, where it sees the most that is known; None leaves it out.
        prices: the paper's λ.
        repetitions: how many times the random policy is drawn.
        random_state: the seed of k(x) and of the random policy.
        device: for the networks; by itself unless said.
        progress: called with a line of text after every method.
    """
    say = progress or (lambda _: None)
    ranked = [rank(part.scores)[:, : scored.widest] for part in _parts(scored)]
    learn, *sides = [
        _Prefixes(*scored.prefixes(part, order, metric)) for part, order in zip(_parts(scored), ranked, strict=True)
    ]
    k = np.arange(1, scored.widest + 1)
    found = {FIXED: _points(k, sides, [np.broadcast_to(k[:, None], (len(k), len(side))) for side in sides])}

    inputs = {PER_PRICE: [part.X for part in _parts(scored)], AT_BEST: [part.most for part in _parts(scored)]}
    for name, settings in ((PER_PRICE, surrogate), (AT_BEST, at_best)):
        if settings is None:
            continue
        networks = settings.fit(
            inputs[name][0],
            [learn.errors] * len(prices),
            [learn.fees] * len(prices),
            fee_weights=np.array(prices),
            random_state=random_state,
            device=device,
        ).networks
        sizes = [networks.scores(seen).argmax(axis=2) + 1 for seen in inputs[name][1:]]
        found[name] = _points(np.array(prices), sides, sizes)
        say(f"{metric.name}: {name}")

    grid = np.unique([*prices, *price_grid(scored.panel.fees, scored.learn.errors, _MORE_PRICES)])
    curves = _curves(scored, ranked, learn.errors, random_state)
    sizes = [_best_sizes(curve, side.fees, grid) for curve, side in zip(curves, sides, strict=True)]
    found[ONCE] = _points(grid, sides, sizes)
    found[ORACLE_SIZE] = _points(grid, sides, [_best_sizes(side.errors, side.fees, grid) for side in sides])
    say(f"{metric.name}: {ONCE}")

    found[ORACLE] = _fixed(scored, metric, [oracle_order(p.errors, scored.panel.fees) for p in _judged(scored)], k)
    found[EVERYBODY], found[CASCADE] = everybody_and_cascade(scored, metric)
    found[RANDOM] = _random(scored, metric, k, repetitions, random_state)
    say(f"{metric.name}: random, oracle, cascade")
    return found


def top_1(scored: Scored) -> dict[str, Points]:
    """Return each rival's settings: one entity a query, so that all metrics are the same."""
    return {name: _rival(scored, rival) for name, rival in scored.rivals.items()}


def entity_points(scored: Scored) -> tuple[list[str], Points]:
    """Return who sits on the panel and what each gets and charges alone; labels sit as one, the best of them."""
    tables: list[np.ndarray] = []
    seats = [in_house_first(scored.panel, part.scores) for part in _judged(scored)]
    for part, seat in zip(_judged(scored), seats, strict=True):
        tables += [in_order(part.errors, seat).mean(axis=0), scored.panel.fees[seat].mean(axis=0)]
    names = [scored.panel.names[j] for j in seats[0][0]]
    if scored.panel.labels:
        names[0] = "model"
    size = np.ones(len(names))
    return names, Points(np.arange(len(names), dtype=np.float64), tables[2], tables[3], size, tables[0], tables[1])


@dataclass(frozen=True, eq=False)
class _Prefixes:
    """What committees of every size get and pay, each (n, K)."""

    errors: FloatRanks
    fees: FloatRanks

    def __len__(self) -> int:
        return len(self.errors)

    def means(self, sizes: Int[np.ndarray, "s n"]) -> tuple[np.ndarray, np.ndarray]:
        """Mean losses and fees of settings that ask so many of each row's order, each (s,)."""
        got = [in_order(self.errors, k[:, None] - 1).mean() for k in sizes]
        return np.array(got), np.array([in_order(self.fees, k[:, None] - 1).mean() for k in sizes])


def _parts(scored: Scored) -> tuple[Part, Part, Part]:
    return scored.learn, scored.choose, scored.test


def _judged(scored: Scored) -> tuple[Part, Part]:
    return scored.choose, scored.test


def _points(settings: np.ndarray, sides: Sequence[_Prefixes], sizes: Sequence[np.ndarray]) -> Points:
    """The settings of a method that asks so many of an order, (s, n), on the rows to choose by and on test rows."""
    chosen_got, chosen_paid = sides[0].means(sizes[0])
    got, paid = sides[1].means(sizes[1])
    return Points(settings.astype(np.float64), got, paid, sizes[1].mean(axis=1), chosen_got, chosen_paid)


def _fixed(scored: Scored, metric: Metric, orders: Sequence[AnyOrder], k: np.ndarray) -> Points:
    """Fixed k along another order, members weighed by how right they are."""
    means: list[np.ndarray] = []
    for part, order in zip(_judged(scored), orders, strict=True):
        table = scored.prefixes(part, order[:, : len(k)], metric, weigh_by=-part.errors)
        means += [values.mean(axis=0) for values in table]
    return Points(k.astype(np.float64), means[2], means[3], k.astype(np.float64), means[0], means[1])


def _curves(scored: Scored, ranked: Sequence[AnyOrder], errors: FloatRanks, seed: int) -> list[AnyRanks]:
    """D_x(k) of the rows to choose by and of the test rows, learned once."""
    calibration = Calibration.fit(-scored.learn.scores, scored.learn.errors, in_errors=False)
    expected = [calibration.apply(-part.scores) for part in _parts(scored)]
    curve = Curve.fit(scored.learn.X, expected[0], [ranked[0]], [errors], random_state=seed)
    sides = zip(_judged(scored), expected[1:], ranked[1:], strict=True)
    return [curve.predict(part.X, each, order) for part, each, order in sides]


def _best_sizes(errors: FloatRanks, fees: FloatRanks, prices: np.ndarray) -> Int[np.ndarray, "p n"]:
    """argmin_k of error plus price times fee, at every price; ties to the smaller k."""
    return np.stack([(errors + price * fees).argmin(axis=1) + 1 for price in prices])


def everybody_and_cascade(scored: Scored, metric: Metric) -> tuple[Points, Points]:
    """Return all who sit on the panel at once; and one after the other, in-house and cheap first, until they agree."""
    tables: list[_Prefixes] = []
    orders: list[np.ndarray] = []
    for part in _judged(scored):
        seats = in_house_first(scored.panel, part.scores)
        orders.append(in_order(seats, np.argsort(scored.panel.fees[seats], axis=1, kind="stable")))
        tables.append(_Prefixes(*scored.prefixes(part, orders[-1], metric)))
    choose, test = (in_order(part.answers.values, order) for part, order in zip(_judged(scored), orders, strict=True))
    settings, sizes = agreement_stops(choose, test, scored.task, count=_AGREEMENTS)
    last = orders[0].shape[1]
    everybody = [np.full((1, len(order)), last) for order in orders]
    return _points(np.array([last]), tables, everybody), _points(settings, tables, sizes)


def _random(scored: Scored, metric: Metric, k: np.ndarray, repetitions: int, seed: int) -> Points:
    """Fixed k along orders drawn at random, all members weighing the same; means over the repetitions."""
    rng = np.random.default_rng(seed)
    totals = [np.zeros(len(k)) for _ in range(4)]
    for _ in range(repetitions):
        means: list[np.ndarray] = []
        for part in _judged(scored):
            order = select_top_k(rng.random(part.scores.shape), len(k), panel=scored.panel).order
            table = scored.prefixes(part, order, metric, weigh_by=np.zeros(part.scores.shape))
            means += [values.mean(axis=0) for values in table]
        totals = [total + mean / repetitions for total, mean in zip(totals, means, strict=True)]
    return Points(k.astype(np.float64), totals[2], totals[3], k.astype(np.float64), totals[0], totals[1])


def _rival(scored: Scored, rival: Rival) -> Points:
    means: list[np.ndarray] = []
    for part, scores in zip(_judged(scored), (rival.choose, rival.test), strict=True):
        first = scores.argmax(axis=2)
        means += [
            np.array([in_order(part.errors, each[:, None]).mean() for each in first]),
            scored.panel.fees[first].mean(axis=1),
        ]
    size = np.ones(len(rival.settings))
    return Points(np.array(rival.settings, dtype=np.float64), means[2], means[3], size, means[0], means[1])
