"""The methods by name, where each was published, and which experiments it does not fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from askwho.learners import CompSum
from askwho_studies.paper.methods._problem import Problem

Blank = str
"""Why a method has no figures on an experiment."""
# The reasons, as the table prints them.
_FOR_CLASSES, _FOR_NUMBERS, _NO_MODEL, _NO_CONFIDENCE, _SAME = (
    "for classes; the answers are numbers",
    "for numbers; Mao et al. 2023 is its form for classes",
    "the base is given: no model is learned beside who is asked",
    "the base gives answers without a confidence",
    "with one task its loss is that of Mao et al. 2024 (regression)",
)


@dataclass(frozen=True)
class Method:
    """A published method.

    Args:
        name: as the field calls it.
        reference: where it was published.
        stage: one stage, two stages, a rule on the model's answer or a fixed order, or ours.
        surrogate: what is learned, and how; None for rules.
        blank: why it does not fit, by the kind of experiment.
    """

    name: str
    reference: str
    stage: Literal["one", "two", "rule", "ours"]
    surrogate: CompSum | None = None
    blank: Mapping[str, Blank] = field(default_factory=dict[str, Blank])


# The kinds of experiment: a model is learned; a base is given that answers with classes; or with numbers.
LEARNED, GIVEN, NUMBERS = "learned", "given", "numbers"
# Methods of one stage learn the model and who is asked together.
_ONE_STAGE = {GIVEN: _NO_MODEL, NUMBERS: _FOR_CLASSES}

METHODS: dict[str, Method] = {
    each.name: each
    for each in (
        Method(
            "Mozannar & Sontag 2020",
            "Consistent estimators for learning to defer to an expert. ICML 2020; several experts as Verma et al. 2023",
            "one",
            CompSum("mozannar-sontag"),
            _ONE_STAGE,
        ),
        Method(
            "Verma & Nalisnick 2022, one-vs-all",
            "Calibrated learning to defer with one-vs-all classifiers. ICML 2022; several experts as Verma et al. 2023",
            "one",
            CompSum("one-vs-all"),
            _ONE_STAGE,
        ),
        Method(
            "Cao et al. 2023, asymmetric softmax",
            "In defense of softmax parametrization. NeurIPS 2023; each expert against the labels",
            "one",
            CompSum("asymmetric-softmax"),
            _ONE_STAGE,
        ),
        Method(
            "Mao et al. 2024, general costs",
            "Principled approaches for learning to defer with multiple experts. ISAIM 2024",
            "one",
            CompSum("mao-one-stage"),
            _ONE_STAGE,
        ),
        Method(
            "Narasimhan et al. 2022, post hoc",
            "Post-hoc estimators for learning to defer to an expert. NeurIPS 2022; one deferral function an expert",
            "two",
            CompSum("post-hoc"),
        ),
        Method(
            "Mao et al. 2023, two stages",
            "Two-stage learning to defer with multiple experts. NeurIPS 2023",
            "two",
            CompSum("mao-two-stage"),
            {NUMBERS: _FOR_CLASSES},
        ),
        Method(
            "Mao et al. 2024, regression",
            "Regression with multi-expert deferral. ICML 2024",
            "two",
            CompSum("mao-two-stage-regression"),
            {LEARNED: _FOR_NUMBERS, GIVEN: _FOR_NUMBERS},
        ),
        Method(
            "Montreuil et al. 2024, two stages",
            "A two-stage learning-to-defer approach for multi-task learning. 2024 (ICML 2025)",
            "two",
            CompSum("mao-two-stage-regression"),
            {NUMBERS: _SAME},
        ),
        Method(
            "Chow 1970",
            "On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory, 1970",
            "rule",
            blank={GIVEN: _NO_CONFIDENCE, NUMBERS: _FOR_CLASSES},
        ),
        Method("fixed cascade, until answers agree", "in the order of fees; majority, or mean", "rule"),
        Method(
            "early-exit cascade",
            "Wang et al. IDK cascades. UAI 2018; experts' answers by their likelihood",
            "rule",
            blank={NUMBERS: "the answers are numbers without a confidence"},
        ),
        Method("ours, asks one", "the Top-k surrogate, shift max, k = 1", "ours", CompSum("top-k")),
        Method("ours, fixed k", "the same scores, committees by majority or mean", "ours", CompSum("top-k")),
        Method("ours, k(x)", "the same scores, k(x) learned once", "ours", CompSum("top-k")),
    )
}
"""Every method, in the order of the tables; one that is put in is compared with the others."""


def kind_of(problem: Problem) -> str:
    """Return which kind of experiment a problem is: what fits depends on it."""
    return NUMBERS if problem.task == "regression" else LEARNED if problem.n_labels else GIVEN
