"""Surrogate losses: pure functions on torch tensors that return unreduced values."""

import importlib

from askwho.exceptions import missing_dependency

try:
    importlib.import_module("torch")
except ImportError:
    raise missing_dependency("askwho.losses", "torch", "torch") from None

from askwho._surrogates import SURROGATES, Surrogate
from askwho.losses._cardinality import cardinality_surrogate
from askwho.losses._comp_sum import comp_sum, weighted_comp_sum
from askwho.losses._deferral import Shift, deferral_surrogate, deferral_weights
from askwho.losses._published import (
    asymmetric_softmax,
    asymmetric_softmax_shares,
    mao_one_stage,
    mao_two_stage,
    mao_two_stage_regression,
    mozannar_sontag,
    one_vs_all,
    post_hoc,
)

__all__ = [
    "SURROGATES",
    "Shift",
    "Surrogate",
    "asymmetric_softmax",
    "asymmetric_softmax_shares",
    "cardinality_surrogate",
    "comp_sum",
    "deferral_surrogate",
    "deferral_weights",
    "mao_one_stage",
    "mao_two_stage",
    "mao_two_stage_regression",
    "mozannar_sontag",
    "one_vs_all",
    "post_hoc",
    "weighted_comp_sum",
]
