"""The surrogates by name: what each is, where it was published, and what it can rank."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from askwho.losses import _deferral, _published


@dataclass(frozen=True)
class Surrogate:
    """One surrogate of the deferral loss.

    Args:
        name: what it is called in `SURROGATES`.
        function: scores and the table of `takes`, both (..., |A|), to unreduced losses (...).
        reference: where it was published.
        regime: one-stage (labels and experts), two-stage (base and experts), or any panel.
        takes: zero-one `errors` without fees, or `costs`.
        multi_expert: the form for several experts, where the original has one; else "as published".
        ranks: what its minimiser's scores order: all entities by expected cost, or only the best.
        options: which of `n_labels` and `u` the function takes.
    """

    name: str
    function: Callable[..., Tensor]
    reference: str
    regime: Literal["one-stage", "two-stage", "any"]
    takes: Literal["errors", "costs"]
    multi_expert: str
    ranks: Literal["all", "best"] = "all"
    options: frozenset[str] = frozenset()


SURROGATES: Mapping[str, Surrogate] = {
    entry.name: entry
    for entry in (
        Surrogate(
            "top-k",
            _deferral.deferral_surrogate,
            "Montreuil, Carlier, Ng, Ooi. Why ask one when you can ask k? ICLR 2026, Corollary 4.4",
            "any",
            "costs",
            "as published; `shift='sum'` is the paper's, `'max'` the default",
            options=frozenset({"u"}),
        ),
        Surrogate(
            "mozannar-sontag",
            _published.mozannar_sontag,
            "Mozannar, Sontag. Consistent estimators for learning to defer to an expert. ICML 2020",
            "one-stage",
            "errors",
            "one term for each expert that is right (Verma, Barrejón, Nalisnick. AISTATS 2023)",
            options=frozenset({"n_labels"}),
        ),
        Surrogate(
            "one-vs-all",
            _published.one_vs_all,
            "Verma, Nalisnick. Calibrated learning to defer with one-vs-all classifiers. ICML 2022",
            "one-stage",
            "errors",
            "one binary problem for each expert (Verma, Barrejón, Nalisnick. AISTATS 2023)",
            options=frozenset({"n_labels"}),
        ),
        Surrogate(
            "mao-one-stage",
            _published.mao_one_stage,
            "Mao, Mohri, Zhong. Principled approaches for learning to defer with multiple experts. ISAIM 2024",
            "one-stage",
            "costs",
            "as published",
            options=frozenset({"n_labels", "u"}),
        ),
        Surrogate(
            "asymmetric-softmax",
            _published.asymmetric_softmax,
            "Cao, Mozannar, Feng, Wei, An. In defense of softmax parametrization. NeurIPS 2023",
            "one-stage",
            "errors",
            "each expert has its own share against the labels without the largest",
            ranks="best",
            options=frozenset({"n_labels"}),
        ),
        Surrogate(
            "mao-two-stage",
            _published.mao_two_stage,
            "Mao, Mohri, Mohri, Zhong. Two-stage learning to defer with multiple experts. NeurIPS 2023",
            "two-stage",
            "costs",
            "as published",
            options=frozenset({"u"}),
        ),
        Surrogate(
            "mao-two-stage-regression",
            _published.mao_two_stage_regression,
            "Mao, Mohri, Zhong. Regression with multi-expert deferral. ICML 2024",
            "two-stage",
            "costs",
            "as published",
            options=frozenset({"u"}),
        ),
        Surrogate(
            "post-hoc",
            _published.post_hoc,
            "Narasimhan, Jitkrittum, Menon, Rawat, Kumar. Post-hoc estimators. NeurIPS 2022",
            "two-stage",
            "costs",
            "one deferral function for each expert against the base",
        ),
    )
}
"""Every surrogate, by name."""
