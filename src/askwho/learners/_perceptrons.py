"""Perceptrons on scaled features, trained side by side by a weighted comp-sum loss: arrays once they are fitted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho._parts import State, written_as
from askwho.engine import Training
from askwho.learners._log_shares import log_shares
from askwho.learners._network_graph import NETWORK, NetworkGraph, network_state, perceptrons_graph
from askwho.learners._scale import standardisation

# What the widest layer gives for a block of rows takes 16 MiB at the most.
_BLOCK_CELLS = 1 << 22


@written_as(NETWORK)
@dataclass(frozen=True, eq=False)
class Perceptrons:
    """Fitted multi-layer perceptrons with ReLU, one or several: features (n, d) in, scores (members, n, m) out.

    They predict without torch.

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

    def take(self, members: Int[np.ndarray, " m"]) -> "Perceptrons":
        """Return some of the members."""
        weights, biases = ([layer[members] for layer in part] for part in (self.weights, self.biases))
        return replace(self, weights=weights, biases=biases, held=self.held[members])

    def to_state(self) -> State:
        """Return what is written: a graph, which gives the same scores."""
        return network_state(perceptrons_graph(self.mean, self.scale, self.weights, self.biases))

    @classmethod
    def from_state(cls, state: State) -> NetworkGraph:
        """Return the networks that were written, at work in a graph."""
        return NetworkGraph.from_state(state)

    def _block(self, X: np.ndarray) -> np.ndarray:
        x: np.ndarray = ((X - self.mean) / self.scale).astype(np.float32)
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias[:, None]
            if i < len(self.weights) - 1:
                np.maximum(x, 0.0, out=x)
        return x


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
