"""The surrogates by name: what each is, where it was published, and what it can rank. No torch is needed to know."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Surrogate:
    """One surrogate of the deferral loss.

    Args:
        name: what it is called in `SURROGATES`.
        loss: scores and the table of `takes`, both (..., |A|), to unreduced losses (...), on torch tensors; or where it
            is to be found, `module:name`, so that torch is imported by those who train.
        reference: where it was published.
        regime: one-stage (labels and experts), two-stage (base and experts), or any panel.
        takes: zero-one `errors` without fees, or `costs`.
        multi_expert: the form for several experts, where the original has one; else "as published".
        bounded: whether costs must not be above 1.
        ranks: what its minimiser's scores order: all entities by expected cost; only the best; or the best, and all of
            them once they are `losses.asymmetric_softmax_shares`.
        options: which of `n_labels` and `u` the function takes.
    """

    name: str
    loss: Callable[..., Any] | str
    reference: str
    regime: Literal["one-stage", "two-stage", "any"]
    takes: Literal["errors", "costs"]
    multi_expert: str = "as published"
    bounded: bool = False
    ranks: Literal["all", "best", "all by shares"] = "all"
    options: frozenset[str] = frozenset()

    @property
    def function(self) -> Callable[..., Any]:
        """Return the loss itself, importing torch where it is ours."""
        if not isinstance(self.loss, str):
            return self.loss
        place, _, name = self.loss.partition(":")
        return getattr(importlib.import_module(place), name)


SURROGATES: dict[str, Surrogate] = {
    entry.name: entry
    for entry in (
        Surrogate(
            "top-k",
            "askwho.losses:deferral_surrogate",
            "Montreuil, Carlier, Ng, Ooi. Why ask one when you can ask k? ICLR 2026, Corollary 4.4",
            "any",
            "costs",
            "as published; `shift='sum'` is the paper's, `'max'` the default",
            options=frozenset({"u"}),
        ),
        Surrogate(
            "mozannar-sontag",
            "askwho.losses:mozannar_sontag",
            "Mozannar, Sontag. Consistent estimators for learning to defer to an expert. ICML 2020",
            "one-stage",
            "errors",
            "one term for each expert that is right (Verma, Barrejón, Nalisnick. AISTATS 2023)",
            options=frozenset({"n_labels"}),
        ),
        Surrogate(
            "one-vs-all",
            "askwho.losses:one_vs_all",
            "Verma, Nalisnick. Calibrated learning to defer with one-vs-all classifiers. ICML 2022",
            "one-stage",
            "errors",
            "one binary problem for each expert (Verma, Barrejón, Nalisnick. AISTATS 2023)",
            options=frozenset({"n_labels"}),
        ),
        Surrogate(
            "mao-one-stage",
            "askwho.losses:mao_one_stage",
            "Mao, Mohri, Zhong. Principled approaches for learning to defer with multiple experts. ISAIM 2024",
            "one-stage",
            "costs",
            bounded=True,
            options=frozenset({"n_labels", "u"}),
        ),
        Surrogate(
            "asymmetric-softmax",
            "askwho.losses:asymmetric_softmax",
            "Cao, Mozannar, Feng, Wei, An. In defense of softmax parametrization. NeurIPS 2023",
            "one-stage",
            "errors",
            "each expert has its own share against the labels without the largest",
            ranks="all by shares",
            options=frozenset({"n_labels"}),
        ),
        Surrogate(
            "mao-two-stage",
            "askwho.losses:mao_two_stage",
            "Mao, Mohri, Mohri, Zhong. Two-stage learning to defer with multiple experts. NeurIPS 2023",
            "two-stage",
            "costs",
            bounded=True,
            options=frozenset({"u"}),
        ),
        Surrogate(
            "mao-two-stage-regression",
            "askwho.losses:mao_two_stage_regression",
            "Mao, Mohri, Zhong. Regression with multi-expert deferral. ICML 2024",
            "two-stage",
            "costs",
            options=frozenset({"u"}),
        ),
        Surrogate(
            "post-hoc",
            "askwho.losses:post_hoc",
            "Narasimhan, Jitkrittum, Menon, Rawat, Kumar. Post-hoc estimators. NeurIPS 2022",
            "two-stage",
            "costs",
            "one deferral function for each expert against the base",
        ),
    )
}
"""Every surrogate, by name; one that is put in is found by its name wherever a surrogate is asked for."""
