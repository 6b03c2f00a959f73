"""How to train, in a file that imports no torch: settings travel where torch does not."""

import math
from dataclasses import dataclass
from typing import Literal

from askwho import _validation as check
from askwho.exceptions import InvalidInputError

Precision = Literal["auto", "float32", "bfloat16"]
"""Of the short kinds of float only bfloat16, whose range is float32's: no loss need be scaled."""


@dataclass(frozen=True)
class Training:
    """How to train.

    Args:
        epochs: how many times every row is seen.
        batch: how many rows a step.
        rate: the learning rate; or one for each member.
        weight_decay: decoupled, as in AdamW; 0 is Adam.
        schedule: `"cosine"`, down to 0 over the epochs, or `"constant"`.
        patience: early stopping, after so many epochs in which no member got better on held-out rows; None never does.
        precision: of the network's own arithmetic; `"auto"` is bfloat16 on CUDA, and float32 elsewhere.
        compiled: whether to compile the network for whole batches, on CUDA; it takes seconds, and pays for large ones.
            Rows that fill no batch then wait for an epoch whose order has them earlier.

    References:
        Kingma, Ba. Adam: a method for stochastic optimization. ICLR 2015.
        Loshchilov, Hutter. SGDR: stochastic gradient descent with warm restarts. ICLR 2017: the cosine alone.
        Loshchilov, Hutter. Decoupled weight decay regularization. ICLR 2019.
    """

    epochs: int = 100
    batch: int = 256
    rate: float | tuple[float, ...] = 1e-3
    weight_decay: float = 0.0
    schedule: Literal["cosine", "constant"] = "cosine"
    patience: int | None = None
    precision: Precision = "auto"
    compiled: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "patience"):
            value = getattr(self, name)
            if name == "patience" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInputError(f"`{name}` must be a whole number of at least 1, got {value!r}.")
        for rate in self.rate if isinstance(self.rate, tuple) else (self.rate,):
            if check.finite_number(rate, "rate", minimum=0.0) == 0:
                raise InvalidInputError("`rate` must be above 0, got 0: nothing would be learned.")
        check.finite_number(self.weight_decay, "weight_decay", minimum=0.0)
        check.one_of(self.schedule, "schedule", ["cosine", "constant"])
        check.one_of(self.precision, "precision", ["auto", "float32", "bfloat16"])

    def share(self, epoch: int) -> float:
        """Return what is left of the learning rate in an epoch."""
        return 1.0 if self.schedule == "constant" else 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))
