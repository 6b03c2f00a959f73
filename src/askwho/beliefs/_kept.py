"""How good each answer is after several told something: whichever is there may be kept."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from askwho import _parts
from askwho._parts import part
from askwho.beliefs._logistic import likeliest
from askwho.beliefs._pool import Case, State, sayable
from askwho.exceptions import InvalidInputError

# What moves an answer's own odds whoever gave it: a constant, what it told itself, and what the others told in mean.
_SOURCES = 3
# How strongly weights are drawn to nothing, by hand, in all and not a row: the more rows the less it holds them back.
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
    all answers are said to be. Where the others doubt the query is hard; and what an answer tells of itself may mean
    less, or the contrary, once another told something. A state's `plain` is what each candidate told.

    Args:
        sources: shape (2, 3), of answers that are there and of those that might be asked for: weights of a constant, of
            what the answer told itself, and of the mean of what the others told.
        links: shape (2, C, C), likewise, how much what [one] told moves [another's] odds beside that.
    """

    sources: Float[np.ndarray, "2 s"]
    links: Float[np.ndarray, "2 c c"]

    @classmethod
    def fit(cls, case: Case, truth: Float[np.ndarray, "n c"], masks: list[Bool[np.ndarray, "n a"]]) -> "Kept":
        """Return the weights under which the grades of past queries are likeliest, whoever was heard.

        Args:
            case: past queries, what was told out of fold.
            truth: shape (n, C), what each entity of the panel erred; NaN where nobody knows.
            masks: each (n, |A|), who is heard.
        """
        size, known = truth.shape[1], ~np.isnan(truth)
        blank = cls(np.zeros((2, _SOURCES)), np.zeros((2, size, size)))
        share = min(1.0, _MOST / max(1, len(masks) * int(known.sum())))
        parts: list[tuple[np.ndarray, ...]] = []
        for i, mask in enumerate(masks):
            state = blank.hear_all(case, mask)
            drawn = known & (np.random.default_rng(i).random(truth.shape) < share)
            # Of an answer without others nothing is learned here: it is believed as it is.
            row, place = np.nonzero(drawn & (state.answers[:, None] > state.support))
            # However many of its answers are known, a query counts once.
            weight = 1.0 / (np.bincount(row, minlength=len(case))[row] * len(masks))
            sources = np.stack([each[row, place] for each in _sources(state)], axis=1)
            odds, away = (case.prior + state.plain)[row, place], (state.support[row, place] == 0).astype(np.intp)
            parts.append((sources, state.plain[row], odds, 1.0 - truth[row, place], weight, place, away))
        sources, told, odds, grades, weight, place, away = (np.concatenate(each) for each in zip(*parts, strict=True))
        sources, told, odds = (each.astype(np.float64) for each in (sources, told, odds))
        for status in range(2):
            rows = np.flatnonzero(away == status)
            common = likeliest(
                sources[rows], grades[rows], np.zeros(_SOURCES), ridge=_RIDGE, weights=weight[rows], before=odds[rows]
            )
            blank.sources[status], moved = common, odds + sources @ common
            for j in range(size):
                some = rows[place[rows] == j]
                blank.links[status, :, j] = likeliest(
                    told[some], grades[some], np.zeros(size), ridge=_RIDGE, weights=weight[some], before=moved[some]
                )
        return blank

    @property
    def unit(self) -> float:
        """What an error of 1 is here: a grade of 0."""
        return 1.0

    def check(self, entities: Int[np.ndarray, " e"]) -> None:
        """Raise where one of those is none of the candidates."""
        if (entities >= self.links.shape[1]).any():
            raise InvalidInputError("`links` must be of everybody who is asked in turn: the artefact is damaged.")

    def only(self, entities: Int[np.ndarray, " b"]) -> "Kept":
        """Return the same of some of the entities: whoever is not heard moves nothing."""
        del entities
        return self

    def without(self, j: int) -> "Kept":
        """Return the same of a panel without entity j."""
        kept = np.delete(np.arange(self.links.shape[1]), j)
        return Kept(self.sources, self.links[:, kept][:, :, kept])

    def nothing(self, case: Case, rows: Int[np.ndarray, " m"]) -> State:
        """Return the state before anybody is asked."""
        empty = np.zeros((len(rows), case.prior.shape[1]), dtype=np.float32)
        asked = np.zeros((len(rows), case.codes.shape[1]), dtype=bool)
        return State(rows, empty, empty, empty, asked, np.zeros(len(rows), dtype=np.intp))

    def hear(self, case: Case, state: State, entity: Int[np.ndarray, " n"] | int) -> State:
        """Return the state after one more entity is asked, the same for all queries or one for each."""
        n = len(state.rows)
        who = np.broadcast_to(entity, n)
        said = case.codes[state.rows, who]
        told, support, asked = state.plain.copy(), state.support.copy(), state.asked.copy()
        spoke = np.flatnonzero(said >= 0)
        place = said[spoke]
        told[spoke, place] = case.evidence[state.rows[spoke], who[spoke], place]
        support[spoke, place] = 1.0
        asked[np.arange(n), who] = True
        return State(state.rows, state.weighed, told, support, asked, state.answers + (said >= 0))

    def hear_all(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> State:
        """Return the state of every query after all of those were asked."""
        state = self.nothing(case, np.arange(len(case)))
        told, support = state.plain.copy(), state.support.copy()
        row, who = np.nonzero(asked & (case.codes >= 0))
        place = case.codes[row, who]
        told[row, place] = case.evidence[row, who, place]
        support[row, place] = 1.0
        return State(state.rows, state.weighed, told, support, asked, (asked & (case.codes >= 0)).sum(axis=1))

    def probabilities(self, case: Case, state: State) -> Float32[np.ndarray, "n c"]:
        """Return the grade that is expected of each entity's answer, shape (n, C), asked or not."""
        own = case.prior[state.rows] + state.plain
        # Whoever came later moves nobody, and is moved by what moves all.
        known = self.links.shape[1]
        moved = np.einsum("ts,snc->tnc", self.sources.astype(np.float32), np.stack(_sources(state)))
        moved[:, :, :known] += state.plain[:, :known] @ self.links.astype(np.float32)
        status = np.where(state.support > 0, *moved)
        odds = own + np.where(state.answers[:, None] > state.support, status, np.float32(0.0))
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
        return _parts.State(arrays={"sources": self.sources, "links": self.links})

    @classmethod
    def from_state(cls, state: _parts.State) -> "Kept":
        """Return what `to_state` wrote."""
        return cls(*state.pick(sources=f"2 {_SOURCES}", links="2 c c"))


def _sources(state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What moves the odds of each answer, each (n, C): a constant, what it told, and what the others told in mean."""
    told = state.plain
    others = np.maximum(state.answers[:, None] - state.support, 1.0)
    mean = (told.sum(axis=1, keepdims=True) - told) / others
    return np.ones_like(told), told, mean
