"""Parts: what a policy is made of. Each writes its own state and reads it back; who stores it knows no entrails."""

import importlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from askwho.exceptions import InvalidInputError

ENTRY_POINTS = "askwho.parts"
"""The group of entry points whose parts an installed package has vouched for: these need no `allow`."""

# Who reads each kind.
_KINDS: dict[str, type] = {}
# What each class is written as, which may be another's kind: a network that was trained is read back as a graph.
_WRITTEN: dict[type, str] = {}
_Class = TypeVar("_Class", bound=type)
_Part = TypeVar("_Part")


@dataclass(eq=False)
class State:
    """What a part is written as: plain JSON, arrays, ONNX graphs, and the parts inside it.

    Args:
        kind: which part it is: a name that `part` gave, or `module:name` of a user's own.
        plain: JSON.
        arrays: by name.
        graphs: ONNX, by name.
        parts: the states of parts inside this one, by name.
        allow: which of a user's own parts may be read; never written.
    """

    kind: str = ""
    plain: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: dict[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    graphs: dict[str, bytes] = field(default_factory=dict[str, bytes])
    parts: dict[str, "State"] = field(default_factory=dict[str, "State"])
    allow: Collection[str] = ()

    def hold(self, **parts: Any) -> "State":  # noqa: ANN401 - any part
        """Take in the parts of this one, by name; None is left out. Return this state."""
        self.parts |= {name: state_of(each, name) for name, each in parts.items() if each is not None}
        return self

    def read(self, name: str) -> Any:  # noqa: ANN401 - any part
        """Return the part of that name, or None where there is none."""
        inside = self.parts.get(name)
        if inside is None:
            return None
        inside.allow = self.allow
        return read_part(inside)

    def need(self, name: str) -> Any:  # noqa: ANN401 - any part
        """Return the part of that name, or say that there is none."""
        if name not in self.parts:
            raise InvalidInputError(f"`{name}` must be in the part {self.kind!r}, got none: the artefact is damaged.")
        return self.read(name)

    def pick(self, *, gaps: Collection[str] = (), **shapes: str) -> list[np.ndarray]:
        """Return the arrays of these names, in order; raise where one is not there, of another shape, or not finite.

        Args:
            gaps: in which of them a number may be missing.
            shapes: of each, such as `weights="a f"`: axes of one name are of one length, and a number is itself.
        """
        found: list[np.ndarray] = []
        lengths: dict[str, int] = {}
        for name, shape in shapes.items():
            array, axes = self.arrays.get(name), shape.split()
            here = None if array is None else array.shape
            fits = here is not None and len(here) == len(axes)
            for axis, length in zip(axes, here or (), strict=False):
                fits &= lengths.setdefault(axis, int(axis) if axis.isdigit() else length) == length
            if array is None or not fits:
                raise InvalidInputError(
                    f"`{name}` of the part {self.kind!r} must have shape ({', '.join(axes)}), got {here}: the artefact "
                    "is damaged."
                )
            numbers = array.dtype.kind in "biuf"
            if not numbers or not np.isfinite(array[~np.isnan(array)] if name in gaps else array).all():
                raise InvalidInputError(
                    f"`{name}` of the part {self.kind!r} must be finite numbers, got others: the artefact is damaged."
                )
            found.append(array)
        return found

    def walk(self, path: str = "") -> Iterator[tuple[str, "State"]]:
        """Yield this state and those inside it, each with its path, such as `judge.learner`."""
        yield path, self
        for name, inside in self.parts.items():
            yield from inside.walk(f"{path}.{name}" if path else name)


@runtime_checkable
class Part(Protocol):
    """Whatever can be written and read back; its class has `from_state`, which takes the state and returns the part."""

    def to_state(self) -> State:
        """Return what is to be written; the kind is filled in by who asks."""
        ...


def part(kind: str) -> Callable[[_Class], _Class]:
    """Return a decorator: the class is written under that name, and read back by its `from_state`."""

    def register(cls: _Class) -> _Class:
        _KINDS[kind] = cls
        return written_as(kind)(cls)

    return register


def written_as(kind: str) -> Callable[[_Class], _Class]:
    """Return a decorator: the class is written under the name of another, which reads it back as its own."""

    def register(cls: _Class) -> _Class:
        _WRITTEN[cls] = kind
        return cls

    return register


def state_of(given: Any, name: str) -> State:  # noqa: ANN401 - a part, or a function of the user's own
    """Return a part as it is written; a user's own class or function is named by where it can be imported from."""
    if _is_function(given):
        return State(_imported_from(given, name), {"function": True})
    if not isinstance(given, Part) or not callable(getattr(type(given), "from_state", None)):
        raise InvalidInputError(
            f"`{name}` must have `to_state` and `from_state` to be saved, got {type(given).__name__}, which has not."
        )
    kind = _WRITTEN.get(type(given)) or _imported_from(type(given), name)
    state = given.to_state()
    state.kind = kind
    return state


def read_part(state: State) -> Any:  # noqa: ANN401 - any part
    """Return the part that a state was written from; a user's own only where the caller allows it."""
    if state.kind in _KINDS:
        return _KINDS[state.kind].from_state(state)  # pyright: ignore[reportAttributeAccessIssue]
    if ":" not in state.kind:
        raise InvalidInputError(f"The artefact must be of known parts, got {state.kind!r}: it is newer or damaged.")
    check_allowed(state.kind, state.allow)
    found = imported(state.kind)
    return found if state.plain.get("function") else found.from_state(state)


def check_allowed(kind: str, allow: Collection[str]) -> None:
    """Raise where an artefact names something of the user's own that nobody has vouched for."""
    vouched = [entry.value for entry in entry_points(group=ENTRY_POINTS)]
    if kind not in allow and kind not in vouched:
        raise InvalidInputError(
            f"The artefact names a part of your own, {kind!r}, and an artefact alone never runs code: "
            f"load it with allow=[{kind!r}] if you trust it."
        )


def at_work(given: _Part) -> _Part:
    """Return a part as it would be read back, so that a policy decides the same before it is saved and after.

    Fitted forests become graphs, which decide a query a hundred times faster. A user's own part is left as it is.
    """
    return read_part(state_of(given, "part")) if type(given) in _WRITTEN else given


def _is_function(given: Any) -> bool:  # noqa: ANN401
    return callable(given) and hasattr(given, "__qualname__")


def _imported_from(given: Any, name: str) -> str:  # noqa: ANN401 - a class or a function
    place, path = str(given.__module__), str(given.__qualname__)
    if "<" in path or place == "__main__" or not _is_there(given, place, path):
        raise InvalidInputError(
            f"`{name}` must be importable to be saved, got {path!r} of {place!r}: put it into a module of its own."
        )
    return f"{place}:{path}"


def _is_there(given: Any, place: str, path: str) -> bool:  # noqa: ANN401 - as above
    """Whether it is found again where it says that it is from: a name may be made up, or mean another by now."""
    try:
        return attrgetter(path)(importlib.import_module(place)) is given
    except (ImportError, AttributeError):
        return False


def imported(kind: str) -> Any:  # noqa: ANN401 - a class or a function
    """Return what `module:name` names; who calls has been allowed to."""
    place, _, path = kind.partition(":")
    try:
        return attrgetter(path)(importlib.import_module(place))
    except (ImportError, AttributeError):
        raise InvalidInputError(f"The artefact needs {kind!r}, which cannot be imported here: install it.") from None


def plain_classes(classes: Shaped[np.ndarray, " c"]) -> Any:  # noqa: ANN401 - JSON
    """Return classes as JSON: dates, which JSON has none of, as whole numbers beside what they count."""
    dated = classes.dtype.kind in "mM"
    return {classes.dtype.str: classes.view(np.int64).tolist()} if dated else classes.tolist()


def array_of_classes(plain: Any) -> Shaped[np.ndarray, " c"]:  # noqa: ANN401
    """Return the classes that `plain_classes` wrote, shape (c,)."""
    if isinstance(plain, dict):
        return np.concatenate([np.array(numbers, dtype=np.int64).view(kind) for kind, numbers in plain.items()])
    return np.array(plain)
