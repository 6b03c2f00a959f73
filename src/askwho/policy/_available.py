"""Who can be asked today: by name, by mask, for all queries or for each."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from askwho import _validation as check
from askwho.core import Panel
from askwho.exceptions import InvalidInputError


def who_is_there(
    panel: Panel,
    available: Any,  # noqa: ANN401 - names, or masks in any form
    n: int,
    *,
    somebody: bool = True,
) -> Bool[np.ndarray, "n a"]:
    """Return who can be asked, shape (n, |A|), from names or masks; of names, who answers for itself always can.

    Args:
        panel: who could be asked.
        available: names; a mapping from a name to whether, or to a mask of shape (n,), or a frame of such masks; or a
            mask of shape (|A|,) or (n, |A|). Who is not named is not there.
        n: how many queries there are.
        somebody: whether there must be somebody for each of them.
    """
    if hasattr(available, "columns") and hasattr(available, "__getitem__"):
        # A frame: by the names of its columns, never by their places.
        available = {str(name): np.asarray(available[name]) for name in available.columns}
    if isinstance(available, Mapping):
        mask = _by_name(panel, available, n)
    elif (named := _names(available)) is not None:
        check_known(panel, named)
        mask = np.array([name in named for name in panel.names]) | panel.own
    else:
        mask = _mask(available)
    if mask.ndim == 1:
        check.same_shape(mask, "available", (len(panel),), "one for each entity of the panel")
        mask = np.broadcast_to(mask, (n, len(panel)))
    check.same_shape(mask, "available", (n, len(panel)), "one for each query and entity")
    if somebody and not mask.any(axis=1).all():
        raise InvalidInputError("`available` must be true for somebody: there is nobody to ask.")
    return mask


def _names(available: object) -> list[str] | None:
    """Names, whatever holds them: one, a list, a set, keys, an array; None where it is something else."""
    if isinstance(available, str):
        return [available]
    if isinstance(available, np.ndarray):
        available = available.tolist()
    if not isinstance(available, Collection):
        return None
    names = list(available)
    return names if all(isinstance(name, str) for name in names) else None


def _mask(given: object) -> Bool[np.ndarray, "..."]:
    """A mask as it was given; a gap in one would be taken for true, or for false."""
    mask = np.asarray(given)
    if mask.dtype != np.bool_ and not (mask.dtype.kind in "iuf" and np.isin(mask, (0, 1)).all()):
        raise InvalidInputError(
            "`available` must be names, or true or false for each entity, or for each query and entity, got "
            f"{mask.dtype} of shape {mask.shape}."
        )
    return mask.astype(bool)


def _by_name(panel: Panel, available: Mapping[str, Any], n: int) -> Bool[np.ndarray, "n a"]:
    """The mask that names with masks of their own say."""
    check_known(panel, list(available))
    mask = np.tile(panel.own, (n, 1))
    for name, given in available.items():
        there = np.asarray(given)
        if there.dtype != np.bool_ or there.shape not in ((), (n,)):
            raise InvalidInputError(
                f"`available[{name!r}]` must be true or false, for all queries or for each of {n}, "
                f"got {there.dtype} of shape {there.shape}."
            )
        mask[:, panel.index(name)] = there
    return mask


def check_known(panel: Panel, named: Sequence[str]) -> None:
    """Raise where somebody is named who is not in the panel."""
    unknown = [name for name in named if name not in panel.names]
    if unknown:
        raise InvalidInputError(f"`available` must name entities of {list(panel.names)}, got {unknown}.")
