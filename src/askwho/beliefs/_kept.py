"""How good each answer is after several told something: whichever is there may be kept."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from askwho import _parts
from askwho._parts import part
from askwho.beliefs._logistic import likeliest
from askwho.beliefs._pool import Case, State, sayable

# What moves an answer's own odds, beside what each of the others told: a constant, what it told itself, their mean.
_SOURCES = 3
# How strongly, by hand, in all and not a row: the more rows there are the less it holds them back.
_RIDGE = 3.0
# Answers that weights are learned from, at the most: they teach a few dozen weights, and time grows with them.
_MOST = 60_000
# Odds beyond e^6 are taken for e^6: a few hundred rows cannot tell more.
_MOST_ODDS = 6.0


@part("kept")
@dataclass(frozen=True, eq=False)
class Kept:
    """How good each entity's answer is, whoever was asked: the candidates are those answers, and one of them is kept.

    A logistic model of the grade: the answer's own odds (`Telling`), moved by how much better or worse than expected
    the others' answers are said to be. Where they all doubt, the query is hard. A state's `plain` is what each
    candidate told itself, and `weighed` what the others told, each by its weight.

    Args:
        members: shape (|A|,), how much what each told says of the others' answers.
        sources: shape (3, 2), weights of a constant, of what an answer told itself, which others may have told already,
            and of the mean of what they told; of answers that are there, and of those that might be asked for.
    """

    members: Float[np.ndarray, " a"]
    sources: Float[np.ndarray, "s 2"]

    @classmethod
    def fit(cls, case: Case, truth: Float[np.ndarray, "n c"], masks: list[Bool[np.ndarray, "n a"]]) -> "Kept":
        """Return the weights under which the grades of past queries are likeliest, whoever was heard.

        Args:
            case: past queries, what was told out of fold.
            truth: shape (n, C), what each entity of the panel erred; NaN where nobody knows.
            masks: each (n, |A|), who is heard.
        """
        size = case.codes.shape[1]
        blank = cls(np.zeros(size), np.zeros((_SOURCES, 2)))
        known = ~np.isnan(truth)
        share = min(1.0, _MOST / max(1, len(masks) * int(known.sum())))
        parts: list[tuple[np.ndarray, ...]] = []
        for i, mask in enumerate(masks):
            state = blank.hear_all(case, mask)
            drawn = known & (np.random.default_rng(i).random(truth.shape) < share)
            # Of an answer without others nothing is learned here: it is believed as it is.
            row, place = np.nonzero(drawn & (state.answers[:, None] > state.support))
            sources = np.stack([each[row, place] for each in _sources(state)], axis=1)
            told = np.where(mask[row] & (case.codes[row] >= 0), case.evidence[row, :, place], np.float32(0.0))
            told = np.where(case.codes[row] == place[:, None], np.float32(0.0), told)
            there = state.support[row, place][:, None] > 0
            # However many of its answers are known, a query counts once.
            counts = np.bincount(row, minlength=len(case)).astype(np.float64)
            design = np.hstack([told, np.where(there, sources, 0.0), np.where(there, 0.0, sources)])
            own = (case.prior + state.plain)[row, place].astype(np.float64)
            weight = 1.0 / (counts[row] * len(masks))
            parts.append((design.astype(np.float64), 1.0 - truth[row, place], own, weight))
        start = np.zeros(size + 2 * _SOURCES)
        design, grades, own, weights = (np.concatenate([each[i] for each in parts]) for i in range(4))
        found = start
        if len(grades):
            found = likeliest(design, grades, start, ridge=_RIDGE, weights=weights, before=own)
        return cls(found[:size], np.ascontiguousarray(found[size:].reshape(2, _SOURCES).T))

    def only(self, entities: Int[np.ndarray, " b"]) -> "Kept":
        """Return the same of some of the entities."""
        return Kept(self.members[entities], self.sources)

    def nothing(self, case: Case, rows: Int[np.ndarray, " m"]) -> State:
        """Return the state before anybody is asked."""
        empty = np.zeros((len(rows), case.prior.shape[1]), dtype=np.float32)
        asked = np.zeros((len(rows), case.codes.shape[1]), dtype=bool)
        return State(rows, empty, empty, empty, asked, np.zeros(len(rows), dtype=np.intp))

    def hear(self, case: Case, state: State, entity: Int[np.ndarray, " n"] | int) -> State:
        """Return the state after one more entity is asked, the same for all queries or one for each."""
        n = len(state.rows)
        every, who = np.arange(n), np.broadcast_to(entity, n)
        said, told = case.codes[state.rows, who], case.evidence[state.rows, who]
        spoke = np.flatnonzero(said >= 0)
        own, support, asked = state.plain.copy(), state.support.copy(), state.asked.copy()
        others = told * self.members[who].astype(np.float32)[:, None]
        others[said < 0] = 0.0
        others[spoke, said[spoke]] = 0.0
        own[spoke, said[spoke]] = told[spoke, said[spoke]]
        support[spoke, said[spoke]] = 1.0
        asked[every, who] = True
        return State(state.rows, state.weighed + others, own, support, asked, state.answers + (said >= 0))

    def hear_all(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> State:
        """Return the state of every query after all of those were asked."""
        state = self.nothing(case, np.arange(len(case)))
        counted = asked & (case.codes >= 0)
        own, support, weighed = state.plain.copy(), state.support.copy(), state.weighed.copy()
        for j, weight in enumerate(self.members.astype(np.float32)):
            rows = np.flatnonzero(counted[:, j])
            place, told = case.codes[rows, j], case.evidence[rows, j]
            others = told * weight
            others[np.arange(len(rows)), place] = 0.0
            weighed[rows] += others
            own[rows, place] = told[np.arange(len(rows)), place]
            support[rows, place] = 1.0
        return State(state.rows, weighed, own, support, asked, counted.sum(axis=1))

    def probabilities(self, case: Case, state: State) -> Float32[np.ndarray, "n c"]:
        """Return the grade that is expected of each entity's answer, shape (n, C), asked or not."""
        own, there = case.prior[state.rows] + state.plain, state.support > 0
        moved = state.weighed
        for source, (here, awaited) in zip(_sources(state), self.sources.astype(np.float32), strict=True):
            moved = moved + source * np.where(there, here, awaited)
        odds = np.where(state.answers[:, None] > state.support, own + moved, own)
        odds = np.clip(odds, -_MOST_ODDS, _MOST_ODDS)
        return (1.0 / (1.0 + np.exp(-odds))).astype(np.float32)

    def summarise(self, case: Case, state: State) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
        """Return what the next question may depend on, shape (n, f), and the expected error of stopping, shape (n,).

        Before anybody is asked that is what the best is expected to err: what asking gains is told beside it.
        """
        expected = self.probabilities(case, state)
        among = sayable(case, state, expected)
        ranked = np.sort(among, axis=1)
        first, second = ranked[:, -1], ranked[:, -2] if ranked.shape[1] > 1 else np.zeros(len(among), np.float32)
        places = np.maximum(case.codes[state.rows], 0)
        awaited = np.take_along_axis(expected, places, axis=1)
        open_ = np.where(case.closed(state), np.float32(0.0), awaited)
        nobody = ~state.asked.any(axis=1)
        stop = 1 - np.where(nobody, open_.max(axis=1), first)
        answers = np.maximum(state.answers, 1)
        summary = np.column_stack(
            [
                first,
                second,
                np.log(np.maximum(first, 1e-3) / (1 - first + 1e-3)),
                open_.max(axis=1) - first,
                state.plain.sum(axis=1) / answers,
                state.plain[np.arange(len(among)), among.argmax(axis=1)],
                state.answers,
                state.asked,
                np.where(state.asked, 0.5, 1 - awaited),
                np.take_along_axis(case.prior[state.rows], places, axis=1).max(axis=1),
            ]
        ).astype(np.float32)
        return summary, stop.astype(np.float32)

    def loss(self, case: Case, state: State, truth: Float[np.ndarray, "n c"]) -> float:
        """Return what is lost by stopping here, in the mean of the rows where it is known.

        Half what the kept answer erred, half its square beside what was expected: it moves before the error does.
        """
        expected = self.probabilities(case, state)
        place = sayable(case, state, expected).argmax(axis=1)[:, None]
        thought = 1 - np.take_along_axis(expected, place, axis=1)[:, 0]
        came = np.take_along_axis(truth[state.rows], place, axis=1)[:, 0]
        came = np.where(state.support.any(axis=1), came, 1.0)
        known = ~np.isnan(came)
        if not known.any():
            return 1.0
        return float(0.5 * np.square(came - thought)[known].mean() + 0.5 * came[known].mean())

    def to_state(self) -> _parts.State:
        """Return the weights as arrays."""
        return _parts.State(arrays={"members": self.members, "sources": self.sources})

    @classmethod
    def from_state(cls, state: _parts.State) -> "Kept":
        """Return what `to_state` wrote."""
        return cls(*state.pick(members="a", sources=f"{_SOURCES} 2"))


def _sources(state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What moves the odds of each answer, each (n, C): a constant, what it told, and what the others told in mean."""
    told = state.plain
    others = np.maximum(state.answers[:, None] - state.support, 1.0)
    mean = (told.sum(axis=1, keepdims=True) - told) / others
    return np.ones_like(told), told, mean
