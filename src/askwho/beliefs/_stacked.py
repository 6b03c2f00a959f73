"""What is believed after some have answered, for a small panel: a model of its own for every set of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from askwho import _parts
from askwho._parts import part
from askwho.beliefs._evidence import spread_of
from askwho.beliefs._logistic import likeliest_classes
from askwho.beliefs._narrow import largest, total
from askwho.beliefs._pool import Case, Pool, expected_costs
from askwho.beliefs._pooled import numbers_of
from askwho.exceptions import InvalidInputError

MOST_MEMBERS = 6
"""Members at the most: there are 2^6 sets of six, and each is one more model to learn."""
# What the square of a weight costs, by hand, in all and not a row. Held-out folds would choose it badly: rows that a
# model learns from heard a base that had seen the row to be judged, so that features seem to mislead.
_RIDGE = 50.0
# Blocks of inputs that a member brings, one column a class each: the evidence of its answer, the answer, and the answer
# times what came back with it.
_BLOCKS = 3
# The least probability that is looked at in logarithms, or one sure mistake would outweigh all else.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False)
class Told:
    """Who was asked about some queries: all that a model for every set needs to know.

    Args:
        rows: shape (n,), which queries.
        asked: shape (n, |A|).
    """

    rows: Int[np.ndarray, " n"]
    asked: Bool[np.ndarray, "n a"]

    @classmethod
    def of(cls, members: Sequence[int], rows: Int[np.ndarray, " n"], size: int) -> "Told":
        """Return the state of queries of which the same members of so many were asked."""
        return cls(rows, np.tile(np.isin(np.arange(size), list(members)), (len(rows), 1)))

    def some(self, chosen: Int[np.ndarray, " m"]) -> "Told":
        """Return the state of some of the queries."""
        return Told(self.rows[chosen], self.asked[chosen])


@part("stacked")
@dataclass(frozen=True, eq=False)
class Stacked:
    """A logistic model of the right class for each set of members that may have been asked.

    Stacked generalisation (Wolpert 1992): what is known before asking, the prior, and of each member of the set the
    evidence of its answer, the answer itself, and what came back with it. Each model moves what the pool believes, and
    is drawn to moving nothing: with few rows the pool is left, with many no rule of how members repeat each other.

    Args:
        pool: what is believed of each set before it is moved.
        centre: shape (d,), of what is known before asking.
        scale: shape (d,), likewise.
        told: shape (2, |A|), centre and scale of what comes back with answers.
        weights: shape (2^|A|, f, C), of each set's inputs; 0 for members that are not in it.
    """

    pool: Pool
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    told: Float[np.ndarray, "2 a"]
    weights: Float32[np.ndarray, "s f c"]

    @classmethod
    def fit(cls, pool: Pool, case: Case, truth: Int[np.ndarray, " n"]) -> "Stacked":
        """Return the models under which the truths of past queries are likeliest.

        Args:
            pool: of the same entities.
            case: past queries, their prior and evidence out of fold, with everybody's answer.
            truth: shape (n,), as indices into the classes.
        """
        size, classes = case.codes.shape[1], len(case.labels)
        blank = _blank(pool, case)
        inputs = blank.inputs(case, np.arange(len(case)))
        weights = np.zeros((2**size, inputs.shape[1], classes))
        for members in sets_of(size):
            columns = _columns(members, inputs.shape[1], size, classes)
            # The last one's model is where the search begins: a member more changes little of what others say.
            start = weights[number_of(members[:-1])][columns]
            weights[number_of(members), columns] = likeliest_classes(
                np.ascontiguousarray(inputs[:, columns]),
                truth,
                start,
                ridge=_RIDGE,
                before=_before(pool, case, Told.of(members, np.arange(len(case)), size)),
            )
        return cls(pool, blank.centre, blank.scale, blank.told, weights.astype(np.float32))

    @property
    def size(self) -> int:
        """How many entities it knows."""
        return self.told.shape[1]

    @property
    def unit(self) -> float:
        """What an error of 1 is here: a wrong answer."""
        return 1.0

    def check(self, entities: Int[np.ndarray, " e"]) -> None:
        """Raise where there is not one member for each of those."""
        if len(entities) != self.size:
            raise InvalidInputError(
                f"`weights` must be of the {len(entities)} entities that are asked in turn, got {self.size}: the "
                "artefact is damaged."
            )

    def without(self, j: int) -> "Stacked":
        """Return the same of a panel without entity j, who is no member: the candidates are classes."""
        del j
        return self

    def only(self, entities: Int[np.ndarray, " b"]) -> "Stacked":
        """Return the models of some of the entities."""
        kept = entities.tolist()
        sets = np.zeros(2 ** len(kept), dtype=np.intp)
        for members in sets_of(len(kept)):
            sets[number_of(members)] = number_of([kept[place] for place in members])
        columns = _columns(kept, self.weights.shape[1], self.size, self.weights.shape[2])
        return Stacked(
            self.pool.only(entities), self.centre, self.scale, self.told[:, kept], self.weights[sets][:, columns]
        )

    def laid_out(self, case: Case) -> Case:
        """Return the case with what each model adds, for whoever comes back to the same queries many times."""
        sets, width, classes = self.weights.shape
        # One product for all models, which takes less than taking each query's inputs for each of its states.
        every = self.weights.transpose(1, 0, 2).reshape(width, sets * classes)
        moved = self.inputs(case, np.arange(len(case))) @ every
        return replace(case, moved=moved.reshape(len(case), sets, classes))

    def nothing(self, case: Case, rows: Int[np.ndarray, " m"]) -> Told:
        """Return the state before anybody is asked."""
        return Told(rows, np.zeros((len(rows), case.codes.shape[1]), dtype=bool))

    def hear(self, case: Case, state: Told, entity: Int[np.ndarray, " n"] | int) -> Told:
        """Return the state after one more entity is asked, the same for all queries or one for each."""
        del case
        asked = state.asked.copy()
        asked[np.arange(len(asked)), np.broadcast_to(entity, len(asked))] = True
        return Told(state.rows, asked)

    def hear_all(self, case: Case, asked: Bool[np.ndarray, "n a"]) -> Told:
        """Return the state of every query after all of those were asked."""
        return Told(np.arange(len(case)), asked)

    def probabilities(self, case: Case, state: Told) -> Float32[np.ndarray, "n c"]:
        """Return what is believed, shape (n, C): 0 of a candidate that training never saw."""
        classes = self.weights.shape[2]
        scores = self._moved(case, state) + _before(self.pool, case, state)[:, :classes]
        scores -= largest(scores)
        shares = np.exp(scores, out=scores)
        believed = shares / total(shares)
        unseen = case.prior.shape[1] - classes
        return np.pad(believed, ((0, 0), (0, unseen))) if unseen else believed

    def _moved(self, case: Case, state: Told) -> Float32[np.ndarray, "n c"]:
        """What the models of the sets that were asked add to what the pool believes, in logarithms."""
        numbers = numbers_of(state.asked)
        if case.moved is not None:
            n, sets, classes = case.moved.shape
            return case.moved.reshape(n * sets, classes).take(state.rows * sets + numbers, axis=0)
        inputs = self.inputs(case, state.rows)
        found = np.empty((len(inputs), self.weights.shape[2]), dtype=np.float32)
        for number in np.unique(numbers):
            rows = np.flatnonzero(numbers == number)
            found[rows] = inputs[rows] @ self.weights[number]
        return found

    def summarise(self, case: Case, state: Told) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
        """Return what the next question may depend on, shape (n, f), and the expected error of stopping, shape (n,)."""
        classes = self.weights.shape[2]
        costs = None if case.costs is None else case.costs[:classes, :classes]
        return summary_of(self.probabilities(case, state)[:, :classes], costs)

    def loss(self, case: Case, state: Told, truth: Int[np.ndarray, " n"]) -> float:
        """Return the error of stopping here; `truth` are places among the candidates, shape (n,)."""
        believed, true = self.probabilities(case, state), truth[state.rows]
        if case.costs is not None:
            return float(case.costs[true, expected_costs(case.costs, believed).argmin(axis=1)].mean())
        return float((believed.argmax(axis=1) != true).mean())

    def inputs(self, case: Case, rows: Int[np.ndarray, " m"]) -> Float32[np.ndarray, "m f"]:
        """Return what the models take, shape (m, f), everybody's answer among it and a constant at the end."""
        classes, n = self.weights.shape[2], len(rows)
        known = np.zeros((n, len(self.centre)))
        if len(self.centre) and case.known is not None and case.known.shape[1]:
            # Of decisions that were read back nothing is known any more: they are as all are in the mean.
            known = (case.known[rows] - self.centre) / self.scale
        info = np.zeros((n, self.size)) if case.info is None else (case.info[rows] - self.told[0]) / self.told[1]
        said = (case.codes[rows][:, :, None] == np.arange(classes)).astype(np.float32)
        members = np.empty((n, self.size, _BLOCKS, classes), dtype=np.float32)
        members[:, :, 0] = case.evidence[rows][:, :, :classes]
        members[:, :, 1] = said
        members[:, :, 2] = said * np.where(np.isfinite(info), info, 0.0)[:, :, None]
        return np.concatenate(
            [known, case.prior[rows][:, :classes], members.reshape(n, -1), np.ones((n, 1))], axis=1, dtype=np.float32
        )

    def to_state(self) -> _parts.State:
        """Return the models as arrays."""
        arrays = {"centre": self.centre, "scale": self.scale, "told": self.told, "weights": self.weights}
        return _parts.State(arrays=arrays).hold(pool=self.pool)

    @classmethod
    def from_state(cls, state: _parts.State) -> "Stacked":
        """Return what `to_state` wrote."""
        centre, scale, told, weights = state.pick(centre="d", scale="d", told="2 a", weights="s f c")
        (sets, width, classes), size = weights.shape, told.shape[1]
        if sets != 2**size or width != len(centre) + classes * (1 + _BLOCKS * size) + 1:
            raise InvalidInputError("`weights` must be of every set of members, got others: the artefact is damaged.")
        pool = state.need("pool")
        pool.check(np.arange(size))
        return cls(pool, centre, scale, told, weights)


def summary_of(
    believed: Float32[np.ndarray, "n c"], costs: Float32[np.ndarray, "c c"] | None = None
) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
    """Return a belief as the next question may depend on it, shape (n, f), and the expected error of stopping, (n,).

    Args:
        believed: shape (n, C).
        costs: shape (C, C), what it costs to say [said] where [truth] is true; None where all mistakes are alike.
    """
    if costs is not None:
        risks, most = expected_costs(costs, believed), np.float32(costs.max() or 1.0)
        ranked = np.partition(risks, 1, axis=1) / most
        least, second = ranked[:, 0], ranked[:, 1]
        summary = [np.log(least + 1e-4), np.log(second + 1e-4), np.log((least + 1e-4) / (second + 1e-4)), least]
        summary += [-(believed * np.log(believed + _LEAST)).sum(axis=1), np.log(believed + np.float32(1e-4)), believed]
        return np.column_stack(summary).astype(np.float32), least * most
    ranked = np.partition(believed, -2, axis=1)
    first, second = ranked[:, -1], ranked[:, -2]
    summary = np.column_stack(
        [
            first,
            second,
            np.log(np.maximum(first, 1e-3) / (1 - first + 1e-3)),
            np.log((first + 1e-4) / (second + 1e-4)),
            -total(believed * np.log(believed + _LEAST))[:, 0],
            believed,
        ]
    )
    return summary.astype(np.float32), 1 - first


def of_every_set(models: Stacked, case: Case) -> Float32[np.ndarray, "s n c"]:
    """Return what is believed after every set of the case's entities, shape (2^e, n, C), of the classes alone."""
    size, rows = case.codes.shape[1], np.arange(len(case))
    laid_out = models.laid_out(case)
    found = np.empty((2**size, len(case), models.weights.shape[2]), dtype=np.float32)
    for members in sets_of(size):
        found[number_of(members)] = models.probabilities(laid_out, Told.of(members, rows, size))[:, : found.shape[2]]
    return found


def sets_of(size: int) -> list[tuple[int, ...]]:
    """Return every set of so many members, the smaller ones first."""
    return [members for count in range(size + 1) for members in combinations(range(size), count)]


def number_of(members: Sequence[int]) -> int:
    """Return the number of a set, as `numbers_of` has it."""
    return sum(1 << j for j in members)


def _before(pool: Pool, case: Case, state: Told) -> Float32[np.ndarray, "n c"]:
    """What the pool believes of each candidate, in logarithms, shape (n, C)."""
    return np.log(np.maximum(pool.after(case, state.rows, state.asked), np.float32(_LEAST)))


def _blank(pool: Pool, case: Case) -> Stacked:
    """Models that know the spread of their inputs, and nothing else."""
    size, classes = case.codes.shape[1], len(case.labels)
    known = np.zeros((len(case), 0)) if case.known is None else case.known.astype(np.float64)
    deviation = known.std(axis=0)
    told = np.tile([[0.0], [1.0]], (1, size)) if case.info is None else np.stack(spread_of(case.info)[:2])
    width = known.shape[1] + classes * (1 + _BLOCKS * size) + 1
    return Stacked(
        pool,
        known.mean(axis=0),
        # What never changes has no spread but that of rounding.
        np.where(deviation > 1e-9, deviation, 1.0),
        told,
        np.zeros((2**size, width, classes), dtype=np.float32),
    )


def _columns(members: Sequence[int], width: int, size: int, classes: int) -> Int[np.ndarray, " f"]:
    """Which inputs the model of a set takes, shape (f,)."""
    block, before = _BLOCKS * classes, width - 1 - _BLOCKS * classes * size
    own = [before + j * block + np.arange(block) for j in members]
    return np.concatenate([np.arange(before), *own, [width - 1]]).astype(np.intp)
