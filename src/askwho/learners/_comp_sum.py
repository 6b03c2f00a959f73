"""The paper's policy (Algorithm 1): a network whose scores rank the entities, trained by a surrogate."""

import warnings
from collections.abc import Callable, KeysView, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho._comp_sum import check_u
from askwho._surrogates import SURROGATES, Surrogate
from askwho.core import Panel, augmented_costs, folds
from askwho.engine import Training, require_torch
from askwho.exceptions import InvalidInputError
from askwho.learners._perceptrons import fit_perceptrons
from askwho.learners._scorer import Scorer, Shares

SURROGATE_NAMES: KeysView[str] = SURROGATES.keys()
"""The names of `losses.SURROGATES`, as they are now: known without torch."""
# Up to the one u the paper's bound (Theorem 4.7) holds for every k; from the other on only the first is ranked.
_MOST_U, _U_OF_THE_FIRST = 1.5, 2.0
# Costs are sums of floats: what is above 1 by rounding alone is 1.
_ROUNDING = 1e-9
# The best weights are chosen on a tenth of the groups: enough to choose by, and little to do without.
_HELD_FOLDS = 10
# Adam at its usual rate, and long enough for small networks; patience ends what has stopped getting better.
_TRAINING = Training(epochs=100, batch=256, rate=1e-3, patience=20)


@dataclass(frozen=True)
class CompSum:
    """Settings of the paper's Algorithm 1; `fit` learns.

    Its scores rank entities at the one price it was trained with: any k, no other fees.

    Args:
        surrogate: a name in `losses.SURROGATES`; or a function of your own: scores and augmented costs, torch tensors
            of shape (..., |A|), to one loss a row, shape (...), whose minimiser ranks all entities.
        u: the member of the comp-sum family, where the surrogate has one. Past 1.5 the paper's bound fails for k > 1;
            at 2 only the first entity is ranked.
        shift: M of the weights M − μ_j, for `"top-k"`: `"max"`, `"sum"` (the paper's) or a number. Where answers are
            missing the largest cost of the log takes its place: it must not depend on who was asked.
        fee_weight: λ, what one unit of money is worth in error, baked in. The paper's fees are in units of error: 1.
        error_bound: errors above it count as this much. A few huge ones flatten the weights of all other rows.
        hidden: widths of the hidden layers; none for a linear policy.
        network: makes any other torch module from the number of inputs, of outputs, and a seed: (b, d) in, (b, m) out.
        encoder: a frozen torch module in front: (b, d) in, (b, e) out.
        training: how to train.
    """

    surrogate: str | Callable[[Any, Any], Any] = "top-k"
    u: float = 1.0
    shift: Literal["max", "sum"] | float = "max"
    fee_weight: float = 1.0
    error_bound: float | None = None
    hidden: tuple[int, ...] = (64, 64)
    network: Callable[[int, int, int], Any] | None = None
    encoder: Any = None
    training: Training = _TRAINING

    def __post_init__(self) -> None:
        self._check_surrogate()
        check_u(self.u)
        check.finite_number(self.fee_weight, "fee_weight", minimum=0.0)
        if isinstance(self.shift, str):
            check.one_of(self.shift, "shift", ["max", "sum"])
        else:
            check.finite_number(self.shift, "shift", minimum=0.0)
        if self.error_bound is not None and check.finite_number(self.error_bound, "error_bound", minimum=0.0) == 0:
            raise InvalidInputError("`error_bound` must be above 0, got 0: every answer would be as good as any other.")

    @property
    def name(self) -> str:
        """What the surrogate is called: its name in `losses.SURROGATES`, or the function's own."""
        if isinstance(self.surrogate, str):
            return self.surrogate
        return getattr(self.surrogate, "__name__", type(self.surrogate).__name__)

    @property
    def facts(self) -> Surrogate:
        """What is known of the surrogate; of one's own, what `surrogate` asks of it."""
        if isinstance(self.surrogate, str):
            return SURROGATES[self.surrogate]
        return Surrogate(self.name, self.surrogate, "your own", "any", "costs", "as given")

    @property
    def ranks_only_the_first(self) -> bool:
        """Whether the minimiser tells nothing of the second entity: then k = 1 is all it can be asked for."""
        return self.facts.ranks == "best" or ("u" in self.facts.options and self.u >= _U_OF_THE_FIRST)

    def fit(
        self,
        X: Float[np.ndarray, "n d"],
        errors: Float[np.ndarray, "n a"],
        *,
        panel: Panel,
        fees: Float[np.ndarray, "n a"] | None = None,
        groups: np.ndarray | None = None,
        random_state: int = 0,
        device: str | None = None,
        checkpoint: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Scorer:
        """Return the trained policy; its best weights are chosen on a tenth of the groups.

        Args:
            X: shape (n, d).
            errors: ψ, shape (n, |A|), NaN where an entity was not asked.
            panel: who they are.
            fees: shape (n, |A|), where they differ from the panel's.
            groups: shape (n,), what must stay on one side of a split.
            random_state: the seed of weights, batches and the held-out tenth.
            device: `"cpu"`, `"cuda"`; by itself unless said.
            checkpoint: a file to go on from after an interruption.
            progress: called with a line of text after every epoch.
        """
        table = self.table(errors, panel=panel, fees=fees)[None]
        asked = ~np.isnan(table[0]).all(axis=1)
        fold = folds(np.arange(len(X)) if groups is None else groups, _HELD_FOLDS, random_state=random_state)
        rows, held = np.flatnonzero(asked & (fold != 0)), np.flatnonzero(asked & (fold == 0))
        if not rows.size or not held.size:
            raise InvalidInputError(
                f"`errors` must hold answers on both sides of the held-out tenth, got {int(asked.sum())} rows with any."
            )
        return self.fit_tables(
            X,
            table,
            panel=panel,
            rows=rows,
            held=held,
            seeds=(random_state,),
            device=device,
            checkpoint=checkpoint,
            progress=progress,
        )

    def table(
        self, errors: Float[np.ndarray, "n a"], *, panel: Panel, fees: Float[np.ndarray, "n a"] | None
    ) -> Float[np.ndarray, "n a"]:
        """Return what the surrogate takes, costs or zero-one errors, shape (n, |A|); NaN where not asked."""
        self._check_panel(panel)
        bounded = errors if self.error_bound is None else np.minimum(errors, self.error_bound)
        if self.facts.takes == "errors":
            return bounded
        costs = augmented_costs(bounded, panel=panel, fees=fees, fee_weight=self.fee_weight)
        if self.facts.bounded and (costs > 1 + _ROUNDING).any():
            raise InvalidInputError(
                f"`costs` must be between 0 and 1 for the surrogate {self.name!r}, got {np.nanmax(costs):g}: "
                "lower `fee_weight`, bound the errors, or use 'top-k'."
            )
        return costs

    def fit_tables(
        self,
        X: Float[np.ndarray, "n d"],
        tables: Float[np.ndarray, "m n a"],
        *,
        panel: Panel,
        rows: Int[np.ndarray, "*members r"],
        held: Int[np.ndarray, "*members h"],
        seeds: Sequence[int],
        device: str | None = None,
        checkpoint: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Scorer:
        """Return as many policies as there are seeds, trained side by side, on one table of costs or on one each.

        Args:
            X: shape (n, d).
            tables: shape (1, n, |A|) or (members, n, |A|), from `table`.
            panel: who they are.
            rows: which rows to learn from, (r,) or (members, r).
            held: which rows to choose the best weights by.
            seeds: one a member.
            device: by itself unless said.
            checkpoint: a file to go on from after an interruption.
            progress: called with a line of text after every epoch.
        """
        if "u" in self.facts.options and self.u > _MOST_U:
            further = (
                f", and at {_U_OF_THE_FIRST:g} only the first entity is ranked" if self.u >= _U_OF_THE_FIRST else ""
            )
            warnings.warn(
                f"u = {self.u:g}: past {_MOST_U:g} the consistency bound fails for k > 1{further}.", stacklevel=2
            )
        require_torch(f"The surrogate {self.name!r}")
        from askwho.learners import _objective  # noqa: PLC0415 - the seam to torch

        targets, loss = _objective.objective(self, tables, panel)
        common: dict[str, Any] = {
            "training": self.training,
            "loss_name": f"{self._loss_name()}, u = {self.u!r}, {len(panel.labels)} labels",
            "rows": rows,
            "held": held,
            "device": device,
            "checkpoint": checkpoint,
            "progress": progress,
        }
        if self.network is None and self.encoder is None:
            found: Scorer = fit_perceptrons(
                X, targets, loss, outputs=len(panel), hidden=self.hidden, seeds=seeds, **common
            )
        elif len(seeds) != 1:
            raise InvalidInputError(f"`seeds` must be one for a network of your own, got {len(seeds)}.")
        else:
            found = _objective.fit_module(self, X, targets, loss, outputs=len(panel), seed=int(seeds[0]), **common)
        return Shares(found, len(panel.labels)) if self.facts.ranks == "all by shares" else found

    def _check_surrogate(self) -> None:
        given: Any = self.surrogate
        known = given in SURROGATES if isinstance(given, str) else callable(given) and not isinstance(given, type)
        if not known:
            names = ", ".join(repr(name) for name in SURROGATES)
            raise InvalidInputError(
                f"`surrogate` must be one of {names}, or a function of scores and costs, got {given!r}."
            )

    def _loss_name(self) -> str:
        """The surrogate as a checkpoint knows it: two functions may be called the same."""
        place = "" if isinstance(self.surrogate, str) else f"{getattr(self.surrogate, '__module__', '')}."
        return place + getattr(self.surrogate, "__qualname__", self.name)

    def _check_panel(self, panel: Panel) -> None:
        facts = self.facts
        if facts.regime == "one-stage" and not panel.labels:
            raise InvalidInputError(
                f"`surrogate` must be for base and experts, got {self.name!r}, which is for labels and experts."
            )
        if facts.takes == "errors" and panel.is_kind("reject").any():
            raise InvalidInputError(
                f"`panel` must have no reject for the surrogate {self.name!r}, which takes errors: the price of "
                "abstaining is not among them. Use 'top-k' or 'mao-one-stage'."
            )
        if facts.regime == "two-stage" and panel.entities[0].kind != "base":
            raise InvalidInputError(
                f"`panel` must have a base in front for the surrogate {self.name!r}, got {panel.names[0]!r}."
            )
