"""The same on a GPU; skipped where there is none."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from askwho.engine import Alone, Mlp, Training, apply, resnet, train  # noqa: E402
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

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU, and torch sees none here")
PLAN = Training(epochs=6, batch=16, rate=(1e-2, 1e-3), precision="float32")


def fit(network, device, training=PLAN, **options):
    history = train(
        network, INPUTS, [TARGETS], cross_entropy, rows=ROWS, held=HELD, training=training, device=device, **options
    )
    return history, {name: value.cpu() for name, value in weights_of(network).items()}


def perceptrons():
    return Mlp(D, M, hidden=(16,), seeds=(0, 1))


def with_dropout():
    made = Alone(nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, M)))
    for i, parameter in enumerate(made.parameters()):
        nn.init.normal_(parameter, std=0.4, generator=torch.Generator().manual_seed(i))
    return made


def test_a_gpu_and_a_cpu_end_with_the_same_network():
    here, weights = fit(perceptrons(), "cpu")
    there, others = fit(perceptrons(), "cuda")
    torch.testing.assert_close(there.held, here.held, rtol=1e-3, atol=1e-5)
    assert_same_weights(others, weights, rtol=1e-3, atol=1e-5)
    assert torch.equal(here.best_epoch, there.best_epoch)


def test_a_gpu_repeats_itself_and_leaves_chance_alone():
    plan = Training(epochs=3, batch=16, rate=1e-2)
    once, weights = fit(with_dropout(), "cuda", plan)
    torch.rand(100, device="cuda")
    before = torch.cuda.get_rng_state()
    twice, others = fit(with_dropout(), "cuda", plan)
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert torch.equal(once.held, twice.held)
    assert_same_weights(weights, others)


def test_on_a_gpu_the_precision_is_bfloat16_by_itself():
    auto, _ = fit(perceptrons(), "cuda", Training(epochs=3, batch=16, rate=1e-2))
    half, _ = fit(perceptrons(), "cuda", Training(epochs=3, batch=16, rate=1e-2, precision="bfloat16"))
    full, _ = fit(perceptrons(), "cuda", Training(epochs=3, batch=16, rate=1e-2, precision="float32"))
    assert torch.equal(auto.held, half.held)
    assert not torch.equal(auto.held, full.held)
    torch.testing.assert_close(auto.held, full.held, rtol=0.02, atol=0.02)


def test_a_killed_fit_goes_on_to_the_bit_on_a_gpu_too(tmp_path):
    expected, weights = fit(with_dropout(), "cuda", Training(epochs=6, batch=16))

    def dying(line):
        if line.startswith("epoch 5/"):
            raise KeyboardInterrupt

    plan, path = Training(epochs=6, batch=16), tmp_path / "fit"
    with pytest.raises(KeyboardInterrupt):
        fit(with_dropout(), "cuda", plan, checkpoint=path, checkpoint_every=2, progress=dying)
    assert path.exists()
    found, others = fit(with_dropout(), "cuda", plan, checkpoint=path, checkpoint_every=2)
    assert torch.equal(found.held, expected.held)
    assert_same_weights(others, weights)


def test_a_residual_network_scores_alike_and_does_not_seed_the_gpu():
    torch.rand(10, device="cuda")
    before = torch.cuda.get_rng_state()
    network = resnet(4, 5, width=8, seed=1)
    assert torch.equal(torch.cuda.get_rng_state(), before)
    images = torch.rand(8, 3072, generator=torch.Generator().manual_seed(0))
    here = apply(network, images, device="cpu")
    torch.testing.assert_close(apply(network, images, batch=3, device="cuda"), here, rtol=1e-2, atol=1e-3)


def test_compiled_a_residual_network_learns_what_it_learns_otherwise():
    chance = torch.Generator().manual_seed(0)
    images = torch.rand(70, 3072, generator=chance)
    truth = torch.eye(M)[torch.randint(0, M, (1, 70), generator=chance)]
    held = []
    for compiled in (False, True):
        network = Alone(resnet(4, M, width=8, seed=1))
        plan = Training(epochs=4, batch=32, precision="float32", compiled=compiled)
        # 64 rows are two whole batches: compiled or not, the same rows are seen.
        history = train(
            network, images, [truth], cross_entropy, rows=torch.arange(64), held=torch.arange(64, 70), training=plan
        )
        held.append(history.held)
    torch.testing.assert_close(held[1], held[0], rtol=1e-2, atol=1e-3)


def test_in_bfloat16_the_first_layer_is_normed_by_moments_in_float32():
    stem = resnet(4, M, width=8, seed=1)[1].cuda()
    coarse = torch.rand(32, 3, 8, 8, device="cuda").repeat_interleave(4, dim=2).repeat_interleave(4, dim=3)
    images = coarse + 0.01 * torch.randn(32, 3, 32, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16), torch.no_grad():
        half = stem(images)
    rounded = images.bfloat16().double()
    expected = stem.double()(rounded)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double(), expected, rtol=0.02, atol=0.02)
