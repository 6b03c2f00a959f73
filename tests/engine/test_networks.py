import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from askwho import InvalidInputError, engine  # noqa: E402
from askwho.engine import Alone, Mlp, Network, Pixels, resnet  # noqa: E402
from tests.engine import problem  # noqa: E402


def test_each_member_of_perceptrons_starts_as_it_would_alone():
    together = Mlp(4, 3, hidden=(8, 5), seeds=(3, 1, 4))
    for member, seed in enumerate((3, 1, 4)):
        alone = Mlp(4, 3, hidden=(8, 5), seeds=(seed,))
        problem.assert_same_weights(problem.weights_of(together, member), problem.weights_of(alone))
    assert not torch.equal(together.weights[0][0], together.weights[0][1])


def test_perceptrons_start_as_linear_layers_of_torch_do():
    network = Mlp(16, 3, hidden=(25,), seeds=(0,))
    for weight, bias, inputs in zip(network.weights, network.biases, (16, 25), strict=True):
        bound = inputs**-0.5
        assert 0.9 * bound < weight.abs().max() <= bound
        assert bias.abs().max() <= bound


@pytest.mark.parametrize("shared", [True, False], ids=["shared rows", "rows of each member"])
def test_perceptrons_give_each_member_its_own_scores(shared):
    network = Mlp(4, 3, hidden=(8,), seeds=(0, 1))
    inputs = problem.INPUTS[:6] if shared else torch.stack([problem.INPUTS[:6], problem.INPUTS[6:12]])
    scores = network(inputs)
    assert scores.shape == (2, 6, 3)
    for member in range(2):
        x = inputs if shared else inputs[member]
        by_hand = torch.relu(x @ network.weights[0][member] + network.biases[0][member])
        by_hand = by_hand @ network.weights[1][member] + network.biases[1][member]
        torch.testing.assert_close(scores[member], by_hand)


def test_perceptrons_without_hidden_layers_are_linear():
    network = Mlp(4, 3, hidden=(), seeds=(5, 6))
    x, y = problem.INPUTS[:10], problem.INPUTS[10:20]
    zero = network(torch.zeros(10, 4))
    torch.testing.assert_close(network(2 * x - 3 * y) - zero, 2 * (network(x) - zero) - 3 * (network(y) - zero))
    assert len(network.weights) == 1
    curved = Mlp(4, 3, hidden=(8,), seeds=(5, 6))
    assert not torch.allclose(curved(2 * x) + curved(-2 * x), 2 * curved(torch.zeros(10, 4)), atol=1e-3)


@pytest.mark.parametrize("hidden", [(0,), (8, -1)])
def test_layers_without_width_are_refused(hidden):
    with pytest.raises(InvalidInputError, match="`hidden` must hold widths of at least 1, got"):
        Mlp(4, 3, hidden=hidden)


def test_any_module_is_a_network_of_one_member():
    module = nn.Linear(4, 3)
    network = Alone(module)
    assert isinstance(network, Network)
    assert network.members == 1
    torch.testing.assert_close(network(problem.INPUTS), module(problem.INPUTS)[None])


def layers(module):
    """The layers with weights on the way from input to output: not the shortcuts, which go around."""
    return [
        (name, m)
        for name, m in module.named_modules()
        if isinstance(m, nn.Conv2d | nn.Linear) and "around" not in name.split(".")
    ]


@pytest.mark.parametrize("depth", [4, 6, 8, 10])
def test_the_depth_of_a_residual_network_counts_its_layers_with_weights(depth):
    network = resnet(depth, 7, width=4)
    found = layers(network)
    assert len(found) == depth
    assert all(m.kernel_size == (3, 3) for _, m in found[:-1])
    assert found[-1][1].out_features == 7
    # Each further block halves the resolution and doubles the channels.
    assert found[-1][1].in_features == 4 * 2 ** ((depth - 2) // 2 - 1)
    assert [m.stride[0] for _, m in found[:-1]].count(2) == (depth - 2) // 2 - 1


@pytest.mark.parametrize("depth", [4, 10])
def test_a_residual_network_takes_images_and_rows_alike(depth):
    network = resnet(depth, 5, width=4).eval()
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        scores = network(images)
        assert scores.shape == (2, 5)
        torch.testing.assert_close(network(images.reshape(2, -1)), scores, rtol=0, atol=0)
    assert not torch.allclose(scores[0], scores[1])


def test_a_residual_network_is_made_from_its_seed_and_leaves_chance_alone(monkeypatch):
    # A GPU's generators are global too: nobody may seed them on the way.
    monkeypatch.setattr(torch.cuda, "manual_seed_all", lambda seed: pytest.fail("the GPU was seeded"))
    torch.default_generator.manual_seed(11)
    before = torch.get_rng_state()
    once = problem.weights_of(resnet(6, 5, width=4, seed=3))
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(100)
    problem.assert_same_weights(once, problem.weights_of(resnet(6, 5, width=4, seed=3)))
    assert not problem.same_weights(once, problem.weights_of(resnet(6, 5, width=4, seed=4)))


def smooth_images(n, dtype):
    """Images whose neighbouring pixels are nearly the same, as in photographs: moments cancel there."""
    chance = torch.Generator().manual_seed(4)
    coarse = torch.rand(n, 3, 8, 8, generator=chance).repeat_interleave(4, dim=2).repeat_interleave(4, dim=3)
    return (coarse + 0.01 * torch.randn(n, 3, 32, 32, generator=chance)).to(dtype)


@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_the_first_layer_is_a_convolution_batch_norm_and_relu(dtype, close):
    stem = resnet(4, 5, width=6, seed=1)[1].to(dtype)
    layers = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU()).to(dtype)
    layers[0].load_state_dict(stem.convolution.state_dict())
    with torch.no_grad():
        for norm in (stem.norm, layers[1]):
            norm.weight.copy_(torch.linspace(0.5, 2.0, 6))
            norm.bias.copy_(torch.linspace(-1.0, 1.0, 6))
    weigh = torch.randn(5, 6, 32, 32, generator=torch.Generator().manual_seed(2)).to(dtype)
    images = [smooth_images(5, dtype).requires_grad_() for _ in range(2)]
    for _ in range(3):  # running statistics follow too
        values = stem(images[0]), layers(images[1])
        torch.testing.assert_close(*values, rtol=close, atol=close)
    for value in values:
        (value * weigh).mean().backward()
    torch.testing.assert_close(images[0].grad, images[1].grad, rtol=close, atol=close)
    for ours, theirs in zip(stem.parameters(), layers.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=close, atol=close)
    for ours, theirs in zip(stem.buffers(), layers.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=close, atol=close)
    torch.testing.assert_close(stem.eval()(images[0]), layers.eval()(images[1]), rtol=close, atol=close)


@pytest.mark.parametrize("depth", [2, 5, 12])
def test_other_depths_are_refused(depth):
    with pytest.raises(InvalidInputError, match="`depth` must be 4, 6, 8 or 10"):
        resnet(depth, 5)


def test_the_engine_has_what_it_names_and_nothing_else():
    assert all(hasattr(engine, name) for name in engine.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'fit'"):
        _ = engine.fit


def pictures(n=6):
    return torch.randint(0, 256, (n, 3072), generator=torch.Generator().manual_seed(1), dtype=torch.uint8)


def test_pixels_are_scaled_channel_by_channel():
    rows = pictures()
    images = Pixels((100.0, 50.0, 0.0), (2.0, 4.0, 5.0))(rows)
    assert images.shape == (6, 3, 32, 32)
    expected = rows.reshape(6, 3, 1024).float()
    torch.testing.assert_close(images[:, 0].flatten(1), (expected[:, 0] - 100) / 2)
    torch.testing.assert_close(images[:, 1].flatten(1), (expected[:, 1] - 50) / 4)
    torch.testing.assert_close(images[:, 2].flatten(1), expected[:, 2] / 5)


def test_images_are_moved_while_training_and_only_then():
    rows = pictures(64)
    front = Pixels((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), moved=True)
    still = Pixels((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))(rows)
    assert torch.equal(front.eval()(rows), still)
    torch.manual_seed(0)
    moved = front.train()(rows)
    # Every shown image is the original, mirrored or not, seen through a window that is up to four pixels off.
    padded = torch.nn.functional.pad(still, (4, 4, 4, 4))
    seen = set()
    for image, original in zip(moved, padded, strict=True):
        places = [
            (down, right, mirrored)
            for mirrored in (False, True)
            for down in range(9)
            for right in range(9)
            if torch.equal(
                image, _window(original, down, right).flip(2) if mirrored else _window(original, down, right)
            )
        ]
        assert len(places) == 1
        seen.update(places)
    assert len({mirrored for _, _, mirrored in seen}) == 2
    assert len(seen) > 30


def _window(image, down, right):
    return image[:, down : down + 32, right : right + 32]
