"""Cascades: at each price an order of asking that is the same for every query, stopped by what is believed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from askwho import _parts
from askwho._parts import part
from askwho.beliefs._pool import Case, Pool, State, sayable
from askwho.beliefs._pooled import Pooled, believed_after
from askwho.exceptions import InvalidInputError

# Entities that orders are made of, by hand: every order of three of six is 120 cascades; of eight they would be 336.
_EFFICIENT = 6
# Places that every order is tried in; the others follow by their errors.
_START = 3
# Rates at which those entities are looked for, from where errors alone count to where money does.
_RATES = np.concatenate([[0.0], np.geomspace(0.05, 20.0, 12)])
# Ridge a row, by hand: there are seven numbers of a state, and rows enough for them.
_RIDGE = 0.01
# Beside what was expected of stopping, so much of what it costs is as it came: beliefs of few rows may be off.
_CAME = 0.5
# The change in cost of asking where nobody is left: as in `askwho.beliefs._asking`.
_NEVER = 1e9
# A constant, and what `_lines` says of a state.
_LINES = 8


@part("cascade")
@dataclass(frozen=True, eq=False)
class Cascade:
    """Whom to ask next at each price, the same for every query, and whether to go on, by what is believed.

    A cascade of models (FrugalGPT: Chen, Zaharia and Zou 2023). It has fewer weights than a rule that also chooses whom
    to ask by what was heard, and so less of what it has learned is chance.

    Args:
        entities: shape (e,), as indices into the panel.
        prices: shape (p,), λ, rising; a price between two takes the nearer one's order.
        used: shape (p,), at which prices queries are asked about so.
        order: shape (p, d), who comes after whom, as indices into `entities`, −1 after the last.
        weights: shape (d, f, p), what asking the next changes in expected error and later fees, of a state's lines, by
            how many were heard.
        free_start: whether a decision can be made before anybody is asked.
        pool: how the answers of `entities` alone are believed together.
    """

    entities: Int[np.ndarray, " e"]
    prices: Float[np.ndarray, " p"]
    used: Bool[np.ndarray, " p"]
    order: Int[np.ndarray, "p d"]
    weights: Float[np.ndarray, "d f p"]
    free_start: bool
    pool: Pool

    @property
    def depth(self) -> int:
        """How many may be asked about a query."""
        return self.order.shape[1]

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
        orders: Sequence[tuple[int, ...]],
        free_start: bool,
    ) -> "Cascade":
        """Return the order of the least cost at each price, each stopped as backward induction has it.

        Args:
            pool: how the answers of `entities` alone are believed together.
            case: past queries, out of fold, with an answer of everybody.
            truth: shape (n,), as indices into the candidates.
            fees: shape (n, |A|), expected.
            prices: shape (p,).
            entities: shape (e,).
            orders: of indices into `entities`; those that begin alike follow each other.
            free_start: whether a decision can be made before anybody is asked.
        """
        small, paid = case.only(entities), fees[:, entities]
        least, depth = np.full(len(prices), np.inf), max(map(len, orders))
        order = np.full((len(prices), depth), -1)
        weights = np.zeros((depth, _LINES, len(prices)))
        for one, met in _met(pool, small, truth, orders):
            cost, found = _induced(one, met, paid, prices, free_start=free_start)
            better = cost < least
            least[better] = cost[better]
            order[better] = -1
            order[better, : len(one)] = one
            weights[:, :, better] = 0.0
            weights[: len(one), :, better] = found[:, :, better]
        return cls(entities, prices, np.ones(len(prices), dtype=bool), order, weights, free_start, pool)

    def takes(self, fee_weight: float) -> bool:
        """Return whether queries are asked about so at this price."""
        return bool(self.used[self._near(fee_weight)])

    def changes(
        self, case: Case, state: State, fees: Float[np.ndarray, "n e"], fee_weight: float
    ) -> tuple[Float[np.ndarray, "n e"], Float32[np.ndarray, " n"]]:
        """Return what asking each changes, shape (n, e), as `Asking.changes` does: of whoever is not next, never."""
        lines, stop = _lines(self.pool, case, state)
        who, least = self._next(lines, state.asked.sum(axis=1), case.closed(state), fees, fee_weight)
        change = np.full(state.asked.shape, _NEVER)
        change[np.arange(len(who)), who] = least
        return change, stop

    def steps(
        self,
        case: Case,
        state: State,
        fees: Float[np.ndarray, "n e"],
        fee_weights: Sequence[float],
        wanted: Bool[np.ndarray, "p n"],
    ) -> tuple[Int[np.ndarray, "p n"], Float[np.ndarray, "p n"]]:
        """Return whom to ask next at each of several prices, and what that changes, each of shape (p, n)."""
        lines, heard, closed = _lines(self.pool, case, state)[0], state.asked.sum(axis=1), case.closed(state)
        best, least = np.zeros(wanted.shape, dtype=np.intp), np.full(wanted.shape, _NEVER)
        for p, fee_weight in enumerate(fee_weights):
            rows = np.flatnonzero(wanted[p])
            best[p, rows], least[p, rows] = self._next(lines[rows], heard[rows], closed[rows], fees[rows], fee_weight)
        return best, least

    def believe(self, pool: Pooled, case: Case, asked: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, "n c"]:
        """Return what is believed after those were asked, shape (n, C): see `believed_after`."""
        return believed_after(self.pool, self.entities, pool, case, asked)

    def without(self, j: int) -> "Cascade | None":
        """Return the cascade without entity j of the panel, who is skipped; None where nobody is left in some order."""
        kept = np.flatnonzero(self.entities != j)
        entities = self.entities[kept]
        entities = entities - (entities > j)
        if len(kept) == len(self.entities):
            return replace(self, entities=entities, pool=self.pool.without(j))
        place = int(np.flatnonzero(self.entities == j)[0])
        order = np.full_like(self.order, -1)
        for p, every in enumerate(self.order):
            left = np.flatnonzero((every >= 0) & (every != place))
            order[p, : len(left)] = every[left] - (every[left] > place)
        if not len(kept) or (order[:, 0] < 0).any():
            return None
        return replace(self, entities=entities, order=order, pool=self.pool.only(kept).without(j))

    def _near(self, fee_weight: float) -> int:
        """The nearest price."""
        return int(np.abs(self.prices - fee_weight).argmin())

    def _next(
        self, lines: np.ndarray, heard: np.ndarray, closed: np.ndarray, fees: np.ndarray, fee_weight: float
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Who comes next, and what asking him changes, by how many were heard; whoever cannot be asked is skipped."""
        p, every = self._near(fee_weight), np.arange(len(lines))
        members = self.order[p][self.order[p] >= 0]
        left = ~closed[:, members]
        who = members[left.argmax(axis=1)]
        # Those who were heard need not be the first of the order: a base may have answered before.
        gain = (lines * self.weights[np.minimum(heard, len(members) - 1), :, p]).sum(axis=1)
        return who, np.where(left.any(axis=1), gain + fee_weight * fees[every, who], _NEVER)

    def to_state(self) -> _parts.State:
        """Return the cascade as arrays, and its pool."""
        names = ("entities", "prices", "used", "order", "weights")
        arrays = {name: getattr(self, name) for name in names}
        arrays |= {name: arrays[name].astype(np.int32) for name in ("entities", "order")}
        return _parts.State(plain={"free_start": self.free_start}, arrays=arrays).hold(pool=self.pool)

    @classmethod
    def from_state(cls, state: _parts.State) -> "Cascade":
        """Return the cascade that `to_state` wrote."""
        entities, prices, used, order, weights = state.pick(
            entities="e", prices="p", used="p", order="p d", weights=f"d {_LINES} p"
        )
        if order.dtype.kind != "i" or (order >= len(entities)).any() or (order[:, :1] < 0).any():
            raise InvalidInputError("`order` must hold some of the entities at each price: the artefact is damaged.")
        pool: Pool = state.need("pool")
        pool.check(entities)
        free_start = bool(state.plain["free_start"])
        return cls(
            entities.astype(np.intp), prices, used.astype(bool), order.astype(np.intp), weights, free_start, pool
        )


def efficient(
    errors: Float[np.ndarray, " a"], fees: Float[np.ndarray, " a"], among: Int[np.ndarray, " b"]
) -> Int[np.ndarray, " e"]:
    """Return those of some entities who stand highest by error + λ fee at some λ, at most six, shape (e,), rising.

    Args:
        errors: shape (|A|,), the mean of each.
        fees: shape (|A|,), likewise.
        among: shape (b,), who may be asked.
    """
    error, fee = errors[among], fees[among]
    rates = _RATES * float(np.ptp(error)) / max(float(np.ptp(fee)), 1e-12)
    ranks = np.min([np.argsort(np.argsort(error + rate * fee)) for rate in rates], axis=0)
    return np.sort(among[np.lexsort((error, ranks))[:_EFFICIENT]])


def orders_of(
    errors: Float[np.ndarray, " e"], own: Bool[np.ndarray, " e"], most: int = _EFFICIENT
) -> list[tuple[int, ...]]:
    """Return every order of three, the others behind them by their errors; whoever answers unasked is heard before.

    Args:
        errors: shape (e,), the mean of each.
        own: shape (e,), who answers without being asked.
        most: how many may be asked about a query.
    """
    heard, asked = np.flatnonzero(own).tolist(), np.flatnonzero(~own)
    by_error = asked[np.argsort(errors[asked], kind="stable")].tolist()
    found: list[tuple[int, ...]] = []
    for start in permutations(asked.tolist(), min(_START, len(asked))):
        rest = [j for j in by_error if j not in start]
        found.append((*heard, *start, *rest)[:most])
    return sorted(set(found))


_Met = list[tuple[Float[np.ndarray, "n f"], Float[np.ndarray, " n"]]]
"""What is seen of each query, and what stopping costs, after nobody, the first, the second of an order was heard."""


def _met(
    pool: Pool, case: Case, truth: Int[np.ndarray, " n"], orders: Sequence[tuple[int, ...]]
) -> Iterator[tuple[tuple[int, ...], _Met]]:
    """Orders, each with its states; where orders begin alike, their states are heard once."""

    def seen(state: State) -> tuple[np.ndarray, np.ndarray]:
        lines, expected = _lines(pool, case, state)
        said = sayable(case, state, pool.probabilities(case, state)).argmax(axis=1)
        return lines, (1 - _CAME) * expected + _CAME * (said != truth)

    nothing = pool.nothing(case, np.arange(len(case)))
    states, met, before = [nothing], [seen(nothing)], ()
    for order in orders:
        alike = next((k for k, (a, b) in enumerate(zip(before, order, strict=False)) if a != b), len(before))
        states, met, before = states[: alike + 1], met[: alike + 1], order
        for j in order[alike:]:
            states.append(pool.hear(case, states[-1], j))
            met.append(seen(states[-1]))
        yield order, met


def _induced(
    order: tuple[int, ...], met: _Met, fees: np.ndarray, prices: np.ndarray, *, free_start: bool
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "k f p"]]:
    """What an order costs at each price, and the weights it is stopped by, from the last question to the first.

    What follows is taken as it came (Longstaff and Schwartz 2001), so that what is chosen for looking good is not taken
    to be as good as it looked.
    """
    value = np.repeat(met[-1][1][:, None], len(prices), axis=1)
    weights = np.zeros((len(order), _LINES, len(prices)))
    for k in range(len(order) - 1, -1, -1):
        lines, stop = met[k]
        asked = value + prices * fees[:, order[k], None]
        weights[k] = _ridge(lines, value - stop[:, None])
        if k == 0 and not free_start:
            value = asked
            continue
        goes = lines @ weights[k] + prices * fees[:, order[k], None] < 0
        value = np.where(goes, asked, stop[:, None])
    return value.mean(axis=0), weights


def _lines(pool: Pool, case: Case, state: State) -> tuple[Float[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
    """What going on may depend on, shape (n, f), and the expected error of stopping, shape (n,).

    How sure the likeliest answers are, whether two or three agree, how hard the query was expected to be, and how sure
    one was before asking. Few and the same for all: a row of a small log teaches each of them.
    """
    summary, stop = pool.summarise(case, state)
    support = summary[:, 5] * np.maximum(summary[:, 6], 1.0)
    lines = np.column_stack(
        [
            np.ones(len(stop)),
            summary[:, 0],
            summary[:, 2],
            summary[:, 3],
            support > 1.5,
            support > 2.5,
            case.expected[state.rows].mean(axis=1),
            summary[:, -1],
        ]
    )
    return lines, stop


def _ridge(lines: Float[np.ndarray, "n f"], targets: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "f p"]:
    """Weights of the lines; those but the constant's are drawn to 0, each by how much its line varies."""
    centre, scale = lines[:, 1:].mean(axis=0), lines[:, 1:].std(axis=0) + 1e-3
    inputs = np.hstack([lines[:, :1], (lines[:, 1:] - centre) / scale])
    gram = inputs.T @ inputs
    gram[np.diag_indices(len(gram))] += _RIDGE * len(lines) * np.r_[0.0, np.ones(len(gram) - 1)]
    found = np.linalg.solve(gram, inputs.T @ targets)
    found[1:] /= scale[:, None]
    found[0] -= centre @ found[1:]
    return found
