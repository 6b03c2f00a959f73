"""Every method of the study by name: askwho, its rivals, and what needs the truth."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from askwho.evaluation import Point, adaptive_points, fixed_points, sequential_points
from askwho.fitting import fit
from askwho.policy import Policy
from askwho.replay import Replay
from askwho_studies.logs import _cascade, _committees, _deslib, _paper, _routers, _stacking
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._split import Split

Method = Callable[[Split], list[Point]]
"""From a split to settings on its test rows; raises `SkippedError` where the log does not allow it."""


def askwho(split: Split) -> list[Point]:
    """Askwho as it comes: fixed k and k(x), at all its prices."""
    return _points(_with_base(split), split)


def askwho_without_base(split: Split) -> list[Point]:
    """Askwho without a base of its own: it only chooses among the log's entities."""
    if split.train.truth is None:
        raise SkippedError("a log of grades trains no base: the same as askwho")
    policy = _with_base(split)
    if policy.base is not None:
        policy = fit(split.train, base="none", random_state=split.seed)
    return _points(policy, split)


@lru_cache(maxsize=1)
def _with_base(split: Split) -> Policy:
    """Askwho's policy; kept for the method after it, which is the same where no base was worth having."""
    return fit(split.train, random_state=split.seed)


def _points(policy: Policy, split: Split) -> list[Point]:
    held = Replay.of(policy, split.test)
    return [*fixed_points(policy, held), *adaptive_points(policy, held), *sequential_points(policy, held)]


METHODS: Mapping[str, Method] = {
    "askwho": askwho,
    "askwho (no base)": askwho_without_base,
    "the paper's top-k": _paper.topk,
    "best single": _committees.best_single,
    "cheapest single": _committees.cheapest_single,
    "vote": _committees.plain_votes,
    "weighted vote": _committees.weighted_votes,
    "median": _committees.medians,
    "stacking (linear)": _stacking.stacking_linear,
    "stacking (boosted)": _stacking.stacking_boosted,
    "features (linear)": _stacking.features_linear,
    "features (forest)": _stacking.features_forest,
    "features (words)": _stacking.features_words,
    "neighbour router": _routers.neighbour_router,
    "forest router": _routers.forest_router,
    "threshold (linear)": _routers.threshold_linear,
    "threshold (forest)": _routers.threshold_forest,
    "agreement cascade": _cascade.agreement_cascade,
    "random": _committees.random_committees,
    "KNORA-U": _deslib.knora_u,
    "KNORA-E": _deslib.knora_e,
    "META-DES": _deslib.meta_des,
    "oracle": _committees.oracle,
}
"""The methods, in the order of the report."""

NEEDS_TRUTH = frozenset({"oracle"})
"""Methods that cannot be deployed: reported apart, never among wins and losses."""
