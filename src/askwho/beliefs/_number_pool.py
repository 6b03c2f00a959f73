"""Answers that are numbers: what several say together, and how far off that may be."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped

from askwho import _parts
from askwho import _validation as check
from askwho._parts import part
from askwho.core import elementwise_error, error_function, quantile_of, unit_of
from askwho.exceptions import InvalidInputError

# What is expected of a member counts as this share of the panel's mean at the least, by hand: no weight is infinite.
_FLOOR = 1e-3
# Answers that agree are apart by this share of what is expected of their authors, by hand: no logarithm is of nothing.
_APART = 0.05
# Parts of the scale: a constant, of the members together, of one in the mean, how many, whether several, how far apart.
_PARTS = 6
# Where their weights begin and are drawn to, by hand: as far off as those who answered are expected to be.
_STARTS = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
# How strongly, by hand, in all and not a row: the more rows there are the less it holds them back.
_RIDGE = 3.0
# Residuals are kept at so many quantiles, in parts of their scale: enough for the mean of an error over them.
_QUANTILES = 101
# A member's own quantile is learned from so many answers at the least.
_FEWEST = 20
# Errors in the summary are cut off at so many times the panel's mean: beyond it a line would follow a few rows.
_FAR = 20.0


@dataclass(frozen=True, eq=False)
class NumberState:
    """Who was asked about some queries.

    Args:
        rows: shape (n,), which queries.
        asked: shape (n, |A|).
    """

    rows: Int[np.ndarray, " n"]
    asked: Bool[np.ndarray, "n a"]

    def some(self, chosen: Int[np.ndarray, " m"]) -> "NumberState":
        """Return the state of some of the queries."""
        return NumberState(self.rows[chosen], self.asked[chosen])


@dataclass(frozen=True, eq=False)
class NumberCase:
    """Queries with every number that can be heard about them.

    Args:
        values: shape (n, |A|), 0 where there is no answer.
        spoke: shape (n, |A|), whether there is one.
        expected: shape (n, |A|), expected errors before asking.
        there: shape (n, |A|), who may be asked; None where everybody may.
    """

    values: Float[np.ndarray, "n a"]
    spoke: Bool[np.ndarray, "n a"]
    expected: Float[np.ndarray, "n a"]
    there: Bool[np.ndarray, "n a"] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def costs(self) -> None:
        """Numbers have no mistakes to be told apart."""
        return

    def closed(self, state: NumberState) -> Bool[np.ndarray, "n a"]:
        """Return who cannot be asked any more, shape (n, |A|): asked already, or not there."""
        return state.asked if self.there is None else state.asked | ~self.there[state.rows]

    def rows(self, chosen: Int[np.ndarray, " m"]) -> "NumberCase":
        """Return the case of some of the queries."""
        there = None if self.there is None else self.there[chosen]
        return NumberCase(self.values[chosen], self.spoke[chosen], self.expected[chosen], there)

    def only(self, entities: Int[np.ndarray, " b"]) -> "NumberCase":
        """Return the case of some of the entities."""
        there = None if self.there is None else self.there[:, entities]
        return NumberCase(self.values[:, entities], self.spoke[:, entities], self.expected[:, entities], there)


@part("number-pool")
@dataclass(frozen=True, eq=False)
class NumberPool:
    """The mean of answers, weighed by what is expected of their authors, and how far off it may be.

    Weights are inverse squares of how far off each is expected to be (Bates and Granger 1969). The scale of what is
    left is learned: its logarithm is a line in what is expected of who answered and of everybody, in how many they
    are, and in how far they are apart, fitted by the likelihood of Laplace's law. In parts of that scale what is left
    is taken to be the same for all queries: its quantiles say what an error is expected to be, and for a pinball loss
    how far the verdict must be moved.

    Args:
        members: shape (|A|,), how far each one's own answer is moved, in parts of how far off it may be: to its
            quantile for a pinball loss, to its median for absolute errors, and not at all for others.
        levels: shape (|A|,), the logarithm of how far off each is where as much is expected of it as of the panel.
        slope: how much of what is expected of a member beyond that is borne out, as a power.
        weights: shape (6,), of the parts of the scale.
        residuals: shape (2, 101), quantiles of what is left, in parts of the scale, rising: where one answered, and
            where several did.
        level: shape (2,), what errors come to beside what those quantiles say.
        unit: the panel's mean error: errors are told in it here.
        error: how answers are scored, by name.
    """

    members: Float[np.ndarray, " a"]
    levels: Float[np.ndarray, " a"]
    slope: float
    weights: Float[np.ndarray, " p"]
    residuals: Float[np.ndarray, "2 q"]
    level: Float[np.ndarray, " 2"]
    unit: float
    error: str

    @classmethod
    def fit(
        cls, case: NumberCase, truth: Float[np.ndarray, " n"], masks: list[Bool[np.ndarray, "n a"]], error: str
    ) -> "NumberPool":
        """Return the pool that past answers teach, whoever was heard.

        Args:
            case: past queries, what is expected out of fold.
            truth: shape (n,).
            masks: each (n, |A|), who is heard.
            error: how answers are scored, by name.
        """
        known = case.expected[case.spoke]
        unit = max(float(known.mean()), 1e-300) if known.size else 1.0
        size = case.values.shape[1]
        nothing = np.zeros(size)
        blank = cls(nothing, nothing, 1.0, np.array(_STARTS), np.zeros((2, _QUANTILES)), np.ones(2), unit, error)
        levels, slope = _own(
            np.log(blank.own(case.expected) / blank.root), truth[:, None] - case.values, case.spoke, blank.root
        )
        blank = replace(blank, levels=levels, slope=slope)
        quantile, own = quantile_of(error_function(error)), blank.own(case.expected)
        if quantile is not None:
            apart = (truth[:, None] - case.values) / own
            heard = [apart[case.spoke[:, j], j] for j in range(size)]
            moved = [float(np.quantile(each, quantile)) if len(each) >= _FEWEST else 0.0 for each in heard]
            blank = replace(blank, members=np.array(moved))
        states = [blank.hear_all(case, mask) for mask in masks]
        several = [np.flatnonzero((mask & case.spoke).any(axis=1)) for mask in masks]
        drawn = [state.some(rows) for state, rows in zip(states, several, strict=True) if rows.size]
        if not drawn:
            return blank
        found = [blank.centre(case, state) for state in drawn]
        left = np.concatenate([truth[state.rows] - centre for state, (centre, _) in zip(drawn, found, strict=True)])
        parts = np.concatenate([inputs for _, inputs in found])
        fitted = replace(blank, weights=_likeliest(parts, np.abs(left) / blank.root, blank.weights))
        scale, several = fitted.scale(parts), _several(parts)
        ratio = left / scale
        kinds = [several == one if (several == one).any() else several >= 0 for one in (0, 1)]
        fitted = replace(fitted, residuals=np.stack([np.quantile(ratio[kind], _levels()) for kind in kinds]))
        # A mean over quantiles misses part of a long tail: what it comes to is told by the rows themselves.
        came = elementwise_error(fitted.shift[several] * scale, left, error)
        hoped = fitted.expected_errors(parts)
        level = [float(came[kind].sum() / hoped[kind].sum()) if hoped[kind].any() else 1.0 for kind in kinds]
        return replace(fitted, level=np.array(level))

    @property
    def size(self) -> int:
        """How many entities it knows."""
        return len(self.members)

    @property
    def root(self) -> float:
        """How far off the panel is in the mean, in the unit of the truth."""
        return unit_of(self.error, "regression").shown(self.unit)

    @property
    def shift(self) -> Float[np.ndarray, " 2"]:
        """How far a verdict of one, and of several, is moved from the mean, in parts of its scale, shape (2,)."""
        quantile = quantile_of(error_function(self.error))
        return (
            np.zeros(2) if quantile is None else np.array([np.interp(quantile, _levels(), x) for x in self.residuals])
        )

    def check(self, entities: Int[np.ndarray, " e"]) -> None:
        """Raise where there is not one member for each of those."""
        check.same_shape(self.members, "members", entities.shape, "one for each entity that is asked in turn")

    def without(self, j: int) -> "NumberPool":
        """Return the same of a panel without entity j, who is no member."""
        del j
        return self

    def only(self, entities: Int[np.ndarray, " b"]) -> "NumberPool":
        """Return the pool of some of the entities."""
        return replace(self, members=self.members[entities], levels=self.levels[entities])

    def own(self, expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "n a"]:
        """Return how far off each may be, shape (n, |A|), in the unit of the truth."""
        shown = unit_of(self.error, "regression").all_shown(np.maximum(expected, _FLOOR * self.unit))
        return self.root * np.exp(self.levels + self.slope * np.log(shown / self.root))

    def nothing(self, case: NumberCase, rows: Int[np.ndarray, " m"]) -> NumberState:
        """Return the state before anybody is asked."""
        return NumberState(rows, np.zeros((len(rows), case.values.shape[1]), dtype=bool))

    def hear(self, case: NumberCase, state: NumberState, entity: Int[np.ndarray, " n"] | int) -> NumberState:  # noqa: ARG002 - as every pool
        """Return the state after one more entity is asked, the same for all queries or one for each."""
        asked = state.asked.copy()
        asked[np.arange(len(asked)), np.broadcast_to(entity, len(asked))] = True
        return NumberState(state.rows, asked)

    def hear_all(self, case: NumberCase, asked: Bool[np.ndarray, "n a"]) -> NumberState:
        """Return the state of every query after all of those were asked."""
        return NumberState(np.arange(len(case)), asked)

    def probabilities(self, case: NumberCase, state: NumberState) -> Float[np.ndarray, "n 3"]:
        """Return what is believed, shape (n, 3): the verdict, how far off it may be, and what it is expected to err.

        The verdict is NaN where nobody spoke.
        """
        centre, parts = self.centre(case, state)
        scale = self.scale(parts)
        moved = self.shift[_several(parts)] * scale
        return np.column_stack([centre + moved, scale, self.expected_errors(parts)])

    def scale(self, parts: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
        """Return how far off verdicts may be, shape (n,)."""
        return self.root * np.exp(np.clip(parts @ self.weights, -_FAR, _FAR))

    def expected_errors(self, parts: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
        """Return the expected errors of verdicts whose scales have these parts, shape (n,)."""
        scale, several = self.scale(parts)[:, None], _several(parts)
        left = scale * self.residuals[several]
        said = np.broadcast_to(self.shift[several][:, None] * scale, left.shape)
        return self.level[several] * error_function(self.error)(said, left).mean(axis=1)

    def centre(self, case: NumberCase, state: NumberState) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n p"]]:
        """Return the weighed mean of what was heard, shape (n,), NaN where nothing was; and the parts of its scale."""
        rows = state.rows
        heard, every = state.asked & case.spoke[rows], self.own(case.expected[rows])
        said = case.values[rows] + self.members * every
        count = heard.sum(axis=1)
        share = np.where(heard, 1.0 / np.square(every), 0.0)
        total = share.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = (share * said).sum(axis=1) / total
            apart = np.sqrt((share * np.square(said - centre[:, None])).sum(axis=1) / total)
        together = 1.0 / np.sqrt(np.where(count > 0, total, 1.0 / np.square(self.root)))
        # Of those alone who were heard: decisions that are read back know nothing of others.
        mean = np.where(heard, np.log(every / self.root), 0.0).sum(axis=1) / np.maximum(count, 1)
        usual = self.root * np.exp(mean)
        several = count > 1
        parts = np.column_stack(
            [
                np.ones(len(rows)),
                np.log(together / self.root),
                mean,
                np.log(np.maximum(count, 1)),
                several,
                np.where(several, np.log(np.where(several, apart, usual) / usual + _APART), 0.0),
            ]
        )
        return centre, parts

    def summarise(
        self, case: NumberCase, state: NumberState
    ) -> tuple[Float32[np.ndarray, "n f"], Float32[np.ndarray, " n"]]:
        """Return what the next question may depend on, shape (n, f), and the expected error of stopping, shape (n,).

        Errors are told in the unit of the pool.
        """
        _, parts = self.centre(case, state)
        stop = np.minimum(self.expected_errors(parts) / self.unit, 1.0 / _FLOOR)
        awaited = np.minimum(case.expected[state.rows] / self.unit, _FAR)
        summary = np.column_stack(
            [
                np.minimum(stop, _FAR),
                np.log(np.maximum(stop, 1e-6)),
                parts[:, [1, 3, 4, 5]],
                (state.asked & case.spoke[state.rows]).sum(axis=1),
                state.asked,
                np.where(state.asked, 0.5, awaited),
                parts[:, 2],
            ]
        ).astype(np.float32)
        return summary, stop.astype(np.float32)

    def loss(self, case: NumberCase, state: NumberState, truth: Shaped[np.ndarray, " n"]) -> float:
        """Return what verdicts err in the mean, in the unit of the pool; who is not heard is as bad as the worst.

        The truth is of shape (n,).
        """
        said, truth = self.probabilities(case, state)[:, 0], truth.astype(np.float64)
        known = ~np.isnan(said)
        errors = elementwise_error(np.where(known, said, truth), truth, self.error)
        return float(np.where(known, errors, errors.max(initial=self.unit)).mean()) / self.unit

    def to_state(self) -> _parts.State:
        """Return the pool as arrays and numbers."""
        plain = {"slope": self.slope, "unit": self.unit, "error": self.error}
        arrays = {"members": self.members, "levels": self.levels}
        arrays |= {"weights": self.weights, "residuals": self.residuals, "level": self.level}
        return _parts.State(plain=plain, arrays=arrays)

    @classmethod
    def from_state(cls, state: _parts.State) -> "NumberPool":
        """Return the pool that `to_state` wrote."""
        members, levels, weights, residuals, level = state.pick(
            members="a", levels="a", weights=str(_PARTS), residuals=f"2 {_QUANTILES}", level="2"
        )
        unit = check.finite_number(state.plain["unit"], "unit", minimum=0.0)
        slope = check.finite_number(state.plain["slope"], "slope")
        error_function(state.plain["error"])
        if not unit > 0.0 or (np.diff(residuals, axis=1) < 0).any():
            raise InvalidInputError("`residuals` must rise and `unit` be above 0, got others: the artefact is damaged.")
        return cls(members, levels, slope, weights, residuals, level, unit, state.plain["error"])


def _several(parts: Float[np.ndarray, "n p"]) -> Int[np.ndarray, " n"]:
    """Whether several answered, as a place: the fifth part says it."""
    return parts[:, 4].astype(np.intp)


def _levels() -> Float[np.ndarray, " q"]:
    return (np.arange(_QUANTILES) + 0.5) / _QUANTILES


def _own(
    shown: Float[np.ndarray, "n a"], left: Float[np.ndarray, "n a"], spoke: Bool[np.ndarray, "n a"], root: float
) -> tuple[Float[np.ndarray, " a"], float]:
    """The level of each member, and the power of what is expected of it, shown as a logarithm, beside that."""
    size = shown.shape[1]
    row, entity = np.nonzero(spoke)
    parts = np.zeros((len(row), size + 2))
    parts[np.arange(len(row)), entity] = 1.0
    # What all share, so that the ridge draws members to each other, and what is expected.
    parts[:, size], parts[:, size + 1] = 1.0, shown[row, entity]
    found = _likeliest(parts, np.abs(left[row, entity]) / root, np.concatenate([np.zeros(size + 1), [1.0]]))
    return found[:size] + found[size], float(found[size + 1])


def _likeliest(
    parts: Float[np.ndarray, "m p"], left: Float[np.ndarray, " m"], start: Float[np.ndarray, " p"]
) -> Float[np.ndarray, " p"]:
    """The weights under which what is left is likeliest by Laplace's law, drawn towards where they start: convex."""
    n = max(1, len(left))

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        log_scale = np.clip(parts @ weights, -_FAR, _FAR)
        ratio = left * np.exp(-log_scale)
        away = weights - start
        slope = parts.T @ (1.0 - ratio) / n + 2 * _RIDGE / n * away
        return float((log_scale + ratio).mean() + _RIDGE / n * (away @ away)), slope

    from scipy.optimize import minimize  # noqa: PLC0415 - to learn alone: it takes long to import

    solved: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(solved.x)
