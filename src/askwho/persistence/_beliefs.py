"""Beliefs, and the rule for asking in turn, as JSON and arrays, and back."""

from typing import Any

import numpy as np

from askwho.beliefs import Asking, Basis, Beliefs, Evidence, Pool
from askwho.persistence._parts import State

_EVIDENCE = ("weights", "bias", "by_class", "centre", "scale", "knots", "confusion", "silent")
_BASIS = ("centre", "scale", "directions", "offsets")


def beliefs_state(beliefs: Beliefs) -> State:
    """Return fitted beliefs as they are written."""
    plain = {"classes": _plain(beliefs.classes), "truths": _plain(beliefs.truths)}
    arrays = {f"evidence.{name}": getattr(beliefs.evidence, name) for name in _EVIDENCE}
    arrays |= {"share": beliefs.share, "pool.members": beliefs.pool.members, "pool.sources": beliefs.pool.sources}
    return State(plain, arrays)


def read_beliefs(plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> Beliefs:
    """Return the beliefs that `beliefs_state` wrote."""
    return Beliefs(
        _array(plain["classes"]),
        _array(plain["truths"]),
        arrays["share"],
        Evidence(*(arrays[f"evidence.{name}"] for name in _EVIDENCE)),
        Pool(arrays["pool.members"], arrays["pool.sources"]),
    )


def _plain(classes: np.ndarray) -> Any:  # noqa: ANN401 - JSON
    """Classes as JSON: dates as whole numbers beside what they count."""
    dated = classes.dtype.kind in "mM"
    return {classes.dtype.str: classes.view(np.int64).tolist()} if dated else classes.tolist()


def _array(plain: Any) -> np.ndarray:  # noqa: ANN401
    if isinstance(plain, dict):
        return np.concatenate([np.array(numbers, dtype=np.int64).view(kind) for kind, numbers in plain.items()])
    return np.array(plain)


def asking_arrays(asking: Asking) -> dict[str, np.ndarray]:
    """Return a rule for asking in turn as arrays."""
    arrays = {
        "entities": asking.entities.astype(np.int32),
        "prices": asking.prices,
        "free_start": np.array([asking.free_start]),
        "pool.members": asking.pool.members,
        "pool.sources": asking.pool.sources,
    }
    for level, (basis, gains) in enumerate(zip(asking.bases, asking.gains, strict=True)):
        arrays |= {f"{level}.{name}": getattr(basis, name) for name in _BASIS} | {f"{level}.gains": gains}
    return arrays


def read_asking(arrays: dict[str, np.ndarray]) -> Asking:
    """Return the rule that `asking_arrays` wrote."""
    depth = sum(name.endswith(".gains") for name in arrays)
    return Asking(
        arrays["entities"].astype(np.intp),
        arrays["prices"],
        [Basis(*(arrays[f"{level}.{name}"] for name in _BASIS)) for level in range(depth)],
        [arrays[f"{level}.gains"] for level in range(depth)],
        bool(arrays["free_start"][0]),
        Pool(arrays["pool.members"], arrays["pool.sources"]),
    )
