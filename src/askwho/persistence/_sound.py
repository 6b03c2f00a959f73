"""Whether what was read is a policy that can decide: checksums say who wrote the parts, not that they fit together."""

from collections.abc import Mapping

import numpy as np

from askwho import _validation as check
from askwho.aggregation import AGGREGATIONS
from askwho.data import FeatureEncoder
from askwho.exceptions import InvalidInputError
from askwho.policy import Policy
from askwho.router import POSTERIOR, Rows

_FINITE = ("fees", "entity_errors", "calibration.", "learner.weights", "learner.mean", "learner.deviation")


def check_sound(policy: Policy, arrays: Mapping[str, np.ndarray]) -> None:
    """Raise where the parts of a policy do not fit, after one decision about a query of zeros."""
    router, size = policy.router, len(policy.panel)
    check.one_of(router.task_, "task", ["classification", "regression"])
    if router.committee_ is not None:
        check.one_of(router.committee_, "committee", [*AGGREGATIONS, POSTERIOR])
    check.whole_number(router.width_, "width", minimum=1, maximum=size)
    for name, array in arrays.items():
        wanted = name.startswith(_FINITE) or name.endswith(".prices")
        if wanted and (array.size == 0 or not np.isfinite(array).all()):
            raise InvalidInputError(f"`{name}` must be finite numbers.")
    check.same_shape(router.fees_, "fees", (size,), "one for each entity")
    check.same_shape(router.entity_errors_, "entity_errors", (size,), "one for each entity")
    _check_rows(router.rows_)
    X = _blank(policy.encoder, router.n_features_)
    check.same_shape(X, "features", (1, router.n_features_), "as many as were encoded")
    with np.errstate(all="ignore"):
        selection = router.select(X, k=1)
        router.curve_.predict(X, router.judge(X).expected, selection.order)
        if policy.base is not None and router.task_ == "classification":
            shares = policy.base.shares(X, [""])
            check.same_shape(shares, "base", (1, len(policy.base.model.classes)), "one share for each class")


def _check_rows(rows: Rows) -> None:
    for name in ("errors", "fees", "sizes"):
        array = getattr(rows, name)
        check.same_shape(array, f"rows.{name}", (len(rows.prices), array.shape[-1]), "one row for each price")


def _blank(encoder: FeatureEncoder, width: int) -> np.ndarray:
    """A query of zeros and empty categories, encoded; text takes long, and tells nothing here."""
    if encoder.text is not None:
        return np.zeros((1, width), dtype=np.float32)
    blank = {name: np.zeros(1) for name in encoder.numbers}
    return encoder.transform(blank | {name: np.array([""], dtype=object) for name in encoder.categories})
