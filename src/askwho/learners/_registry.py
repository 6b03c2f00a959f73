"""The learners by name."""

import importlib.util
from collections.abc import Mapping
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho.learners._learner import MakeLearner, each_fold
from askwho.learners._smooth import Linear, Neighbours
from askwho.learners._trees import Boosting, Forest

LEARNERS: Mapping[str, MakeLearner] = {
    "forest": Forest,
    "boosting": Boosting,
    "neighbours": Neighbours,
    "linear": Linear,
}
"""Every learner, by name; each is made from a seed."""

# Where entities know some kinds of query and not others, their errors change from one query to the next.
_MORE_LOCAL: Mapping[str, tuple[MakeLearner, ...]] = {
    "forest": (partial(Forest, leaf=1),),
    "neighbours": tuple(partial(Neighbours, neighbours=k, prior=k / 10) for k in (20, 10, 5)),
}
# It takes so many standard errors to leave the usual settings. With more rows they are local enough, and a forest of
# single queries would be as large as its log.
_CLEARLY = 2.0
_MOST_ROWS = 12_000


def candidates(learner: str) -> list[str]:
    """Return the learners to compare: all that can run for `"auto"`, else the one named."""
    if learner != "auto":
        check.one_of(learner, "learner", ["auto", *LEARNERS])
        return [learner]
    return [name for name in LEARNERS if name != "boosting" or _can_import("lightgbm")]


def _can_import(library: str) -> bool:
    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def suited(
    name: str,
    X: Float[np.ndarray, "n d"],
    errors: Float[np.ndarray, "n a"],
    fold: Int[np.ndarray, " n"],
    *,
    random_state: int = 0,
) -> MakeLearner:
    """Return the learner of that name: more local than it comes, where that is clearly better on the first fold."""
    usual = LEARNERS[name]
    seen, held = next(each_fold(fold))

    def losses(make: MakeLearner) -> np.ndarray:
        return np.square(make(random_state).fit(X[seen], errors[seen]).predict(X[held]) - errors[held])

    others = _MORE_LOCAL.get(name, ()) if len(X) <= _MOST_ROWS else ()
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
