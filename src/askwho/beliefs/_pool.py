"""From the evidence of single answers to what is believed after several: for any set of members that answered."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from askwho import _parts
from askwho import _validation as check
from askwho._fast import loops
from askwho._parts import part
from askwho.beliefs._narrow import largest, total
from askwho.beliefs._pooled import Heard

# Committees of 2, 3, 4-5, 6-8 and more answers each have weights of their own: the more there are, the more they repeat
# each other. One answer alone is believed as it is.
_BANDS = np.array([0, 0, 1, 2, 3, 3, 4, 4, 4, 5])
# What is weighed beside each member's own evidence: the five that `_sources` returns.
_SOURCES = 5
# Where their weights begin and are drawn to, by hand: less than all of the evidence, because members repeat each other,
# nothing for supporters, and the prior whole.
_STARTS = (0.7, 0.0, 0.0, 0.0, 1.0)
# How strongly, by hand, in all and not a row: the more rows there are the less it holds them back.
_RIDGE = 3.0
# Scores so near to each other may be equal once they are probabilities, which have 24 bits.
_NEAR = 1e-5
# Random sets of members that each row teaches by, beside everybody, by hand: more take longer in proportion.
_MASKS = 2


@dataclass(frozen=True, eq=False)
class State:
    """What has been heard of some queries, and what is needed to believe something.

    Args:
        rows: shape (n,), which queries.
        weighed: shape (n, C), the sum of evidence times each member's own weight.
        plain: shape (n, C), the sum of evidence.
        support: shape (n, C), how many said so.
        asked: shape (n, |A|), who was asked.
        answers: shape (n,), how many answered.
    """

    rows: Int[np.ndarray, " n"]
    weighed: Float32[np.ndarray, "n c"]
    plain: Float32[np.ndarray, "n c"]
    support: Float32[np.ndarray, "n c"]
    asked: Bool[np.ndarray, "n a"]
    answers: Int[np.ndarray, " n"]

    def some(self, chosen: Int[np.ndarray, " m"]) -> "State":
        """Return the state of some of the queries."""
        return State(
            self.rows[chosen],
            self.weighed[chosen],
            self.plain[chosen],
            self.support[chosen],
            self.asked[chosen],
            self.answers[chosen],
        )


@dataclass(frozen=True, eq=False)
class Case:
    """Queries with everything that can be heard about them: a world to hear answers in, one by one.

    Args:
        prior: shape (n, C), log-probabilities before asking.
        evidence: shape (n, |A|, C).
        codes: shape (n, |A|), −1 where there is no answer.
        expected: shape (n, |A|), expected errors before asking.
        labels: shape (C,), the classes that candidates stand for; empty where they are places in a row.
        there: shape (n, |A|), who may be asked; None where everybody may.
        costs: shape (C, C), what it costs to say [said] where [truth] is true; None where all mistakes are alike.
        known: shape (n, d), the features that were known before asking; None where nobody needs them.
        info: shape (n, |A|), what came back with the answers, NaN where nothing did; None likewise.
        moved: shape (n, s, C), what the model of every set adds to the pool's, where that was laid out beforehand.
        believed: shape (n, s, C), what such models believe after every set, likewise; by models of other rows, where
            they were learned from these.
    """

    prior: Float32[np.ndarray, "n c"]
    evidence: Float32[np.ndarray, "n a c"]
    codes: Int[np.ndarray, "n a"]
    expected: Float[np.ndarray, "n a"]
    labels: Shaped[np.ndarray, " l"]
    there: Bool[np.ndarray, "n a"] | None = None
    costs: Float32[np.ndarray, "c c"] | None = None
    known: Float[np.ndarray, "n d"] | None = None
    info: Float[np.ndarray, "n a"] | None = None
    moved: Float32[np.ndarray, "n s k"] | None = None
    believed: Float32[np.ndarray, "n s k"] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def spoke(self) -> Bool[np.ndarray, "n a"]:
        """Who gave an answer that can be used, shape (n, |A|)."""
        return self.codes >= 0

    def closed(self, state: Heard) -> Bool[np.ndarray, "n a"]:
        """Return who cannot be asked any more, shape (n, |A|): asked already, or not there."""
        return state.asked if self.there is None else state.asked | ~self.there[state.rows]

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "Case":
        """Return the case of some of the queries."""
        return replace(
            self,
            prior=self.prior[chosen],
            evidence=self.evidence[chosen],
            codes=self.codes[chosen],
            expected=self.expected[chosen],
            there=None if self.there is None else self.there[chosen],
            known=None if self.known is None else self.known[chosen],
            info=None if self.info is None else self.info[chosen],
            moved=None if self.moved is None else self.moved[chosen],
            believed=None if self.believed is None else self.believed[chosen],
        )

    def only(self, entities: Int[np.ndarray, " b"]) -> "Case":
        """Return the case of some of the entities."""
        return replace(
            self,
            evidence=self.evidence[:, entities],
            codes=self.codes[:, entities],
            expected=self.expected[:, entities],
            there=None if self.there is None else self.there[:, entities],
            info=None if self.info is None else self.info[:, entities],
            moved=None,
            believed=None,
        )

    @property
    def bare(self) -> "Case":
        """The case without what the pool does not look at."""
        return replace(self, there=None, known=None, info=None, moved=None, believed=None)


@part("pool")
@dataclass(frozen=True, eq=False)
class Pool:
    """Weights for the evidence of committees of every size.

    A logarithmic opinion pool (Genest and Zidek 1986) whose weights are those of a conditional logit (McFadden 1974):
    candidates are the alternatives, and their log-evidence, supporters and prior are what tells them apart.

    Args:
        members: shape (|A|,), what each member's evidence weighs beside the common weight.
        sources: shape (5, bands + 1), weights of the evidence in sum, of having one, two, or three and more supporters,
            and of the prior, for each band of committee sizes; the first band is not used.
    """

    members: Float[np.ndarray, " a"]
    sources: Float[np.ndarray, "s b"]

    @classmethod
    def fit(cls, case: Case, truth: Int[np.ndarray, " n"], masks: list[Bool[np.ndarray, "n a"]]) -> "Pool":
        """Return the weights under which the truths of past queries are likeliest, whoever was heard.

        Args:
            case: past queries, their evidence out of fold.
            truth: shape (n,), as indices into the candidates.
            masks: each (n, |A|), who is heard; committees of fewer than two teach nothing.
        """
        designs: list[np.ndarray] = []
        truths: list[np.ndarray] = []
        for mask in masks:
            rows = np.flatnonzero((mask & (case.codes >= 0)).sum(axis=1) > 1)
            if rows.size:
                designs.append(_design(case, rows, mask[rows]))
                truths.append(truth[rows])
        size = case.codes.shape[1]
        start = np.concatenate([np.zeros(size), np.repeat(_STARTS, _BANDS.max())])
        found = _likeliest(np.concatenate(designs), np.concatenate(truths), start) if designs else start
        table = found[size:].reshape(_SOURCES, -1)
        return cls(found[:size], np.hstack([np.zeros((_SOURCES, 1)), table]))

    @property
    def size(self) -> int:
        """How many entities it knows."""
        return len(self.members)

    @property
    def unit(self) -> float:
        """What an error of 1 is here: a wrong answer."""
        return 1.0

    def check(self, entities: Int[np.ndarray, " e"]) -> None:
        """Raise where there is not one member for each of those."""
        check.same_shape(self.members, "members", entities.shape, "one for each entity that is asked in turn")

    def without(self, j: int) -> "Pool":
        """Return the same of a panel without entity j, who is no member: the candidates are classes."""
        del j
        return self

    def only(self, entities: Int[np.ndarray, " b"]) -> "Pool":
        """Return the pool of some of the entities."""
        return Pool(self.members[entities], self.sources)

    def nothing(self, case: Case, rows: Int[np.ndarray, " m"]) -> State:
        """Return the state before anybody is asked."""
        classes, size = case.prior.shape[1], case.codes.shape[1]
        empty = np.zeros((len(rows), classes), dtype=np.float32)
        return State(
            rows, empty, empty, empty, np.zeros((len(rows), size), dtype=bool), np.zeros(len(rows), dtype=np.intp)
        )

    def hear(self, case: Case, state: State, entity: Int[np.ndarray, " n"] | int) -> State:
        """Return the state after one more entity is asked, the same for all queries or one for each."""
        n = len(state.rows)
        who = np.broadcast_to(entity, n)
        said = case.codes[state.rows, who]
        new = case.evidence[state.rows, who]
        support, asked = state.support.copy(), state.asked.copy()
        spoke = np.flatnonzero(said >= 0)
        support[spoke, said[spoke]] += 1
        asked[np.arange(n), who] = True
        return State(
            state.rows,
            state.weighed + new * self.members[who].astype(np.float32)[:, None],
            state.plain + new,
            support,
            asked,
            state.answers + (said >= 0),
        )

    def hear_all(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> State:
        """Return the state of every query after all of those were asked."""
        counted = asked & (case.codes >= 0)
        new = np.where(counted[:, :, None], case.evidence, np.float32(0.0))
        return State(
            np.arange(len(case)),
            np.einsum("nac,a->nc", new, self.members.astype(np.float32)),
            new.sum(axis=1),
            _support(case.codes, counted, case.prior.shape[1]),
            asked,
            counted.sum(axis=1),
        )

    def probabilities(self, case: Case, state: State) -> Float32[np.ndarray, "n c"]:
        """Return what is believed, shape (n, C): each candidate's probability."""
        prior, band = case.prior[state.rows], _BANDS[np.minimum(state.answers, len(_BANDS) - 1)]
        scores = np.where((state.answers > 1)[:, None], state.weighed, state.plain + prior)
        weights = self.sources.astype(np.float32)[:, band, None]
        for source, weight in zip(_sources(state.plain, state.support, prior), weights, strict=True):
            scores = scores + source * weight
        scores -= largest(scores)
        shares = np.exp(scores)
        return shares / total(shares)

    def after(
        self, case: Case, rows: Int[np.ndarray, " m"], asked: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m c"]:
        """Return what is believed of some queries after all of those were asked, shape (m, C)."""
        fast = loops(len(rows))
        if fast is None:
            # Whole cases are heard.
            some = case if np.array_equal(rows, np.arange(len(case))) else case.bare.rows(rows)
            return self.probabilities(some, self.hear_all(some, asked))
        scores = np.empty((len(rows), case.prior.shape[1]), dtype=np.float32)
        fast.scores_after(*self._given(case), rows, asked, scores)
        shares = np.exp(scores, out=scores)
        return shares / total(shares)

    def likeliest(
        self, case: Case, rows: Int[np.ndarray, " m"], order: Int[np.ndarray, "m K"]
    ) -> Int[np.ndarray, "m K"]:
        """Return the likeliest candidate after each entity of an order, shape (m, K), the first among equals."""
        fast, places = loops(len(rows)), np.empty(order.shape, dtype=np.intp)
        slow = np.arange(len(rows))
        if fast is not None:
            close = np.zeros(len(rows), dtype=bool)
            fast.likeliest(*self._given(case), rows, order, np.float32(_NEAR), places, close)
            slow = np.flatnonzero(close)
        state = self.nothing(case, rows[slow])
        for r in range(order.shape[1] if len(slow) else 0):
            state = self.hear(case, state, order[slow, r])
            places[slow, r] = self.probabilities(case, state).argmax(axis=1)
        return places

    def _given(self, case: Case) -> tuple[np.ndarray, ...]:
        """What compiled loops need of a case and of the weights."""
        weights = self.members.astype(np.float32), self.sources.astype(np.float32)
        return case.prior, case.evidence, case.codes, *weights, _BANDS

    def summarise(self, case: Case, state: State) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
        """Return what the next question may depend on, shape (n, f), and the expected error of stopping, shape (n,)."""
        believed = self.probabilities(case, state)
        if case.costs is not None:
            return _summary_of_costs(case, state, believed, case.costs)
        n, classes = believed.shape
        among = sayable(case, state, believed)
        place = among.argmax(axis=1)
        first = among[np.arange(n), place]
        second = np.partition(believed, -2, axis=1)[:, -2] if classes > 1 else np.zeros(n, dtype=np.float32)
        answers = np.maximum(state.answers, 1)
        summary = np.column_stack(
            [
                first,
                second,
                np.log(np.maximum(first, 1e-3) / (1 - first + 1e-3)),
                np.log((first + 1e-4) / (second + 1e-4)),
                -(believed * np.log(believed + 1e-9)).sum(axis=1),
                state.support[np.arange(n), place] / answers,
                state.answers,
                state.asked,
                np.where(state.asked, 0.5, case.expected[state.rows]),
                case.prior[state.rows].max(axis=1),
            ]
        ).astype(np.float32)
        return summary, 1 - first

    def loss(self, case: Case, state: State, truth: Int[np.ndarray, " n"]) -> float:
        """Return what is lost by stopping here; `truth` are places among the candidates, shape (n,).

        Half the error, half the Brier score: it moves before the error does, and never for more of the same. Where
        mistakes differ a row's score counts by the worst that could be said of it.
        """
        believed = self.probabilities(case, state)
        own = believed[np.arange(len(truth)), truth]
        brier = 0.5 * (np.square(believed).sum(axis=1) - 2 * own + 1)
        if case.costs is not None:
            said = expected_costs(case.costs, believed).argmin(axis=1)
            brier = brier * case.costs.max(axis=1)[truth]
            return float(0.5 * brier.mean() + 0.5 * case.costs[truth, said].mean())
        said = sayable(case, state, believed).argmax(axis=1)
        return float(0.5 * brier.mean() + 0.5 * (said != truth).mean())

    def to_state(self) -> _parts.State:
        """Return the weights as arrays."""
        return _parts.State(arrays={"members": self.members, "sources": self.sources})

    @classmethod
    def from_state(cls, state: _parts.State) -> "Pool":
        """Return the pool that `to_state` wrote."""
        return cls(*state.pick(members="a", sources=f"{_SOURCES} {_BANDS.max() + 1}"))


def random_masks(asked: Bool[np.ndarray, "n a"], *, random_state: int) -> list[Bool[np.ndarray, "n a"]]:
    """Return sets of members to learn from, each of shape (n, |A|): some of all sizes at random, and everybody."""
    rng = np.random.default_rng(random_state)
    n, size = asked.shape
    masks = [asked]
    for _ in range(_MASKS):
        place = rng.random((n, size)).argsort(axis=1).argsort(axis=1)
        masks.append(asked & (place < rng.integers(1, size + 1, n)[:, None]))
    return masks


def sayable(case: Case, state: State, believed: np.ndarray) -> np.ndarray:
    """Return what is believed, without places in a row of which nobody has spoken yet: they cannot be answered."""
    return believed if len(case.labels) else np.where(state.support > 0, believed, np.float32(0.0))


def expected_costs(
    costs: Float32[np.ndarray, "c c"], believed: Float32[np.ndarray, "n c"]
) -> Float32[np.ndarray, "n c"]:
    """Return what saying each candidate is expected to cost, shape (n, C)."""
    return believed @ costs


def _summary_of_costs(
    case: Case, state: State, believed: np.ndarray, costs: np.ndarray
) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
    """What the next question may depend on where mistakes differ, and what stopping is expected to cost.

    What decides is how far the two cheapest candidates are apart, and which of them it is, rather than how likely.
    """
    n, rows = len(believed), np.arange(len(believed))
    risks, most = expected_costs(costs, believed), np.float32(costs.max() or 1.0)
    place = risks.argmin(axis=1)
    least = risks[rows, place]
    second = np.partition(risks, 1, axis=1)[:, 1] if risks.shape[1] > 1 else least
    own = believed[rows, place]
    before = expected_costs(costs, np.exp(case.prior[state.rows])).min(axis=1)
    summary = np.column_stack(
        [
            np.log(least / most + 1e-4),
            np.log(second / most + 1e-4),
            np.log((least + 1e-4 * most) / (second + 1e-4 * most)),
            least / most,
            own,
            np.log(np.maximum(own, 1e-3) / (1 - own + 1e-3)),
            -(believed * np.log(believed + 1e-9)).sum(axis=1),
            state.support[np.arange(n), place] / np.maximum(state.answers, 1),
            state.answers,
            state.asked,
            np.where(state.asked, 0.0, np.log(case.expected[state.rows] + 1e-3)),
            np.log(before / most + 1e-4),
        ]
    ).astype(np.float32)
    return summary, least


def _sources(plain: np.ndarray, support: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, ...]:
    return plain, support == 1, support == 2, support >= 3, prior


def _support(codes: np.ndarray, counted: np.ndarray, classes: int) -> np.ndarray:
    support = np.zeros((len(codes), classes), dtype=np.float32)
    for said, heard in zip(codes.T, counted.T, strict=True):
        rows = np.flatnonzero(heard)
        support[rows, said[rows]] += 1
    return support


def _design(case: Case, rows: np.ndarray, mask: np.ndarray) -> Float32[np.ndarray, "m c p"]:
    """What the weights multiply, shape (m, C, parameters)."""
    counted = mask & (case.codes[rows] >= 0)
    members = np.where(counted[:, :, None], case.evidence[rows], np.float32(0.0)).transpose(0, 2, 1)
    support = _support(case.codes[rows], counted, case.prior.shape[1])
    band = _BANDS[np.minimum(counted.sum(axis=1), len(_BANDS) - 1)]
    inside = np.arange(1, _BANDS.max() + 1) == band[:, None]
    parts = [
        np.asarray(source, dtype=np.float32)[:, :, None] * inside[:, None, :]
        for source in _sources(members.sum(axis=2), support, case.prior[rows])
    ]
    return np.concatenate([members, *parts], axis=2)


def _likeliest(design: np.ndarray, truth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The weights of a conditional logit, drawn towards where they start."""
    n, classes, size = design.shape
    flat = design.reshape(n * classes, size)
    found = design[np.arange(n), truth].mean(axis=0)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = (flat @ weights.astype(np.float32)).reshape(n, classes)
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        total = shares.sum(axis=1)
        likelihood = float((scores[np.arange(n), truth] - np.log(total)).mean(dtype=np.float64))
        expected = (shares / total[:, None]).reshape(-1) @ flat / n
        away = weights - start
        return -likelihood + _RIDGE / n * float(away @ away), (expected - found) + 2 * _RIDGE / n * away

    from scipy.optimize import minimize  # noqa: PLC0415 - to learn alone: it takes long to import

    solved: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return np.asarray(solved.x)
