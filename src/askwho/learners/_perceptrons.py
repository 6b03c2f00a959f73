"""Perceptrons on scaled features, trained side by side by a weighted comp-sum loss: arrays once they are fitted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho.engine import Training

_BLOCK_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Perceptrons:
    """Fitted perceptrons, one or several: features (n, d) in, scores (members, n, m) out, without torch.

    Args:
        mean: of the features, shape (d,).
        scale: of the features, shape (d,).
        weights: a layer each, shape (members, inputs, outputs).
        biases: a layer each, shape (members, outputs).
        held: each member's loss on held-out rows, shape (members,).
    """

    mean: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    weights: list[np.ndarray]
    biases: list[np.ndarray]
    held: Float[np.ndarray, " members"]

    def __len__(self) -> int:
        return len(self.held)

    def scores(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "members n m"]:
        """Return log-shares, each row's exponentials adding up to 1, shape (members, n, m)."""
        return log_shares(self.outputs(X))

    def outputs(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "members n m"]:
        """Return what the last layer gives, shape (members, n, m)."""
        widest = max(weight.shape[2] for weight in self.weights)
        step = max(1, _BLOCK_CELLS // (len(self) * widest))
        return np.concatenate([self._block(X[i : i + step]) for i in range(0, len(X), step)], axis=1)

    def _block(self, X: np.ndarray) -> np.ndarray:
        x: np.ndarray = ((X - self.mean) / self.scale).astype(np.float32)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias[:, None]
            if i < len(self.weights) - 1:
                np.maximum(x, 0.0, out=x)
        return x


def log_shares(scores: Float[np.ndarray, "*batch m"]) -> Float[np.ndarray, "*batch m"]:
    """Return scores less the logarithm of the sum of their exponentials, the shape of `scores`, float64."""
    exact = scores.astype(np.float64)
    exact -= exact.max(axis=-1, keepdims=True)
    return exact - np.log(np.exp(exact).sum(axis=-1, keepdims=True))


def fit_perceptrons(
    X: Float[np.ndarray, "n d"],
    targets: Sequence[np.ndarray],
    loss: Callable[..., Any],
    *,
    outputs: int,
    hidden: Sequence[int],
    training: Training,
    rows: Int[np.ndarray, "*members r"],
    held: Int[np.ndarray, "*members h"],
    seeds: Sequence[int],
    loss_name: str = "",
    device: str | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> Perceptrons:
    """Return one trained perceptron for each seed; targets and loss as in `engine.train`."""
    import torch  # noqa: PLC0415 - the seam to this optional dependency

    from askwho.engine import Mlp, train  # noqa: PLC0415

    mean, scale = standardisation(X)
    network = Mlp(X.shape[1], outputs, hidden=hidden, seeds=seeds)
    history = train(
        network,
        torch.from_numpy(((X - mean) / scale).astype(np.float32)),
        [torch.from_numpy(target) for target in targets],
        loss,
        rows=torch.from_numpy(rows),
        held=torch.from_numpy(held),
        training=training,
        loss_name=loss_name,
        random_state=int(seeds[0]),
        device=device,
        checkpoint=checkpoint,
        progress=progress,
    )
    return Perceptrons(
        mean,
        scale,
        [weight.detach().cpu().numpy() for weight in network.weights],
        [bias.detach().cpu().numpy() for bias in network.biases],
        history.best.numpy().astype(np.float64),
    )


def fit_regressors(
    X: Float[np.ndarray, "n d"],
    truth: Float[np.ndarray, " n"],
    *,
    hidden: Sequence[int],
    training: Training,
    rows: Int[np.ndarray, "*members r"],
    held: Int[np.ndarray, "*members h"],
    seeds: Sequence[int],
    device: str | None = None,
) -> Perceptrons:
    """Return one regressor for each seed, by squared error: `Perceptrons.outputs` are its predictions."""
    return fit_perceptrons(
        X,
        [truth.astype(np.float32)[None]],
        lambda said, right: (said[..., 0] - right).square(),
        outputs=1,
        hidden=hidden,
        training=training,
        rows=rows,
        held=held,
        seeds=seeds,
        device=device,
    )


def standardisation(X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Return what to take off each feature and what to divide it by; a constant one is left alone."""
    deviation = X.std(axis=0, dtype=np.float64)
    return X.mean(axis=0, dtype=np.float64), np.where(deviation > 1e-12, deviation, 1.0)
