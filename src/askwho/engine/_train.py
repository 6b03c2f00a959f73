"""The training loop: data stays on the device, batches are indices, every member keeps its best weights."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from askwho.engine._checkpoint import Checkpoint, fingerprint, restore, store
from askwho.engine._crew import Crew, own_device
from askwho.engine._networks import Network
from askwho.engine._plan import Precision, Training
from askwho.exceptions import DivergedError, InvalidInputError

# Multiplications a step below which a second thread is not worth waiting for.
_WORTH_THREADS = 20_000_000
# Held-out rows that go through a network together: without gradients a block far larger than a batch fits.
_HELD_BLOCK = 4096

Loss = Callable[..., Tensor]
"""Scores (members, b, m) and targets, each (members, b, ...), to unreduced losses (members, b)."""


@dataclass(frozen=True, eq=False)
class History:
    """How training went, for each member.

    Args:
        held: mean loss on held-out rows after each epoch, shape (epochs, members).
        best_epoch: the epoch whose weights were kept, shape (members,), from 0.
        best: the loss there, shape (members,).
    """

    held: Float[Tensor, "epochs members"]
    best_epoch: Int[Tensor, " members"]
    best: Float[Tensor, " members"]


def pick_device(device: str | None = None) -> torch.device:
    """Return the device asked for, or CUDA where there is one, else the CPU; under `torchrun` each has its own GPU."""
    return own_device(torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu")))


def train(
    network: Network,
    inputs: Tensor,
    targets: Sequence[Tensor],
    loss: Loss,
    *,
    rows: Tensor,
    held: Tensor,
    training: Training | None = None,
    loss_name: str = "",
    random_state: int = 0,
    device: str | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 10,
    progress: Callable[[str], None] | None = None,
) -> History:
    """Train every member of a network by its own mean loss, and leave it with the weights best on held-out rows.

    The same seed on the same machine gives the same weights, whether or not training was interrupted in between;
    convolutions on a GPU excepted, whose sums come in any order.

    Under `torchrun` all processes must come here with the same arguments: each takes its part of every batch, the
    gradient is that of the whole batch (DistributedDataParallel), and all end with the same weights. Losses are then
    those of one process to rounding, except where a network draws chance of its own, or has a batch norm, which counts
    each process's rows by themselves. The first writes the checkpoint, and any number of processes goes on from it.

    Args:
        network: changed in place; it ends on the device.
        inputs: shape (n, ...), the same for all members.
        targets: each (1, n, ...), shared, or (members, n, ...); what `loss` takes beside the scores.
        loss: unreduced.
        rows: which rows to learn from, (r,), or (members, r) where members learn from different ones.
        held: which rows to choose the best weights by, likewise.
        training: how.
        loss_name: what the loss is and its settings, so that a checkpoint of another is refused.
        random_state: the seed of the batches' order, and of dropout.
        device: `"cpu"`, `"cuda"`; by itself unless said.
        checkpoint: a file to go on from if it is there; removed at the end.
        checkpoint_every: how many epochs to leave between two of them.
        progress: called with a line of text after every epoch.
    """
    plan = training or Training()
    where = pick_device(device)
    _check(network, plan, rows=rows, held=held)
    if network.members == 1:
        rows, held = rows.reshape(-1), held.reshape(-1)
    network.to(where)
    if where.type == "cuda":
        network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue] - its stub lacks it
    stepper = _Stepper(network, plan)
    state = Checkpoint.start(network, torch.Generator().manual_seed(random_state))
    mark = ""
    if checkpoint is not None:
        mark = fingerprint(network, plan, loss_name, random_state, [inputs, *targets, rows, held])
        _go_on(checkpoint, mark, state, network, stepper)
    crew = Crew.found(where)
    crew.agree(state.epoch, mark, where)
    model = crew.wrap(network, where)
    data = _Resident(inputs.to(where), [target.to(where) for target in targets], network.members)
    held_rows, shared = held.to(where), rows.cpu()
    context, compiled = _precision(plan.precision, where), plan.compiled and where.type == "cuda"

    def mean_losses(inputs: Tensor, *targets: Tensor) -> Tensor:
        with context():
            scores = model(inputs)
        return loss(scores.float(), *targets).mean(dim=1)

    def drawn(generator: torch.Generator) -> Tensor:
        return shared[..., torch.randperm(shared.shape[-1], generator=generator)].to(where)

    losses_of = _compiled(mean_losses) if compiled else mean_losses
    order = drawn(state.generator)
    while state.epoch < plan.epochs and not _tired(state, plan.patience):
        stepper.set_share(plan.share(state.epoch))
        model.train()
        seen = torch.zeros(network.members, device=where)
        with _own_chance(crew.chance(random_state + state.epoch), where), _threads(network, plan.batch, where):
            for batch in _batches(order, plan.batch, whole=compiled):
                index = crew.part(batch)
                each = losses_of(data.inputs[index], *data.targets_at(index))
                stepper.step(crew.weighed(each.sum(), index, batch))
                seen += each.detach()
        mean = _held_loss(network, data, loss, held_rows, context, crew)
        # The next order is drawn while a GPU is still at work.
        ahead = state.generator.clone_state()
        order = drawn(ahead)
        _stop_if_diverged(torch.stack([crew.total(seen), mean]), state.epoch)
        state.record(network, mean.cpu())
        if progress is not None and crew.first:
            progress(f"epoch {state.epoch}/{plan.epochs}: held-out loss {float(mean.mean()):.5f}")
        if checkpoint is not None and crew.first and _due(state.epoch, checkpoint_every, plan.epochs):
            store(checkpoint, mark, state, network, stepper.optimizer)
        state.generator = ahead
    state.give_best(network)
    network.eval()
    if checkpoint is not None and crew.first:
        checkpoint.unlink(missing_ok=True)
    return History(torch.stack(state.held), state.best_epoch, state.best)


def apply(network: torch.nn.Module, inputs: Tensor, *, batch: int = 8192, device: str | None = None) -> Tensor:
    """Return a module's outputs for all inputs, block by block, on the CPU; it learns nothing.

    A frozen encoder goes through here once, and what stands behind it is trained on the result.

    Args:
        network: a `Network` (the second axis of its outputs is the rows), or any module (the first).
        inputs: shape (n, ...).
        batch: rows a block.
        device: by itself unless said.
    """
    where = pick_device(device)
    network.to(where).eval()
    axis = 1 if isinstance(network, Network) else 0
    with torch.inference_mode():
        blocks = [network(inputs[i : i + batch].to(where)).float().cpu() for i in range(0, len(inputs), batch)]
    return torch.cat(blocks, dim=axis)


def _check(network: Network, plan: Training, **indices: Tensor) -> None:
    if isinstance(plan.rate, tuple) and len(plan.rate) != network.members:
        raise InvalidInputError(f"`rate` must be one number, or {network.members}, one a member, got {len(plan.rate)}.")
    for name, index in indices.items():
        if not index.shape[-1]:
            raise InvalidInputError(f"`{name}` must hold one row at the least, got none.")


def _compiled(function: Loss) -> Loss:
    # One compiler serves a process, and gives up on a function that it has met in too many forms: it starts afresh.
    torch.compiler.reset()
    # Without trying out kernels: that takes a minute, and makes a small residual network a tenth faster.
    made: Any = torch.compile(function, dynamic=False)
    return made


class _Stepper:
    """Adam, with a learning rate for each member where they differ."""

    def __init__(self, network: Network, plan: Training) -> None:
        self.parameters = [p for p in network.parameters() if p.requires_grad]
        self.rates = plan.rate if isinstance(plan.rate, tuple) else (plan.rate,)
        make = torch.optim.AdamW if plan.weight_decay else torch.optim.Adam
        self.optimizer: torch.optim.Optimizer = make(
            self.parameters, lr=max(self.rates), weight_decay=plan.weight_decay, fused=True
        )
        self.scale: Tensor | None = None
        if len(set(self.rates)) > 1:
            self.scale = torch.tensor(self.rates, device=self.parameters[0].device) / max(self.rates)

    def set_share(self, share: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = max(self.rates) * share

    def step(self, loss: Tensor) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        before = [] if self.scale is None else [p.detach().clone() for p in self.parameters]
        self.optimizer.step()
        if self.scale is not None:
            # Adam's step is proportional to its rate: members with a smaller one go only part of the way.
            with torch.no_grad():
                for parameter, old in zip(self.parameters, before, strict=True):
                    back = (1 - self.scale).view(-1, *[1] * (parameter.ndim - 1))
                    parameter.lerp_(old, back.expand_as(parameter))


@dataclass(frozen=True, eq=False)
class _Resident:
    """Inputs and targets on the device."""

    inputs: Tensor
    targets: list[Tensor]
    members: int

    def targets_at(self, index: Tensor) -> list[Tensor]:
        """Each target's rows, shape (members, b, ...)."""
        found: list[Tensor] = []
        for target in self.targets:
            if index.ndim == 1:
                picked = target[:, index]
            else:
                member = torch.arange(len(index), device=index.device)[:, None]
                picked = target[member if len(target) > 1 else torch.zeros_like(member), index]
            found.append(picked.expand(self.members, *picked.shape[1:]))
        return found


def _batches(order: Tensor, size: int, *, whole: bool = False) -> Iterator[Tensor]:
    """The rows of an epoch, so many at a time; one left over joins the last, for a batch norm cannot learn from it.

    Args:
        order: of the rows.
        size: of a batch.
        whole: leave out what fills no batch, unless there is nothing else: another size would be compiled anew.
    """
    count, start = order.shape[-1], 0
    if whole and count > size:
        count -= count % size
    while start < count:
        stop = start + size
        if stop == count - 1 and size > 1:
            stop = count
        yield order[..., start:stop]
        start = stop


@contextmanager
def _threads(network: Network, batch: int, where: torch.device) -> Generator[None]:
    """One thread for a small network: several gain little there, and on a busy machine they wait for each other."""
    work = batch * sum(parameter.numel() for parameter in network.parameters())
    before = torch.get_num_threads()
    if where.type == "cpu" and work < _WORTH_THREADS and not any(map(_slides, network.modules())):
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _slides(module: torch.nn.Module) -> bool:
    """Whether a module uses its weights many times over, so that their number says little of the work."""
    return isinstance(module, torch.nn.Conv2d)


@contextmanager
def _own_chance(seed: int, where: torch.device) -> Generator[None]:
    """Chance of an epoch's own, for a network that draws some (dropout); the caller's is as it was afterwards."""
    on_gpu = where.type == "cuda"
    with torch.random.fork_rng(devices=[where] if on_gpu else []):
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(where):
                torch.cuda.manual_seed(seed)
        yield


def _held_loss(
    network: Network,
    data: _Resident,
    loss: Loss,
    held: Tensor,
    context: Callable[[], AbstractContextManager[Any]],
    crew: Crew,
) -> Tensor:
    network.eval()
    total = torch.zeros(network.members, device=held.device)
    mine = held.tensor_split(crew.size, dim=-1)[crew.rank]
    with torch.inference_mode():
        for start in range(0, mine.shape[-1], _HELD_BLOCK):
            index = mine[..., start : start + _HELD_BLOCK]
            with context():
                scores = network(data.inputs[index])
            total += loss(scores.float(), *data.targets_at(index)).sum(dim=1)
    return crew.total(total) / held.shape[-1]


def _precision(precision: Precision, where: torch.device) -> Callable[[], AbstractContextManager[Any]]:
    if precision == "bfloat16" or (precision == "auto" and where.type == "cuda"):
        return lambda: torch.autocast(where.type, dtype=torch.bfloat16)
    return nullcontext


def _go_on(path: Path, mark: str, state: Checkpoint, network: Network, stepper: _Stepper) -> None:
    if path.exists():
        restore(path, mark, state, network, stepper.optimizer)


def _due(epoch: int, every: int, epochs: int) -> bool:
    return epoch % every == 0 or epoch == epochs


def _tired(state: Checkpoint, patience: int | None) -> bool:
    return patience is not None and state.epoch - 1 - int(state.best_epoch.max()) >= patience and state.epoch > 0


def _stop_if_diverged(losses: Float[Tensor, "two members"], epoch: int) -> None:
    bad = ~torch.isfinite(losses).all(dim=0)
    if bad.any():
        raise DivergedError(
            f"Training diverged in epoch {epoch + 1}: the loss of member {int(bad.int().argmax())} of {len(bad)} is no "
            "finite number. Lower the learning rate, scale the features, or raise u to 1 or more."
        )
