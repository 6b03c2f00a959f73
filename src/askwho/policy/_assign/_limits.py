"""Limits: at most and at least so many queries for an entity, in a group, of a size; and what all may be charged."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from askwho import _validation as check
from askwho.core import Panel
from askwho.exceptions import InvalidInputError

# The two words of a limit; any other word in its place is a group.
_AT_MOST, _AT_LEAST = "at_most", "at_least"


@dataclass(frozen=True)
class Limit:
    """One thing that is counted over a batch, and the bounds of its count.

    Args:
        kind: `"entity"`, `"size"` (queries that ask so many) or `"budget"` (fees).
        which: the entity's place in the panel, or how many are asked; 0 of a budget.
        name: the entity's name, or what is counted.
        group: the group in which it counts; None where it counts everywhere.
        at_least: what must be given.
        at_most: what may be given; infinite where anything may.
    """

    kind: str
    which: int
    name: str
    group: str | None = None
    at_least: float = 0.0
    at_most: float = math.inf

    def __str__(self) -> str:
        where = "" if self.group is None else f" in {self.group!r}"
        bounds = [f"at least {self.at_least:g}"] * (self.at_least > 0) + [f"at most {self.at_most:g}"]
        return f"{self.name!r}{where} {' and '.join(bounds if self.at_most < math.inf else bounds[:1])}"

    def counts(
        self,
        members: Shaped[np.ndarray, "m a"],
        own: Shaped[np.ndarray, " a"],
        fee: Float[np.ndarray, " m"],
        groups: Shaped[np.ndarray, " m"] | None,
    ) -> Float[np.ndarray, " m"]:
        """Return how much each of some committees counts, shape (m,).

        Args:
            members: shape (m, |A|), who is in each.
            own: shape (|A|,), who is not asked.
            fee: shape (m,), what each charges.
            groups: shape (m,), the group of each one's query.
        """
        if self.kind == "entity":
            found = members[:, self.which].astype(np.float64)
        elif self.kind == "size":
            found = ((members & ~own).sum(axis=1) == self.which).astype(np.float64)
        else:
            found = fee
        return found if self.group is None or groups is None else np.where(groups == self.group, found, 0.0)


def limits_of(
    panel: Panel,
    capacity: Any,  # noqa: ANN401 - a mapping, which is checked
    sizes: Any,  # noqa: ANN401
    total: float | None,
    groups: Sequence[str] | None,
) -> tuple[Limit, ...]:
    """Return the limits that a user states, checked.

    Args:
        panel: who can be asked.
        capacity: from a name to a number, the most; to `{"at_most": 20, "at_least": 5}`; or to one of the two for each
            group, such as `{"monday": 15, "tuesday": 10}`, with or without bounds of the whole beside them.
        sizes: from how many are asked to how many queries may ask so many, in the same words.
        total: what all queries together may charge.
        groups: the groups that there are; None where nobody said what they are.
    """
    found: list[Limit] = []
    for name, given in ({} if capacity is None else _mapping(capacity, "capacity")).items():
        if name not in panel.names:
            raise InvalidInputError(f"`capacity` must name entities of {list(panel.names)}, got {name!r}.")
        found += _of_entity(panel.index(name), name, given, groups)
    for size, given in ({} if sizes is None else _mapping(sizes, "sizes")).items():
        asked = _size(size, int((~panel.own).sum()))
        low, high = _bounds(given, f"sizes[{asked}]")
        found.append(Limit("size", asked, f"asking {asked}", None, low, high))
    if total is not None:
        found.append(Limit("budget", 0, "fees", None, 0.0, check.finite_number(total, "total", minimum=0.0)))
    return tuple(found)


def _of_entity(which: int, name: str, given: object, groups: Sequence[str] | None) -> list[Limit]:
    if not isinstance(given, Mapping):
        return [Limit("entity", which, name, None, *_bounds(given, f"capacity[{name!r}]"))]
    whole = {key: value for key, value in given.items() if key in (_AT_MOST, _AT_LEAST)}
    parts = {str(key): value for key, value in given.items() if key not in whole}
    if parts and groups is None:
        raise InvalidInputError(
            f"`capacity[{name!r}]` must be a number, or hold 'at_most' and 'at_least', got {next(iter(parts))!r}: "
            "if that is a group, say by `by` which column tells the groups."
        )
    found = [Limit("entity", which, name, None, *_bounds(whole, f"capacity[{name!r}]"))] if whole or not parts else []
    for group, each in parts.items():
        low, high = _bounds(each, f"capacity[{name!r}][{group!r}]")
        if group in (groups or ()) or low > 0:
            found.append(Limit("entity", which, name, group, low, high))
    absent = [group for group in groups or () if group not in parts]
    if parts and absent and _AT_MOST not in whole:
        raise InvalidInputError(
            f"`capacity[{name!r}]` must name every group of the queries, or have an 'at_most' of its own, "
            f"missing {absent[0]!r}: nothing says how many can be given there."
        )
    return found


def _bounds(given: Any, name: str) -> tuple[float, float]:  # noqa: ANN401 - what a user wrote
    """The least and the most of one entry."""
    if not isinstance(given, Mapping):
        return 0.0, float(_whole(given, name))
    unknown = [key for key in given if key not in (_AT_MOST, _AT_LEAST)]
    if unknown or not given:
        what = repr(unknown[0]) if unknown else "nothing"
        raise InvalidInputError(f"`{name}` must be a number, or hold 'at_most' and 'at_least', got {what}.")
    low = float(_whole(given[_AT_LEAST], f"{name}['at_least']")) if _AT_LEAST in given else 0.0
    high = float(_whole(given[_AT_MOST], f"{name}['at_most']")) if _AT_MOST in given else math.inf
    if low > high:
        raise InvalidInputError(f"`{name}` must have 'at_least' up to 'at_most', got {low:g} above {high:g}.")
    return low, high


def _whole(value: Any, name: str) -> int:  # noqa: ANN401
    """A whole number, also as files write it: 15.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise InvalidInputError(f"`{name}` must be a whole number of at least 0, got {value!r}.")
    return int(value)


def _size(value: Any, most: int) -> int:  # noqa: ANN401
    """How many are asked, also as JSON writes it: "3"."""
    text = str(value)
    if not text.isdecimal() or int(text) > most:
        raise InvalidInputError(f"`sizes` must be of committees between 0 and {most}, got {value!r}.")
    return int(text)


def _mapping(given: object, name: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"`{name}` must map names to numbers, such as {{'ann': 15}}, got {given!r}.")
    return given
