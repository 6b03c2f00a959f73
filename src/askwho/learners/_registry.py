"""The learners by name, and those of the user's own."""

import copy
import importlib.util
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho._surrogates import SURROGATES
from askwho.core import each_fold
from askwho.engine import require_torch
from askwho.exceptions import InvalidInputError
from askwho.learners._comp_sum import CompSum
from askwho.learners._learner import Learner, MakeLearner, fitted
from askwho.learners._smooth import Linear, Neighbours
from askwho.learners._trees import Boosting, Forest

LEARNERS: dict[str, MakeLearner] = {
    "forest": Forest,
    "boosting": Boosting,
    "neighbours": Neighbours,
    "linear": Linear,
}
"""Every learner, by name; each is made from a seed. One that is put in is found by its name, and by `"auto"`."""

# Where entities know some kinds of query and not others, their errors change from one query to the next: fewer queries
# then say more. The prior shrinks with the neighbours, so that it weighs a tenth of them.
_MORE_LOCAL: Mapping[MakeLearner, tuple[MakeLearner, ...]] = {
    Forest: (partial(Forest, leaf=1),),
    Neighbours: tuple(partial(Neighbours, neighbours=k, prior=k / 10) for k in (20, 10, 5)),
}
# It takes so many standard errors to leave the usual settings: a 95 % interval, about.
_CLEARLY = 2.0
# With more rows they are local enough, and a forest of single queries would be as large as its log.
_MOST_ROWS = 12_000


def check_learner(learner: Any) -> None:  # noqa: ANN401 - what a user gives
    """Raise unless it is `"auto"`, a name in `LEARNERS` or in `SURROGATES`, a `CompSum`, or an object that learns.

    A surrogate without torch is refused here too: later, experts may have been asked for nothing.
    """
    named = isinstance(learner, str) and (learner == "auto" or learner in LEARNERS or learner in SURROGATES)
    if not named and not isinstance(learner, CompSum) and not _learns(learner):
        raise InvalidInputError(
            f"`learner` must be 'auto', one of {_listing(LEARNERS)}, a surrogate (a `CompSum`, or one of "
            f"{_listing(SURROGATES)}), or an object with `fit` and `predict`, got {_shown(learner)}."
        )
    surrogate = surrogate_settings(learner)
    if surrogate is not None:
        require_torch(f"The surrogate {surrogate.name!r}")


def surrogate_settings(learner: Any) -> CompSum | None:  # noqa: ANN401 - what `check_learner` lets pass
    """Return the settings of the paper's policy where a learner is one, by name or as it is; else None."""
    if isinstance(learner, CompSum):
        return learner
    return CompSum(surrogate=learner) if isinstance(learner, str) and learner in SURROGATES else None


def candidates(learner: Any) -> list[str | Learner]:  # noqa: ANN401 - a name, or the user's own object
    """Return the learners to compare: all that can run for `"auto"`, else the one named or given."""
    check_learner(learner)
    if not isinstance(learner, str) or learner != "auto":
        return [learner]
    return [name for name in LEARNERS if name != "boosting" or _can_import("lightgbm")]


def learner_name(learner: str | Learner) -> str:
    """Return what a candidate is called: its name, or its class's."""
    return learner if isinstance(learner, str) else type(learner).__name__


def make_learner(learner: Any) -> MakeLearner:  # noqa: ANN401 - as above
    """Return what makes a learner from a seed: an entry of `LEARNERS`, or a fresh copy of the user's own object."""
    if isinstance(learner, str) and learner in LEARNERS:
        return LEARNERS[learner]
    if not _learns(learner):
        raise InvalidInputError(
            f"`learner` must be one of {_listing(LEARNERS)}, or an object with `fit` and `predict`, "
            f"got {_shown(learner)}."
        )

    def fresh(random_state: int) -> Learner:
        made: Any = copy.deepcopy(learner)
        if hasattr(made, "random_state"):
            made.random_state = random_state
        return made

    return fresh


def suited(
    learner: str | Learner,
    X: Float[np.ndarray, "n d"],
    errors: Float[np.ndarray, "n a"],
    fold: Int[np.ndarray, " n"],
    *,
    random_state: int = 0,
) -> MakeLearner:
    """Return what makes a candidate: more local than it comes, where that is clearly better on the first fold.

    One of the user's own is taken as it comes.
    """
    usual = make_learner(learner)
    seen, held = next(each_fold(fold))

    def losses(make: MakeLearner) -> np.ndarray:
        found = fitted(make, X[seen], errors[seen], random_state=random_state)
        return np.square(found.predict(X[held]) - errors[held])

    # By what makes it, not by its name: another may have been put into the registry under the same one.
    others = _MORE_LOCAL.get(usual, ()) if len(X) <= _MOST_ROWS else ()
    known = ~np.isnan(errors[held])
    if not others or known.any(axis=1).sum() < 2:
        return usual
    lost = losses(usual)
    best, least = usual, 0.0
    for make in others:
        change = np.where(known, losses(make) - lost, 0.0).sum(axis=1)[known.any(axis=1)]
        if change.mean() < min(least, -_CLEARLY * change.std() / np.sqrt(len(change))):
            best, least = make, float(change.mean())
    return best


def _learns(learner: Any) -> bool:  # noqa: ANN401 - what a user gives
    """Whether it is an object with `fit` and `predict`; a class has both, and can do neither."""
    return not isinstance(learner, type) and all(callable(getattr(learner, name, None)) for name in ("fit", "predict"))


def _shown(learner: Any) -> str:  # noqa: ANN401 - as above
    if isinstance(learner, type):
        return f"the class {learner.__name__}: give an object of it"
    return repr(learner) if learner is None or isinstance(learner, str | int | float) else f"a {type(learner).__name__}"


def _listing(names: Mapping[str, Any]) -> str:
    return ", ".join(repr(name) for name in names)


def _can_import(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:
        return False
