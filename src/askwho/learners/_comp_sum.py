"""The paper's policy (Algorithm 1): a network whose scores rank the entities, trained by a surrogate."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from askwho import _validation as check
from askwho._comp_sum import check_u
from askwho.costs import augmented_costs
from askwho.engine import Training, require_torch
from askwho.exceptions import InvalidInputError
from askwho.learners._learner import folds
from askwho.learners._perceptrons import fit_perceptrons, log_shares
from askwho.panel import Panel

# The names of `losses.SURROGATES`, which cannot be read without torch.
SURROGATE_NAMES = (
    "top-k",
    "mozannar-sontag",
    "one-vs-all",
    "mao-one-stage",
    "asymmetric-softmax",
    "mao-two-stage",
    "mao-two-stage-regression",
    "post-hoc",
)
_WITH_U = ("top-k", "mao-one-stage", "mao-two-stage", "mao-two-stage-regression")
_OF_ERRORS = ("mozannar-sontag", "one-vs-all", "asymmetric-softmax")
_OF_COSTS_UP_TO_1 = ("mao-one-stage", "mao-two-stage")
_HELD_FOLDS = 10
_TRAINING = Training(epochs=100, batch=256, rate=1e-3, patience=20)


@runtime_checkable
class Scorer(Protocol):
    """A fitted policy: higher scores are asked earlier, at the price it was trained with."""

    def scores(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "members n a"]:
        """Return log-shares, shape (members, n, |A|)."""
        ...


@runtime_checkable
class Exportable(Protocol):
    """A fitted policy that can write itself down as a graph."""

    def graph(self, n_features: int) -> bytes:
        """Return an ONNX graph: X (n, d) in, scores Y (n, |A|) out."""
        ...


@dataclass(frozen=True)
class CompSum:
    """Settings of the paper's Algorithm 1; `fit` learns.

    Its scores rank entities at the one price it was trained with: any k, no other fees.

    Args:
        surrogate: a name in `losses.SURROGATES`.
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

    surrogate: str = "top-k"
    u: float = 1.0
    shift: Literal["max", "sum"] | float = "max"
    fee_weight: float = 1.0
    error_bound: float | None = None
    hidden: tuple[int, ...] = (64, 64)
    network: Callable[[int, int, int], Any] | None = None
    encoder: Any = None
    training: Training = _TRAINING

    def __post_init__(self) -> None:
        check.one_of(self.surrogate, "surrogate", SURROGATE_NAMES)
        check_u(self.u)
        check.finite_number(self.fee_weight, "fee_weight", minimum=0.0)
        if isinstance(self.shift, str):
            check.one_of(self.shift, "shift", ["max", "sum"])
        else:
            check.finite_number(self.shift, "shift", minimum=0.0)
        if self.error_bound is not None and check.finite_number(self.error_bound, "error_bound", minimum=0.0) == 0:
            raise InvalidInputError("`error_bound` must be above 0, got 0: every answer would be as good as any other.")

    @property
    def ranks_only_the_first(self) -> bool:
        """Whether the minimiser tells nothing of the second entity: then k = 1 is all it can be asked for."""
        return self.surrogate in _WITH_U and self.u >= 2

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
        if self.surrogate in _OF_ERRORS:
            return bounded
        costs = augmented_costs(bounded, panel=panel, fees=fees, fee_weight=self.fee_weight)
        if self.surrogate in _OF_COSTS_UP_TO_1 and (costs > 1 + 1e-9).any():
            raise InvalidInputError(
                f"`costs` must be between 0 and 1 for the surrogate {self.surrogate!r}, got {np.nanmax(costs):g}: "
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
        if self.surrogate in _WITH_U and self.u > 1.5:
            warnings.warn(
                f"u = {self.u:g}: past 1.5 the consistency bound fails for k > 1"
                + (", and at 2 only the first entity is ranked." if self.u >= 2 else "."),
                stacklevel=2,
            )
        require_torch(f"The surrogate {self.surrogate!r}")
        from askwho.learners import _objective  # noqa: PLC0415 - the seam to torch

        targets, loss = _objective.objective(self, tables, panel)
        common: dict[str, Any] = {
            "training": self.training,
            "loss_name": f"{self.surrogate}, u = {self.u!r}, {len(panel.labels)} labels",
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
        return Shares(found, len(panel.labels)) if self.surrogate == "asymmetric-softmax" else found

    def _check_panel(self, panel: Panel) -> None:
        if self.surrogate in (*_OF_ERRORS, "mao-one-stage") and not panel.labels:
            raise InvalidInputError(
                f"`surrogate` must be for base and experts, got {self.surrogate!r}, which is for labels and experts."
            )
        if self.surrogate in _OF_ERRORS and panel.is_kind("reject").any():
            raise InvalidInputError(
                f"`panel` must have no reject for the surrogate {self.surrogate!r}, which takes errors: the price of "
                "abstaining is not among them. Use 'top-k' or 'mao-one-stage'."
            )
        if self.surrogate in ("mao-two-stage", "mao-two-stage-regression", "post-hoc") and not (
            panel.entities[0].kind == "base"
        ):
            raise InvalidInputError(
                f"`panel` must have a base in front for the surrogate {self.surrogate!r}, got {panel.names[0]!r}."
            )


@dataclass(frozen=True, eq=False)
class Shares:
    """A policy trained by the asymmetric softmax: beyond the first entity its shares rank, not its scores.

    Args:
        scorer: the trained network.
        n_labels: how many of the entities are labels.
    """

    scorer: Scorer
    n_labels: int

    def scores(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "members n a"]:
        """Return the logarithm of `losses.asymmetric_softmax_shares`, less a constant a row.

        The shape is (members, n, |A|).
        """
        raw = self.scorer.scores(X)
        labels, experts = raw[..., : self.n_labels], raw[..., self.n_labels :]
        rest = labels.copy()
        np.put_along_axis(rest, labels.argmax(axis=-1)[..., None], -np.inf, axis=-1)
        margin = experts - np.logaddexp.reduce(rest, axis=-1, keepdims=True)
        return log_shares(np.concatenate([log_shares(labels), -np.logaddexp(0.0, -margin)], axis=-1))
