"""The paper's k(x) (Algorithm 2): a network for each price, all of them trained side by side."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from askwho import _validation as check
from askwho._comp_sum import check_u
from askwho.core import FeeTransform, cardinality_losses, folds
from askwho.exceptions import InvalidInputError
from askwho.learners import Training, fit_perceptrons, require_torch
from askwho.policy import CardinalityNetworks, rule_names

# One fold of so many, a tenth of the rows, chooses the epoch that is kept: the paper has a set for it, of no said size.
_HELD_FOLDS = 10
# The paper's for California, its tabular experiment; but it stops after 20 epochs without a gain.
_TRAINING = Training(epochs=100, batch=256, rate=5e-4, patience=20)


@dataclass(frozen=True)
class SurrogateCardinality:
    """Settings of the paper's Algorithm 2; `fit` learns.

    Args:
        fee_weights: λ, one or several; the grid of `fit` unless given. Only these can be decided at.
        metric: d, what a committee's error is while k(x) is learned: a name in `AGGREGATIONS`, or `"best-of-k"`, which
            needs the truth. The committee that is deployed, unless given.
        fee_transform: ξ, a non-decreasing function of summed fees; the identity unless given.
        u: the member of the comp-sum family.
        hidden: widths of the hidden layers.
        training: how to train; the paper's settings for its tabular experiment, with an early stop.
        rates: learning rates to try side by side, instead of that of `training`: every price keeps the network whose
            loss on the held-out tenth is the least.
    """

    fee_weights: tuple[float, ...] | None = None
    metric: str | None = None
    fee_transform: FeeTransform | None = None
    u: float = 1.0
    hidden: tuple[int, ...] = (64, 64)
    training: Training = _TRAINING
    rates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_u(self.u)
        if self.metric is not None:
            check.one_of(self.metric, "metric", [*rule_names(), "best-of-k"])
        if self.fee_weights is not None:
            if not self.fee_weights:
                raise InvalidInputError("`fee_weights` must hold one price at the least, got none.")
            for price in self.fee_weights:
                check.finite_number(price, "fee_weights", minimum=0.0)
        for rate in self.rates:
            replace(self.training, rate=rate)  # refuses what nothing could be trained with

    def fit(
        self,
        X: Float[np.ndarray, "n d"],
        errors: list[np.ndarray],
        fees: list[np.ndarray],
        *,
        fee_weights: Float[np.ndarray, " p"],
        groups: np.ndarray | None = None,
        random_state: int = 0,
        device: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> CardinalityNetworks:
        """Return k(x) at every price, from out-of-fold committee errors.

        Args:
            X: shape (n, d).
            errors: d of every k, one table (n, K) a price, NaN where a committee cannot be scored.
            fees: S of every k, one table (n, K) a price.
            fee_weights: λ, shape (p,).
            groups: shape (n,), what must stay on one side of a split.
            random_state: the seed of weights, batches and the held-out tenth.
            device: by itself unless said.
            progress: called with a line of text after every epoch.
        """
        require_torch("cardinality='surrogate'")
        from askwho.learners._objective import weighted_objective  # noqa: PLC0415 - the seam to torch

        losses = np.stack(
            [
                cardinality_losses(error, fee, fee_weight=float(price), fee_transform=self.fee_transform)
                for error, fee, price in zip(errors, fees, fee_weights, strict=True)
            ]
        )
        known = (~np.isnan(losses)).any(axis=2).all(axis=0)
        fold = folds(np.arange(len(X)) if groups is None else groups, _HELD_FOLDS, random_state=random_state)
        rows, held = np.flatnonzero(known & (fold != 0)), np.flatnonzero(known & (fold == 0))
        if not rows.size or not held.size:
            raise InvalidInputError(
                f"`errors` must hold committees that can be scored, got {int(known.sum())} rows with any."
            )
        targets, loss = weighted_objective(losses, u=self.u)
        prices, tries = len(fee_weights), max(1, len(self.rates))
        training = self.training
        if self.rates:
            training = replace(training, rate=tuple(np.repeat(self.rates, prices).tolist()))
        found = fit_perceptrons(
            X,
            [np.tile(target, (tries, 1, 1)) for target in targets],
            loss,
            outputs=losses.shape[2],
            hidden=self.hidden,
            training=training,
            rows=rows,
            held=held,
            seeds=[random_state] * (tries * prices),
            device=device,
            progress=progress,
        )
        best = found.held.reshape(tries, prices).argmin(axis=0)
        kept = found.take(best * prices + np.arange(prices))
        return CardinalityNetworks(np.asarray(fee_weights, dtype=np.float64), kept)


def checked_cardinality(given: object) -> SurrogateCardinality | None:
    """Return the settings of Algorithm 2 where it is asked for, None for the curve; or say what there is, or lacks."""
    settings = given if isinstance(given, SurrogateCardinality) else None
    if settings is None:
        check.one_of(given, "cardinality", ["curve", "surrogate"])
        settings = SurrogateCardinality() if given == "surrogate" else None
    if settings is not None:
        require_torch("cardinality='surrogate'")
    return settings
