"""What each mistake costs: an error of classes whose mistakes are not all alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho.core._answers import family
from askwho.exceptions import InvalidInputError

CostMapping = Mapping[Any, Mapping[Any, float]]
"""From the truth to what was said to its cost; a pair that is not named costs 1, and nothing where it is right."""
# What a mistake costs that nobody has named: as much as any does where nothing is said.
_OTHERWISE = 1.0
# Whoever cannot be asked is a billion away: what a mistake costs must stay well below.
_MOST = 1e6
# How a log's true and false are written where they are numbers.
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, eq=False)
class CostMatrix:
    """A task error ψ: what it costs to say one class where another is true (Elkan 2001).

    A right answer costs nothing; a mistake that is not named costs 1. An answer that cannot be used costs what the
    worst mistake costs that is named of that truth.

    Args:
        classes: shape (C,), every class that is named, sorted, as texts.
        table: shape (C, C), a row a truth, a column for what was said.

    >>> costs = CostMatrix.of({"fraud": {"fine": 20}})
    >>> costs(np.array(["fine", "fraud", "fraud"]), np.array(["fraud", "fraud", "fine"]))
    array([20.,  0.,  1.])
    """

    classes: tuple[str, ...]
    table: Float[np.ndarray, "c c"]

    @classmethod
    def of(cls, costs: Any, name: str = "error") -> "CostMatrix":  # noqa: ANN401 - it says what is wrong with it
        """Return the matrix of a mapping, or say what is wrong with it.

        Args:
            costs: as in `CostMapping`; classes that are numbers may be numbers or texts.
            name: what a message calls it.
        """
        if not isinstance(costs, Mapping) or not costs or not all(isinstance(row, Mapping) for row in costs.values()):
            raise InvalidInputError(
                f"`{name}` must be a name, or map each truth to what it costs to say each other class, "
                f"{{'fraud': {{'fine': 20}}}}, got {costs!r}."
            )
        pairs: dict[tuple[str, str], float] = {}
        for truth, row in costs.items():
            for said, cost in row.items():
                pair = (str(truth), str(said))
                if pair in pairs:
                    raise InvalidInputError(f"`{name}` must name each mistake once, got {pair} twice.")
                pairs[pair] = _cost(cost, pair, name)
        classes = sorted({each for pair in pairs for each in pair} | {str(truth) for truth in costs})
        place = {each: i for i, each in enumerate(classes)}
        table = _OTHERWISE * (1.0 - np.eye(len(classes)))
        for (truth, said), cost in pairs.items():
            table[place[truth], place[said]] = cost
        return cls(tuple(classes), table)

    @classmethod
    def on(cls, classes: Shaped[np.ndarray, " c"], table: Float[np.ndarray, "c c"]) -> "CostMatrix":
        """Return the matrix of classes as a log has them, and a table of what each mistake costs."""
        names = [str(value) for value in classes.tolist()]
        return cls.of({t: dict(zip(names, row.tolist(), strict=True)) for t, row in zip(names, table, strict=True)})

    @property
    def most(self) -> float:
        """The most that a mistake can cost, one that nobody has named among them."""
        return max(float(self.table.max()), _OTHERWISE)

    @property
    def alike(self) -> bool:
        """Whether every mistake costs 1: the zero-one error."""
        return bool((self.table == 1.0 - np.eye(len(self.table))).all())

    def to_json(self) -> dict[str, dict[str, float]]:
        """Return the mapping that `of` reads, every pair of classes in it."""
        return {
            truth: {said: cost for said, cost in zip(self.classes, row, strict=True) if said != truth}
            for truth, row in zip(self.classes, self.table.tolist(), strict=True)
        }

    def __call__(self, answers: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Return what each answer costs, in the shape of the answers."""
        said, right = self._places(answers), self._places(truth)
        named = (said >= 0) & (right >= 0)
        return np.where(named, self.table[right, said], np.where(answers == truth, 0.0, _OTHERWISE))

    def unusable(self, truth: np.ndarray) -> np.ndarray:
        """Return what an answer costs that cannot be used, in the shape of the truths."""
        right = self._places(truth)
        return np.where(right >= 0, self.table.max(axis=1)[right], _OTHERWISE)

    def unknown(self, values: Shaped[np.ndarray, " n"]) -> tuple[str, ...]:
        """Return the classes that are named here and are none of some values: slips of the pen, mostly."""
        there = set(self._places(np.unique(values)).tolist())
        return tuple(each for i, each in enumerate(self.classes) if i not in there)

    def _places(self, values: np.ndarray) -> np.ndarray:
        """Which of the classes each value is, −1 where it is none; numbers are the same however they are written."""
        different, place = np.unique(values, return_inverse=True)
        if family(values) == "numbers":
            known = {_number(each): i for i, each in enumerate(self.classes)}
            found = [known.get(float(value), -1) for value in different.tolist()]
        else:
            names = {each: i for i, each in enumerate(self.classes)}
            found = [names.get(str(value), -1) for value in different.tolist()]
        return np.array(found, dtype=np.intp)[place].reshape(values.shape)


def _cost(cost: object, pair: tuple[str, str], name: str) -> float:
    truth, said = pair
    if isinstance(cost, bool) or not isinstance(cost, int | float | np.integer | np.floating):
        raise InvalidInputError(f"`{name}` must be numbers, got {cost!r} for saying {said!r} where {truth!r} is true.")
    value = check.finite_number(float(cost), f"{name} of {said!r} for {truth!r}", minimum=0.0)
    if value > _MOST:
        raise InvalidInputError(f"`{name}` must be of at most {_MOST:g}, got {value:g}: take another unit.")
    if truth == said and value:
        raise InvalidInputError(
            f"`{name}` must be 0 for a right answer, got {value:g} for {truth!r}: subtract it from all of its row."
        )
    return value


def _number(text: str) -> float | None:
    """A class as a number; None where it is none, and so never met among numbers."""
    try:
        return _WORDS[text.lower()] if text.lower() in _WORDS else float(text)
    except ValueError:
        return None
