"""What the paper's policy minimises, and policies of other networks than perceptrons. This file imports torch."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from askwho._parts import State, written_as
from askwho.core import Panel
from askwho.engine import Alone, Mlp, Training, apply, train
from askwho.exceptions import InvalidInputError
from askwho.learners._comp_sum import CompSum
from askwho.learners._log_shares import log_shares
from askwho.learners._network_graph import NETWORK, NetworkGraph, network_state
from askwho.learners._scale import standardisation
from askwho.losses import deferral_surrogate, deferral_weights, weighted_comp_sum


def objective(
    settings: CompSum, tables: Float[np.ndarray, "m n a"], panel: Panel
) -> tuple[list[np.ndarray], Callable[..., Tensor]]:
    """Return what the loss takes beside the scores, and the loss; weights are made once, not at every step."""
    facts, function = settings.facts, settings.facts.function
    if function is deferral_surrogate:
        return weighted_objective(tables, shift=settings.shift, u=settings.u)
    if np.isnan(tables).any():
        raise InvalidInputError(
            f"`surrogate` must be 'top-k' where answers are missing, got {settings.name!r}: it takes complete ones."
        )
    options: dict[str, Any] = {"u": settings.u} if "u" in facts.options else {}
    if "n_labels" in facts.options:
        options["n_labels"] = len(panel.labels)

    def loss(scores: Tensor, table: Tensor) -> Tensor:
        losses = function(scores, table, **options)
        got = tuple(getattr(losses, "shape", ()))
        if got != scores.shape[:-1]:
            raise InvalidInputError(
                f"`surrogate` must give one loss a row, shape {tuple(scores.shape[:-1])}, got {got} from "
                f"{settings.name!r}: sum over the entities, and leave the mean over rows to the training."
            )
        return losses

    return [tables.astype(np.float32)], loss


def weighted_objective(
    costs: Float[np.ndarray, "m n a"], *, shift: str | float = "max", u: float = 1.0
) -> tuple[list[np.ndarray], Callable[..., Tensor]]:
    """Return weights M − cost (and who was asked, where somebody was not), and the comp-sum loss they weigh."""
    mask = ~np.isnan(costs)
    whole = bool(mask.all())
    level: Any = shift
    if not whole and isinstance(shift, str):
        # A row's own maximum would depend on who was asked: the largest cost of a member's log does not.
        level = torch.from_numpy(np.nanmax(costs, axis=(1, 2), keepdims=True)).expand(*costs.shape[:-1], 1)
    # Rows of which nothing is known are never drawn; here they only must not be in the way.
    known = mask | ~mask.any(axis=-1, keepdims=True)
    weights = deferral_weights(
        torch.from_numpy(np.where(mask, costs, 0.0)), shift=level, mask=None if whole else torch.from_numpy(known)
    )
    # One factor for all rows moves no minimiser, and keeps odd units away from the optimiser's own constants.
    size = weights.mean(dim=(-2, -1), keepdim=True)
    scaled = (weights / torch.where(size > 0, size, 1.0)).float().numpy()
    if whole:
        return [scaled], lambda scores, weight: weighted_comp_sum(scores, weight, u=u)
    return [scaled, known], lambda scores, weight, seen: weighted_comp_sum(scores, weight, u=u, mask=seen)


@written_as(NETWORK)
@dataclass(frozen=True, eq=False)
class Module:
    """A fitted torch module as a policy, its encoder in front.

    Args:
        module: features (n, d) in, scores (n, |A|) out.
        n_features: d.
    """

    module: nn.Module
    n_features: int

    def scores(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "1 n a"]:
        """Return log-shares, shape (1, n, |A|)."""
        return log_shares(apply(self.module, torch.from_numpy(X.astype(np.float32)), batch=1024).numpy()[None])

    def to_state(self) -> State:
        """Return what is written: the module as an ONNX graph, X (n, d) in, scores Y (n, |A|) out."""
        stream: Any = io.BytesIO()
        with warnings.catch_warnings():
            # The newer exporter needs two more packages, and gives the same graph.
            warnings.simplefilter("ignore")
            torch.onnx.export(
                self.module.cpu().eval(),
                (torch.zeros(2, self.n_features),),
                stream,
                dynamo=False,
                input_names=["X"],
                output_names=["Y"],
                dynamic_axes={"X": {0: "n"}, "Y": {0: "n"}},
                opset_version=17,
            )
        return network_state(stream.getvalue())

    @classmethod
    def from_state(cls, state: State) -> NetworkGraph:
        """Return the network that was written, at work in a graph: no torch is needed to read it."""
        return NetworkGraph.from_state(state)


def fit_module(
    settings: CompSum,
    X: Float[np.ndarray, "n d"],
    targets: list[np.ndarray],
    loss: Callable[..., Tensor],
    *,
    outputs: int,
    seed: int,
    training: Training,
    loss_name: str,
    rows: Int[np.ndarray, "*members r"],
    held: Int[np.ndarray, "*members h"],
    device: str | None,
    checkpoint: Path | None,
    progress: Callable[[str], None] | None,
) -> Module:
    """Return a trained network of the user's own, or perceptrons behind a frozen encoder."""
    inputs = torch.from_numpy(X.astype(np.float32))
    front: list[nn.Module] = []
    if settings.encoder is not None:
        # It is frozen: its outputs are computed once, and what stands behind it is trained on them.
        encoder: nn.Module = settings.encoder
        inputs = apply(encoder, inputs, batch=512, device=device)
        mean, scale = (torch.from_numpy(part).float() for part in standardisation(inputs.numpy()))
        inputs = (inputs - mean) / scale
        front = [encoder, _Scaled(mean, scale)]
    if settings.network is None:
        network = Mlp(inputs.shape[1], outputs, hidden=settings.hidden, seeds=(seed,))
        last: nn.Module = _Only(network)
    else:
        network = Alone(settings.network(int(inputs[0].numel()), outputs, seed))
        last = network.module
    train(
        network,
        inputs,
        [torch.from_numpy(target) for target in targets],
        loss,
        rows=torch.from_numpy(rows),
        held=torch.from_numpy(held),
        training=training,
        loss_name=loss_name,
        random_state=seed,
        device=device,
        checkpoint=checkpoint,
        progress=progress,
    )
    return Module(nn.Sequential(*front, last).cpu(), X.shape[1])


class _Scaled(nn.Module):
    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    def forward(self, inputs: Tensor) -> Tensor:
        return (inputs - self.mean) / self.scale


class _Only(nn.Module):
    """The one member of a network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: Tensor) -> Tensor:
        return self.network(inputs)[0]
