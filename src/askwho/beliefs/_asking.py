"""Asking in turn: what one more answer is worth after what was heard, learned backwards from the last question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from askwho import _parts
from askwho._fast import loops
from askwho._parts import part
from askwho.beliefs._cascade import Cascade
from askwho.beliefs._pooled import Heard, Pooled, World, believed_after, numbers_of
from askwho.exceptions import InvalidInputError

# Nobody is asked a seventh, by hand: each question more is one more round of regressions, on ever fewer rows.
_DEPTH = 6
# Random features beside the plain ones, by hand: more follow what asking is worth more closely, and take longer.
_DIRECTIONS = 128
# In so many orders of asking each row is met at each depth, by hand: with more the regressions vary less.
_REPEATS = 3
# Ridge a row, by hand: more of it draws what asking gains towards nothing, and so towards asking less.
_RIDGE = 0.1
# Panels up to this size are asked whole; of larger ones those are kept who are worth their fee in some committee.
_SMALL_PANEL = 6
# Members of the committees that are grown to find those, by hand: whoever only helps a larger one is left out.
_GREEDY_DEPTH = 5
# A member must lower the loss by this beyond its fee, by hand: else free ones come in by rounding alone.
_LEAST_GAIN = 1e-4
# The arrays of a basis and their shapes, in the order of its fields.
_BASIS = {"centre": "f", "scale": "f", "directions": "f d", "offsets": "d"}
# States whose next question is found together: what it changes at every price stays in the cache.
_STATES = 1 << 11
# Prices that are looked at together: states that few of them come to are left out of the others.
_PRICES = 7
NEVER = 1e9
"""The change in cost of asking somebody who cannot be asked."""


@part("basis")
@dataclass(frozen=True, eq=False)
class Basis:
    """The summary of a state, standardised, and random ReLU features of it (Rahimi and Recht 2008).

    Args:
        centre: shape (f,).
        scale: shape (f,).
        directions: shape (f, d).
        offsets: shape (d,).
    """

    centre: Float32[np.ndarray, " f"]
    scale: Float32[np.ndarray, " f"]
    directions: Float32[np.ndarray, "f d"]
    offsets: Float32[np.ndarray, " d"]

    @classmethod
    def of(cls, summary: Float32[np.ndarray, "n f"], *, random_state: int) -> "Basis":
        """Return a basis fitted to the spread of some states."""
        rng = np.random.default_rng(random_state)
        size = summary.shape[1]
        # A few features a direction, and the belief in the likeliest candidate always among them.
        directions = rng.normal(size=(size, _DIRECTIONS)) * (rng.random((size, _DIRECTIONS)) < min(1.0, 3.0 / size))
        directions[0] += rng.normal(size=_DIRECTIONS)
        directions /= np.sqrt(np.square(directions).sum(axis=0)) + 1e-9
        return cls(
            summary.mean(axis=0),
            summary.std(axis=0) + np.float32(1e-3),
            directions.astype(np.float32),
            rng.uniform(-1.5, 1.5, _DIRECTIONS).astype(np.float32),
        )

    @property
    def width(self) -> int:
        """How many basis functions there are: a constant, the lines and the bent ones."""
        return 1 + len(self.centre) + len(self.offsets)

    def apply(self, summary: Float32[np.ndarray, "n f"]) -> Float32[np.ndarray, "n b"]:
        """Return the basis functions of states, shape (n, 1 + f + d)."""
        found = np.empty((len(summary), self.width), dtype=np.float32)
        scaled, bent = found[:, 1 : 1 + len(self.centre)], found[:, 1 + len(self.centre) :]
        found[:, 0] = 1.0
        np.divide(summary - self.centre, self.scale, out=scaled)
        np.matmul(scaled, self.directions, out=bent)
        fast = loops(len(summary))
        if fast is None:
            bent += self.offsets
            np.maximum(bent, 0.0, out=bent)
        else:
            fast.bent(bent, self.offsets)
        return found

    def to_state(self) -> _parts.State:
        """Return the basis as arrays."""
        return _parts.State(arrays={name: getattr(self, name) for name in _BASIS})

    @classmethod
    def from_state(cls, state: _parts.State) -> "Basis":
        """Return the basis that `to_state` wrote."""
        return cls(*state.pick(**_BASIS))


@part("asking")
@dataclass(frozen=True, eq=False)
class Asking:
    """Whom to ask next, or nobody: the change in cost that asking brings, at every price.

    An optimal stopping rule, one of many actions a step. Cascades and k(x) are special cases: a rule that looks at
    agreement alone, and one that looks at nothing heard.

    Args:
        entities: shape (e,), who is worth asking at some price, as indices into the panel.
        prices: shape (p,), λ, rising.
        bases: one for each number of questions asked before; or for each set of entities, see `by_sets`.
        gains: likewise, each (b, e, p): what asking each entity changes in expected error and later fees; in parts of
            what stopping costs, where mistakes differ, for most queries are sure and a few are most of the cost.
        free_start: whether a decision can be made before anybody is asked.
        pool: how the answers of `entities` alone are believed together.
        once: shape (p,), at which prices one is asked, by what is expected alone, and nobody after; None for none.
        by_sets: whether there is a basis for each set of those asked before, numbered by 2^j for entity j; all but the
            last set, after which nobody is left.
        cascade: whom to ask at the prices at which an order that is the same for every query is no worse; None where
            there is none.
    """

    entities: Int[np.ndarray, " e"]
    prices: Float[np.ndarray, " p"]
    bases: list[Basis]
    gains: list[Float32[np.ndarray, "b e p"]]
    free_start: bool
    pool: Pooled
    once: Bool[np.ndarray, " p"] | None = None
    by_sets: bool = False
    cascade: Cascade | None = None

    def at(self, fee_weight: float) -> "Asking | Cascade":
        """Return the rule that is followed at a price: the cascade, where it has taken it."""
        return self if self.cascade is None or not self.cascade.takes(fee_weight) else self.cascade

    @property
    def most(self) -> int:
        """How many may be asked about a query at any price."""
        return self.depth if self.cascade is None else max(self.depth, self.cascade.depth)

    @property
    def depth(self) -> int:
        """How many may be asked about a query."""
        return len(self.entities) if self.by_sets else len(self.bases)

    @classmethod
    def fit(
        cls,
        pool: Pooled,
        case: World,
        *,
        asked: Bool[np.ndarray, "n a"],
        fees: Float[np.ndarray, "n a"],
        prices: Float[np.ndarray, " p"],
        entities: Int[np.ndarray, " e"],
        free_start: bool,
        most: int | None = None,
        random_state: int = 0,
    ) -> "Asking":
        """Return the rule learned by backward regression: least-squares Monte Carlo (Longstaff and Schwartz 2001).

        For every number of questions from the last to the first: states are drawn as some policy might reach them, each
        entity not yet asked is heard, and what follows (stop, or go on as already learned) is regressed on the state
        before. What is learned is the change against stopping, so that where nothing is known nothing is gained.

        Args:
            pool: how the answers of `entities` alone are believed together.
            case: past queries, out of fold.
            asked: shape (n, |A|), whose answers the log knows; nothing is learned from others.
            fees: shape (n, |A|), expected.
            prices: shape (p,).
            entities: shape (e,), who may be asked.
            free_start: whether a decision can be made before anybody is asked.
            most: how many may be asked about a query; as many as the rule can, unless said.
            random_state: the seed.
        """
        rng = np.random.default_rng(random_state)
        small, known, paid = case.only(entities), asked[:, entities], fees[:, entities]
        depth = min(_DEPTH, len(entities), len(entities) if most is None else most)
        size = known.shape[1]
        bases: list[Basis] = []
        gains: list[np.ndarray] = []
        after: Asking | None = None
        for level in range(depth - 1, -1, -1):
            state = _drawn(pool, small, known, paid, prices / pool.unit, level, rng)
            if not len(state.rows):
                # No row has so many answers: nobody is asked so often.
                continue
            summary, stop = pool.summarise(small, state)
            basis = Basis.of(summary, random_state=random_state + level)
            inputs = basis.apply(summary)
            found = np.zeros((inputs.shape[1], size, len(prices)), dtype=np.float32)
            for j in range(size):
                open_ = np.flatnonzero(~state.asked[:, j] & known[state.rows, j])
                if len(open_) < 50:
                    found[0, j] = NEVER
                    continue
                heard = pool.hear(small, state.some(open_), j)
                later, stopped = pool.summarise(small, heard)
                value = np.repeat(stopped[:, None], len(prices), axis=1)
                if after is not None:
                    parts = None if case.costs is None else stopped
                    best = after.changes_everywhere(0, later, small.closed(heard), paid[heard.rows], parts).min(axis=1)
                    value += np.minimum(best, 0.0)
                parts = None if case.costs is None else stop[open_]
                found[:, j] = _ridge(inputs[open_], value - stop[open_, None], parts)
            bases.insert(0, basis)
            gains.insert(0, found)
            after = cls(np.arange(size), prices, bases, gains, free_start, pool)
        return cls(entities, prices, bases, gains, free_start, pool)

    def changes(
        self,
        case: World,
        state: Heard,
        fees: Float[np.ndarray, "n a"],
        fee_weight: float,
    ) -> tuple[Float[np.ndarray, "n e"], Float32[np.ndarray, " n"]]:
        """Return what asking each of `entities` changes in all, its own fee too, shape (n, e); below 0 is worth it.

        And what is expected of stopping, shape (n,). `case`, `state` and `fees` are of `entities` alone.
        """
        summary, stop = self.pool.summarise(case, state)
        change = np.full((len(stop), len(self.entities)), NEVER)
        if self._is_once(fee_weight):
            change = self._only_once(case, state, fees, fee_weight)
        else:
            for stage, rows in self._stages(state):
                gains = self._gains(stage, fee_weight)
                found = self.bases[stage].apply(summary[rows]) @ gains
                if case.costs is not None:
                    found = np.where(gains[0] < NEVER / 2, found * stop[rows, None], NEVER)
                change[rows] = found + fee_weight / self.pool.unit * fees[rows]
        return np.where(case.closed(state), NEVER, change), stop

    def steps(
        self,
        case: World,
        state: Heard,
        fees: Float[np.ndarray, "n a"],
        fee_weights: Sequence[float],
        wanted: Bool[np.ndarray, "p n"],
    ) -> tuple[Int[np.ndarray, "p n"], Float[np.ndarray, "p n"]]:
        """Return whom of `entities` to ask next at each of several prices, and what that changes, each (p, n).

        As `changes` has it: what is believed does not depend on the price, and is summarised once for all of them.

        Args:
            case: of `entities` alone.
            state: likewise.
            fees: likewise.
            fee_weights: λ, shape (p,).
            wanted: where it is asked for; anything may stand elsewhere.
        """
        summary, stop = self.pool.summarise(case, state)
        closed, shape = case.closed(state), (len(fee_weights), len(stop))
        best, least = np.zeros(shape, dtype=np.intp), np.full(shape, NEVER)
        around = [np.array(each) for each in zip(*map(self._between, fee_weights), strict=True)]
        fast, places = loops(len(stop)), np.empty(_STATES, dtype=np.intp)
        for stage, every in self._stages(state):
            # Of a set those are asked who are not in it.
            open_to = np.array([j for j in range(closed.shape[1]) if not (self.by_sets and stage >> j & 1)])
            gains = _between_prices(self.gains[stage][:, open_to], *around)
            for start in range(0, len(every), _STATES):
                block = every[start : start + _STATES]
                inputs = self.bases[stage].apply(summary[block])
                for first in range(0, len(fee_weights), _PRICES):
                    some = slice(first, first + _PRICES)
                    if fast is None:
                        open_ = np.flatnonzero(wanted[some, block].any(axis=0))
                    else:
                        last = min(first + _PRICES, len(fee_weights))
                        open_ = places[: fast.wanted_by_any(wanted, block, first, last, places)]
                    if not len(open_):
                        continue
                    rows, weights = block[open_], gains[:, some]
                    found = _at_prices(weights, inputs if len(open_) == len(block) else inputs.take(open_, axis=0))
                    if case.costs is not None:
                        found = np.where(weights[:, :, :1] >= NEVER / 2, NEVER, found * stop[rows])
                    rates = np.array(fee_weights[some]) / self.pool.unit
                    if fast is not None:
                        fast.least(found, open_to, rates, fees, closed, rows, first, NEVER, best, least)
                        continue
                    place, least[some, rows] = _least(
                        found, rates[:, None], fees[rows[:, None], open_to], closed[rows[:, None], open_to]
                    )
                    best[some, rows] = open_to[place]
        for p, fee_weight in enumerate(fee_weights):
            if self._is_once(fee_weight):
                change = np.where(closed, NEVER, self._only_once(case, state, fees, fee_weight))
                best[p], least[p] = change.argmin(axis=1), change.min(axis=1)
        return best, least

    def _stages(self, state: Heard) -> Iterator[tuple[int, Int[np.ndarray, " m"]]]:
        """Each basis that some queries are at, and which: the others have nobody left to ask."""
        stages = numbers_of(state.asked) if self.by_sets else state.asked.sum(axis=1)
        for stage in np.unique(stages).tolist():
            if stage < len(self.bases):
                yield stage, np.flatnonzero(stages == stage)

    def _gains(self, stage: int, fee_weight: float) -> Float32[np.ndarray, "b e"]:
        """The weights of a basis at a price, by those of the prices around it."""
        low, high, share = self._between(fee_weight)
        return (1 - share) * self.gains[stage][:, :, low] + share * self.gains[stage][:, :, high]

    def _is_once(self, fee_weight: float) -> bool:
        """Whether one is asked at this price by what is expected alone, and nobody after."""
        low, high, share = self._between(fee_weight)
        return self.once is not None and bool(self.once[high if share > 0.5 else low])

    def _only_once(
        self, case: World, state: Heard, fees: Float[np.ndarray, "n a"], fee_weight: float
    ) -> Float[np.ndarray, "n e"]:
        """What asking the first changes, by what is expected alone, shape (n, e), and that nobody is asked after."""
        change, first = np.full(state.asked.shape, NEVER), ~state.asked.any(axis=1)
        change[first] = case.expected[state.rows[first]] + fee_weight * fees[first]
        return change

    def believe(self, pool: Pooled, case: World, asked: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, "n c"]:
        """Return what is believed after those were asked, shape (n, C): see `believed_after`."""
        return believed_after(self.pool, self.entities, pool, case, asked)

    def _between(self, fee_weight: float) -> tuple[int, int, float]:
        """The two prices around one, and how far it is from the first to the second."""
        if len(self.prices) == 1:
            return 0, 0, 0.0
        high = min(max(int(self.prices.searchsorted(fee_weight)), 1), len(self.prices) - 1)
        low = high - 1
        share = (fee_weight - self.prices[low]) / (self.prices[high] - self.prices[low])
        return low, high, min(max(float(share), 0.0), 1.0)

    def changes_everywhere(
        self, level: int, summary: np.ndarray, asked: np.ndarray, fees: np.ndarray, stop: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the same at every price, shape (n, e, p), `level` questions on; in parts of `stop`, if given."""
        gains = self.gains[level]
        inputs = self.bases[level].apply(summary)
        change = (inputs @ gains.reshape(len(gains), -1)).reshape(len(inputs), *gains.shape[1:])
        if stop is not None:
            change = np.where(gains[0] < NEVER / 2, change * stop[:, None, None], np.float32(NEVER))
        change += (fees[:, :, None] * (self.prices / self.pool.unit)).astype(np.float32)
        change[asked] = NEVER
        return change

    def to_state(self) -> _parts.State:
        """Return the rule as arrays and parts, a basis for each number of questions."""
        state = _parts.State(
            plain={"free_start": self.free_start},
            arrays={"entities": self.entities.astype(np.int32), "prices": self.prices},
        )
        if self.once is not None:
            state.arrays["once"] = self.once
        if self.by_sets:
            state.plain["by_sets"] = True
        state.arrays |= {f"gains-{level}": gains for level, gains in enumerate(self.gains)}
        bases = {f"basis-{level}": basis for level, basis in enumerate(self.bases)}
        return state.hold(pool=self.pool, cascade=self.cascade, **bases)

    @classmethod
    def from_state(cls, state: _parts.State) -> "Asking":
        """Return the rule that `to_state` wrote."""
        levels = range(sum(name.startswith("basis-") for name in state.parts))
        bases: list[Basis] = [state.read(f"basis-{level}") for level in levels]
        gains = {f"gains-{level}": f"{basis.width} e p" for level, basis in enumerate(bases)}
        entities, prices, *found = state.pick(entities="e", prices="p", **gains)
        pool: Pooled = state.need("pool")
        pool.check(entities)
        once = state.pick(once=str(len(prices)))[0].astype(bool) if "once" in state.arrays else None
        free_start, by_sets = bool(state.plain["free_start"]), bool(state.plain.get("by_sets", False))
        if by_sets and len(bases) != 2 ** len(entities) - 1:
            raise InvalidInputError(
                f"`gains` must be of every set of the {len(entities)} entities but the last, got {len(bases)}: the "
                "artefact is damaged."
            )
        cascade: Cascade | None = state.read("cascade")
        return cls(entities.astype(np.intp), prices, bases, found, free_start, pool, once, by_sets, cascade)


def worth_asking(
    pool: Pooled,
    case: World,
    truth: Shaped[np.ndarray, "n ..."],
    *,
    asked: Bool[np.ndarray, "n a"],
    fees: Float[np.ndarray, " a"],
    prices: Float[np.ndarray, " p"],
) -> Int[np.ndarray, " e"]:
    """Return who is worth asking at some price, shape (e,): members of committees grown by marginal gain.

    Greedy forward selection, at every other price. A member is added where it lowers the committee's error by more than
    its fee is worth, so that one who repeats another is left out. Where the log has no answer of a member its committee
    does without: who knows what others were not asked about is worth asking too.
    """
    silent = ~case.spoke.any(axis=0)
    candidates = np.flatnonzero(~silent)
    if len(candidates) <= _SMALL_PANEL:
        return candidates
    rows, charged = np.arange(len(case)), fees * asked.mean(axis=0)
    lost: dict[tuple[int, ...], float] = {}
    chosen: set[int] = set()
    for price in prices[::2] / pool.unit:
        members: list[int] = []
        state, now = pool.nothing(case, rows), np.inf
        for _ in range(_GREEDY_DEPTH):
            best: tuple[float, int] | None = None
            for j in candidates:
                if j in members:
                    continue
                key = tuple(sorted((*members, int(j))))
                if key not in lost:
                    lost[key] = pool.loss(case, pool.hear(case, state, int(j)), truth)
                cost = lost[key] + price * charged[j]
                if best is None or cost < best[0]:
                    best = (cost, int(j))
            if best is None or best[0] >= now - _LEAST_GAIN:
                break
            members.append(best[1])
            state, now = pool.hear(case, state, best[1]), lost[tuple(sorted(members))]
        chosen |= set(members)
    return np.array(sorted(chosen), dtype=np.intp)


def _between_prices(
    gains: Float32[np.ndarray, "b e q"],
    low: Int[np.ndarray, " p"],
    high: Int[np.ndarray, " p"],
    share: Float[np.ndarray, " p"],
) -> Float32[np.ndarray, "e p b"]:
    """The weights of a basis at several prices, by those around each: the bits of `Asking._gains`."""
    by_price = gains.transpose(1, 2, 0)
    below, above = (1 - share).astype(np.float32)[:, None], share.astype(np.float32)[:, None]
    return below * by_price[:, low] + above * by_price[:, high]


def _at_prices(gains: Float32[np.ndarray, "e p b"], inputs: Float32[np.ndarray, "m b"]) -> Float32[np.ndarray, "e p m"]:
    """What asking each changes at each price but for its fee: one product of matrices."""
    return (gains.reshape(-1, gains.shape[2]) @ inputs.T).reshape(*gains.shape[:2], len(inputs))


def _least(
    found: Float[np.ndarray, "e p m"],
    rates: Float[np.ndarray, "p 1"],
    fees: Float[np.ndarray, "m e"],
    closed: Bool[np.ndarray, "m e"],
) -> tuple[Int[np.ndarray, "p m"], Float[np.ndarray, "p m"]]:
    """Who changes the cost to the least, the first among equals, and to what."""
    best, least = np.zeros(found.shape[1:], dtype=np.intp), np.full(found.shape[1:], NEVER)
    for j, change in enumerate(found):
        now = np.where(closed[:, j], NEVER, change + rates * fees[:, j])
        np.copyto(best, j, where=now < least)
        np.minimum(least, now, out=least)
    return best, least


def _drawn(
    pool: Pooled,
    case: World,
    known: np.ndarray,
    fees: np.ndarray,
    prices: np.ndarray,
    level: int,
    rng: np.random.Generator,
) -> Any:  # noqa: ANN401 - a state of the pool
    """States after `level` questions, in orders that some price and some luck would give."""
    n, size = known.shape
    rows = np.tile(np.arange(n), _REPEATS if level else 1)
    price = prices[rng.integers(0, len(prices), len(rows))][:, None]
    if case.costs is not None:
        # What is expected of everybody is a share of what mistakes cost: so are fees, then.
        price = price / float(case.costs.max() or 1.0)
    likes = case.expected[rows] / pool.unit * rng.uniform(0, 1.5, (len(rows), 1)) + price * fees[rows] * rng.choice(
        [1, 1, 3], (len(rows), 1)
    )
    likes = np.where(known[rows], likes + 0.15 * rng.gumbel(size=(len(rows), size)), np.inf)
    order = likes.argsort(axis=1)
    # Who was not asked comes last: a row that has too few answers has no state of this depth.
    enough = known[rows].sum(axis=1) > level
    rows, order = rows[enough], order[enough]
    state = pool.nothing(case, rows)
    for k in range(level):
        state = pool.hear(case, state, order[:, k])
    return state


def _ridge(inputs: np.ndarray, targets: np.ndarray, parts: np.ndarray | None = None) -> Float32[np.ndarray, "b p"]:
    """Weights of the inputs; of what comes to that part of something else, where it is given, shape (n,)."""
    if parts is not None:
        # Ridge is of inputs that vary by about one.
        size = np.sqrt(np.square(parts).mean()) or np.float32(1.0)
        inputs, targets = inputs * (parts / size)[:, None], targets / size
    gram = inputs.T @ inputs
    gram[np.diag_indices(len(gram))] += _RIDGE * len(inputs)
    return np.linalg.solve(gram, inputs.T @ targets.astype(np.float32)).astype(np.float32)
