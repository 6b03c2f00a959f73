"""Prices that are baked in: into a surrogate, or into Algorithm 2, given by name."""

from typing import Any

from askwho.fitting._surrogate import SurrogateCardinality
from askwho._surrogates import SURROGATES
from askwho.learners import CompSum


def priced(learner: Any, fee_weight: float) -> Any:  # noqa: ANN401 - whatever `fit` takes
    """Return the learner as it is, or a surrogate that is given by name with that price baked in."""
    named = isinstance(learner, str) and learner in SURROGATES
    return CompSum(surrogate=learner, fee_weight=fee_weight) if named else learner


def priced_cardinality(cardinality: Any, fee_weight: float) -> Any:  # noqa: ANN401 - whatever `fit` takes
    """Return the cardinality as it is, or the paper's by name, trained at that price alone."""
    return SurrogateCardinality(fee_weights=(fee_weight,)) if cardinality == "surrogate" else cardinality
