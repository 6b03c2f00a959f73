"""A fit that was killed goes on from its file as if nothing had happened, and no other fit goes on from it."""

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from askwho import InvalidInputError  # noqa: E402
from askwho.engine import Alone, Mlp, Training, train  # noqa: E402
from askwho.engine import _checkpoint as checkpoints  # noqa: E402
from tests.engine.problem import (  # noqa: E402
    HELD,
    INPUTS,
    ROWS,
    TARGETS,
    D,
    M,
    assert_same_weights,
    cross_entropy,
    weights_of,
)

EPOCHS = 7
PLAN = Training(epochs=EPOCHS, batch=16, rate=2e-2)


class KilledError(Exception):
    """What stops a fit in these tests."""


class Tied(nn.Module):
    """Two layers with one matrix."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.last = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, M)
        self.two.weight = self.one.weight

    def forward(self, inputs):
        return self.last(torch.relu(self.two(torch.relu(self.one(inputs)))))


def module(*layers):
    made = Alone(layers[0] if len(layers) == 1 else nn.Sequential(*layers))
    for i, parameter in enumerate(made.parameters()):
        nn.init.normal_(parameter, std=0.4, generator=torch.Generator().manual_seed(i))
    return made


NETWORKS = {
    "perceptrons": (lambda: Mlp(D, M, hidden=(8,), seeds=(0, 1, 2)), PLAN),
    "three rates": (
        lambda: Mlp(D, M, hidden=(8,), seeds=(0, 1, 2)),
        Training(epochs=EPOCHS, batch=16, rate=(0.1, 0.01, 0.03)),
    ),
    "weight decay": (lambda: Mlp(D, M, hidden=()), Training(epochs=EPOCHS, batch=16, rate=0.1, weight_decay=0.2)),
    "batch norm and dropout": (
        lambda: module(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, M)),
        PLAN,
    ),
    "weights used twice": (lambda: module(Tied()), PLAN),
    "patience": (
        lambda: Mlp(D, M, hidden=(16,), seeds=(0, 1)),
        Training(epochs=40, batch=16, rate=0.3, schedule="constant", patience=2),
    ),
}


def fit(network, path, training=PLAN, *, inputs=INPUTS, targets=TARGETS, rows=ROWS, held=HELD, every=2, **options):
    options = {"loss": cross_entropy, "random_state": 4, **options}
    return train(
        network,
        inputs,
        [targets],
        rows=rows,
        held=held,
        training=training,
        device="cpu",
        checkpoint=path,
        checkpoint_every=every,
        **options,
    )


def dies_after(epoch):
    def progress(line):
        if line.startswith(f"epoch {epoch}/"):
            raise KilledError

    return progress


def assert_same_history(one, other):
    assert torch.equal(one.held, other.held)
    assert torch.equal(one.best_epoch, other.best_epoch)
    assert torch.equal(one.best, other.best)


@pytest.mark.parametrize("epoch", [1, 2, 3, 5, EPOCHS])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_killed_fit_goes_on_to_the_bit(name, epoch, tmp_path):
    make, plan = NETWORKS[name]
    whole = make()
    expected = fit(whole, None, plan)
    assert len(expected.held) >= min(epoch, 5)
    path = tmp_path / "fit"
    if epoch <= len(expected.held):
        with pytest.raises(KilledError):
            fit(make(), path, plan, progress=dies_after(epoch))
        # Killed at an even epoch it dies before that epoch is on file: what goes on is the one before.
        assert path.exists() == (epoch > 2)
    again, lines = make(), []
    found = fit(again, path, plan, progress=lines.append)
    assert_same_history(found, expected)
    assert_same_weights(weights_of(again), weights_of(whole))
    assert not path.exists()
    if 2 < epoch <= len(expected.held):
        assert lines[0].startswith(f"epoch {(epoch - 1) // 2 * 2 + 1}/")


def test_a_fit_can_be_killed_again_and_again(tmp_path):
    make, plan = NETWORKS["perceptrons"]
    whole = make()
    expected = fit(whole, None, plan)
    path = tmp_path / "fit"
    for epoch in (2, 3, 4, 6, 7):
        with pytest.raises(KilledError):
            fit(make(), path, plan, every=1, progress=dies_after(epoch))
    again = make()
    assert_same_history(fit(again, path, plan, every=1), expected)
    assert_same_weights(weights_of(again), weights_of(whole))


@pytest.mark.parametrize("call", [5, 11, 16])
def test_a_fit_killed_in_the_middle_of_an_epoch_goes_on_too(call, tmp_path):
    make, plan = NETWORKS["batch norm and dropout"]
    whole = make()
    expected = fit(whole, None, plan)
    path, calls = tmp_path / "fit", []

    def dying(scores, weights):
        calls.append(None)
        if len(calls) == call:
            raise KilledError
        return cross_entropy(scores, weights)

    with pytest.raises(KilledError):
        fit(make(), path, plan, every=1, loss=dying)
    again = make()
    assert_same_history(fit(again, path, plan), expected)
    assert_same_weights(weights_of(again), weights_of(whole))


def test_a_fit_killed_after_its_last_epoch_only_hands_over(monkeypatch, tmp_path):
    make, plan = NETWORKS["perceptrons"]
    whole = make()
    expected = fit(whole, None, plan)
    path = tmp_path / "fit"

    def dying(_self, _network):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Checkpoint, "give_best", dying)
        with pytest.raises(KilledError):
            fit(make(), path, plan)
    again, lines = make(), []
    assert_same_history(fit(again, path, plan, progress=lines.append), expected)
    assert_same_weights(weights_of(again), weights_of(whole))
    assert lines == []


def test_killed_while_the_file_is_written_the_one_before_is_whole(monkeypatch, tmp_path):
    make, plan = NETWORKS["perceptrons"]
    whole = make()
    expected = fit(whole, None, plan)
    path, replaced, replace = tmp_path / "fit", [], Path.replace

    def dying(self, target):
        replaced.append(target)
        if len(replaced) == 2:
            raise KilledError
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        with pytest.raises(KilledError):
            fit(make(), path, plan)
    assert [p.name for p in tmp_path.iterdir()] == ["fit"]
    again, lines = make(), []
    assert_same_history(fit(again, path, plan, progress=lines.append), expected)
    assert_same_weights(weights_of(again), weights_of(whole))
    assert lines[0].startswith("epoch 3/")


def test_a_process_that_is_gone_leaves_a_file_that_another_goes_on_from(tmp_path):
    code = f"""
import os, pathlib, torch
torch.set_num_threads(1)
from tests.engine import test_checkpoint as t
make, plan = t.NETWORKS["perceptrons"]
t.fit(make(), pathlib.Path({str(tmp_path / "fit")!r}), plan, progress=lambda line: line[6] == "5" and os._exit(9))
"""
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert found.returncode == 9, found.stderr
    make, plan = NETWORKS["perceptrons"]
    whole, again = make(), make()
    expected = fit(whole, None, plan)
    assert_same_history(fit(again, tmp_path / "fit", plan), expected)
    assert_same_weights(weights_of(again), weights_of(whole))


def test_how_often_it_is_written_changes_nothing(tmp_path):
    make, plan = NETWORKS["perceptrons"]
    one, other = make(), make()
    assert_same_history(fit(one, tmp_path / "a", plan, every=1), fit(other, tmp_path / "b", plan, every=50))
    assert_same_weights(weights_of(one), weights_of(other))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def stopped(tmp_path):
    """The file of a fit that was killed."""
    path = tmp_path / "fit"
    with pytest.raises(KilledError):
        fit(NETWORKS["perceptrons"][0](), path, loss_name="cross-entropy", progress=dies_after(4))
    return path


def changed(tensor):
    other = tensor.clone()
    other.view(-1)[0] += 1
    return other


OTHERS = {
    "inputs": {"inputs": changed(INPUTS)},
    "targets": {"targets": changed(TARGETS)},
    "rows": {"rows": ROWS.flip(0)},
    "held-out rows": {"held": HELD[:-1]},
    "epochs": {"training": Training(epochs=EPOCHS + 1, batch=16, rate=2e-2)},
    "batch": {"training": Training(epochs=EPOCHS, batch=15, rate=2e-2)},
    "rate": {"training": Training(epochs=EPOCHS, batch=16, rate=2.1e-2)},
    "schedule": {"training": Training(epochs=EPOCHS, batch=16, rate=2e-2, schedule="constant")},
    "weight decay": {"training": Training(epochs=EPOCHS, batch=16, rate=2e-2, weight_decay=0.1)},
    "precision": {"training": Training(epochs=EPOCHS, batch=16, rate=2e-2, precision="bfloat16")},
    "seed": {"random_state": 5},
    "loss": {"loss_name": "something else"},
    "seeds of the members": {"network": Mlp(D, M, hidden=(8,), seeds=(0, 1, 9))},
    "number of members": {"network": Mlp(D, M, hidden=(8,), seeds=(0, 1))},
    "width": {"network": Mlp(D, M, hidden=(9,), seeds=(0, 1, 2))},
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_file_of_another_fit_is_refused(name, stopped):
    options = {"network": NETWORKS["perceptrons"][0](), "loss_name": "cross-entropy", **OTHERS[name]}
    with pytest.raises(InvalidInputError) as error:
        fit(path=stopped, **options)
    assert str(error.value) == (
        f"`checkpoint` must be of this training, got {str(stopped)!r}, which is of other data, settings or another "
        "seed: remove it, or name another file."
    )
    assert stopped.exists()


def test_the_file_of_a_network_of_other_layers_is_refused(tmp_path):
    with pytest.raises(KilledError):
        fit(module(nn.Linear(D, 8), nn.ReLU(), nn.Linear(8, M)), tmp_path / "fit", progress=dies_after(4))
    with pytest.raises(InvalidInputError, match="must be of this training"):
        fit(module(nn.Linear(D, 8), nn.Tanh(), nn.Linear(8, M)), tmp_path / "fit")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.999])
def test_a_truncated_file_is_refused(share, stopped):
    data = stopped.read_bytes()
    stopped.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InvalidInputError) as error:
        fit(NETWORKS["perceptrons"][0](), stopped, loss_name="cross-entropy")
    assert str(error.value).startswith(f"`checkpoint` must be whole, got {str(stopped)!r}: ")
    assert str(error.value).endswith("Remove it.")


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes").write_text("not a checkpoint, but long enough to look like one" * 10)
    with pytest.raises(InvalidInputError, match="`checkpoint` must be whole"):
        fit(NETWORKS["perceptrons"][0](), tmp_path / "notes")
    with pytest.raises(InvalidInputError, match="`checkpoint` must be whole"):
        fit(NETWORKS["perceptrons"][0](), tmp_path)
