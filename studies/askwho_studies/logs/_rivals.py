"""Every method of the study by name: askwho, its rivals, and what needs the truth."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from askwho.evaluation import Point, adaptive_points, fixed_points, sequential_points
from askwho.fitting import fit
from askwho.policy import Policy
from askwho.replay import Replay
from askwho_studies.logs import (
    _cascade,
    _cascade_routing,
    _committees,
    _confidence,
    _conformal,
    _deslib,
    _embedded,
    _frugalml,
    _paper,
    _routers,
    _stacked,
    _stacking,
)
from askwho_studies.logs._base import with_base
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


@dataclass(frozen=True)
class WithBaseToo:
    """A method with settings that have askwho's base among the entities, beside those that do not.

    Args:
        method: of a split.
    """

    method: Method

    def __call__(self, split: Split) -> list[Point]:
        """Return the settings of both; where the base leaves nothing to choose, those without it."""
        points, (whole, _) = self.method(split), with_base(split)
        if whole is split:
            return points
        with suppress(SkippedError):
            points = [*points, *self.method(whole)]
        return points


METHODS: Mapping[str, Method] = {
    "askwho": askwho,
    "askwho (no base)": askwho_without_base,
    "the paper's top-k": _paper.topk,
    "best single": _committees.best_single,
    "cheapest single": _committees.cheapest_single,
    "vote": WithBaseToo(_committees.plain_votes),
    "weighted vote": WithBaseToo(_committees.weighted_votes),
    "median": WithBaseToo(_committees.medians),
    "stacking (linear)": WithBaseToo(_stacking.stacking_linear),
    "stacking (boosted)": WithBaseToo(_stacking.stacking_boosted),
    "features (linear)": _stacking.features_linear,
    "features (forest)": _stacking.features_forest,
    "features (words)": _stacking.features_words,
    "neighbour router": WithBaseToo(_routers.neighbour_router),
    "forest router": WithBaseToo(_routers.forest_router),
    "threshold (linear)": WithBaseToo(_routers.threshold_linear),
    "threshold (forest)": WithBaseToo(_routers.threshold_forest),
    "embedding router": _embedded.embedding_router,
    "agreement cascade": WithBaseToo(_cascade.agreement_cascade),
    "confidence cascade": _confidence.confidence_cascade,
    "cascade routing": _cascade_routing.cascade_routing,
    "FrugalML": WithBaseToo(_frugalml.frugalml),
    "conformal sets": _conformal.conformal_sets,
    "stacking+ (linear)": _stacked.stacking_everything,
    "stacking+ (LightGBM)": _stacked.lightgbm_everything,
    "random": _committees.random_committees,
    "KNORA-U": _deslib.knora_u,
    "KNORA-E": _deslib.knora_e,
    "META-DES": _deslib.meta_des,
    "oracle": _committees.oracle,
}
"""The methods, in the order of the report."""

NEEDS_TRUTH = frozenset({"oracle"})
"""Methods that cannot be deployed: reported apart, never among wins and losses."""
