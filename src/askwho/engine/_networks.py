"""Networks: perceptrons by the dozen, trained as one; small residual networks; and any module at all."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from askwho.exceptions import InvalidInputError

# What a batch adds to running statistics; PyTorch's own.
_MOMENTUM = 0.1


class Network(nn.Module):
    """What the engine trains: `members` models side by side, (b, ...) or (members, b, ...) in, (members, b, m) out.

    Where there are several members every parameter has them as its first axis, so that each can keep its own best
    weights.
    """

    members: int = 1


class Mlp(Network):
    """Perceptrons side by side, one for each seed; without hidden layers they are linear.

    A member starts and learns as it would alone: members share nothing but the batches.

    Args:
        n_inputs: d.
        n_outputs: m.
        hidden: the widths of the hidden layers.
        seeds: one a member.
    """

    def __init__(
        self, n_inputs: int, n_outputs: int, *, hidden: Sequence[int] = (64, 64), seeds: Sequence[int] = (0,)
    ) -> None:
        super().__init__()
        if not all(width >= 1 for width in hidden):
            raise InvalidInputError(f"`hidden` must hold widths of at least 1, got {tuple(hidden)!r}.")
        self.members = len(seeds)
        layers = list(pairwise((n_inputs, *hidden, n_outputs)))
        made = [[_uniform(*layer, generator) for layer in layers] for generator in map(_generator, seeds)]
        self.weights = nn.ParameterList(torch.stack([m[i][0] for m in made]) for i in range(len(layers)))
        self.biases = nn.ParameterList(torch.stack([m[i][1] for m in made]) for i in range(len(layers)))

    def forward(self, inputs: Tensor) -> Float[Tensor, "members b m"]:
        """Return scores, shape (members, b, m)."""
        x = inputs.expand(self.members, *inputs.shape[-2:])
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias.unsqueeze(1), x, weight)
            if i < last:
                x = torch.relu(x)
        return x


class Alone(Network):
    """Any module, as one member: (b, ...) in, (1, b, m) out.

    Args:
        module: (b, ...) in, (b, m) out.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, inputs: Tensor) -> Float[Tensor, "1 b m"]:
        """Return scores, shape (1, b, m)."""
        return self.module(inputs).unsqueeze(0)


def resnet(depth: int, n_outputs: int, *, width: int = 64, seed: int = 0) -> nn.Module:
    """Return a residual network for 32×32 colour images, given as images (b, 3, 32, 32) or as rows (b, 3072).

    As in the original, depth counts the layers that have weights: a 3×3 convolution, two for each basic block, and
    the last linear one, so depth = 2·blocks + 2. ResNet-4 is one block at full resolution and `width` channels;
    each further block halves the resolution and doubles the channels. ResNet-10 has four.

    Args:
        depth: 4, 6, 8 or 10.
        n_outputs: m.
        width: channels of the first block.
        seed: of the weights it starts from.

    References:
        He, Zhang, Ren, Sun. Deep residual learning for image recognition. CVPR 2016.
    """
    if depth not in (4, 6, 8, 10):
        raise InvalidInputError(f"`depth` must be 4, 6, 8 or 10 (two for each block, and two), got {depth!r}.")
    with torch.random.fork_rng(devices=[]):
        # Not `torch.manual_seed`: it would leave the GPU's own generators seeded too.
        torch.default_generator.manual_seed(seed)
        widths = [width * 2**i for i in range((depth - 2) // 2)]
        blocks = [_Block(a, b, stride=1 if i == 0 else 2) for i, (a, b) in enumerate(pairwise([width, *widths]))]
        return nn.Sequential(
            _Images(),
            _Stem(width),
            *blocks,
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(widths[-1], n_outputs),
        )


class Pixels(nn.Module):
    """Bytes of 32×32 colour images, rows (b, 3072), as scaled images (b, 3, 32, 32).

    Args:
        mean: of each channel, 0 to 255.
        deviation: of each channel.
        moved: while training, show each image mirrored or not and moved by up to four pixels, as chance has it.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: Sequence[float], deviation: Sequence[float], *, moved: bool = False) -> None:
        super().__init__()
        self.moved = moved
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).view(3, 1, 1))

    def forward(self, inputs: Tensor) -> Float[Tensor, "b 3 32 32"]:
        """Return images scaled by the channels' means and deviations."""
        images = inputs.reshape(-1, 3, 32, 32)
        if self.moved and self.training:
            images = _moved(images)
        scaled = (images.float() - self.mean) / self.deviation
        return scaled.contiguous(memory_format=torch.channels_last)


def _moved(images: Tensor, *, by: int = 4) -> Tensor:
    """Each image moved and mirrored by chance; what comes in from outside is black."""
    n, place = len(images), torch.arange(32, device=images.device)
    down, right = (torch.randint(0, 2 * by + 1, (n, 1), device=images.device) for _ in range(2))
    mirrored = torch.rand(n, 1, device=images.device) < 0.5
    rows, columns = place + down, torch.where(mirrored, 31 - place, place) + right
    padded = nn.functional.pad(images, (by, by, by, by)).permute(0, 2, 3, 1)
    each = torch.arange(n, device=images.device)[:, None, None]
    return padded[each, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class _Images(nn.Module):
    """Rows of 3072 numbers as images; images as they are."""

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.reshape(inputs.shape[0], 3, 32, 32)


class _Stem(nn.Module):
    """A 3×3 convolution of colour images, batch norm and ReLU; while training, one product of matrices.

    What the convolution gives is linear in the 3×3 patches of the images, so its mean and variance over a batch follow
    from the moments of those 27 numbers: batch norm needs no pass over the far larger output, neither forwards nor
    backwards. As a product of matrices it is also several times as fast as convolutions of three channels are on a GPU.

    References:
        Ioffe, Szegedy. Batch normalization: accelerating deep network training by reducing internal covariate shift.
        ICML 2015.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width, momentum=_MOMENTUM)

    def forward(self, images: Tensor) -> Tensor:
        if not self.training:
            return torch.relu(self.norm(self.convolution(images)))
        device = images.device.type
        if torch.is_autocast_enabled(device):
            images = images.to(torch.get_autocast_dtype(device))
        patches = _patches(images)
        with torch.autocast(device, enabled=False):
            weights = self._normed(_second_moments(patches), len(patches)).to(patches.dtype)
            values = torch.relu(patches @ weights.T)
        return values.view(len(images), 32, 32, -1).permute(0, 3, 1, 2)

    def _normed(self, moments: Float[Tensor, "32 32"], count: int) -> Float[Tensor, "width 32"]:
        """The convolution's weights with batch norm folded in, the bias behind them; running statistics follow."""
        weights = nn.functional.pad(self.convolution.weight.flatten(1), (0, 5))
        products = weights @ moments
        mean = products[:, 27]
        variance = ((products * weights).sum(dim=1) - mean**2).clamp(min=0.0)  # below 0 by rounding alone
        running_mean, running_variance, batches = self.norm.buffers()
        with torch.no_grad():
            running_mean.lerp_(mean, _MOMENTUM)
            running_variance.lerp_(variance * (count / (count - 1)), _MOMENTUM)
            batches += 1
        scale = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        bias = self.norm.bias - mean * scale
        return torch.cat([weights[:, :27] * scale[:, None], bias[:, None], weights[:, 28:]], dim=1)


def _patches(images: Tensor) -> Float[Tensor, "rows 32"]:
    """The 3×3 patch around every pixel, 27 numbers, and five ones: the width of 32 is what matrix units like."""
    windows = nn.functional.pad(images, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
    return nn.functional.pad(windows.permute(0, 2, 3, 1, 4, 5).reshape(-1, 27), (0, 5), value=1.0)


def _second_moments(patches: Float[Tensor, "rows 32"]) -> Float[Tensor, "32 32"]:
    """Means of the products of every two columns, in float32 at the least; beside the ones stand the means."""
    if patches.is_cuda and patches.dtype == torch.bfloat16 and not patches.requires_grad:
        return torch.mm(patches.T, patches, out_dtype=torch.float32) / len(patches)
    wide = patches.to(torch.promote_types(patches.dtype, torch.float32))
    return wide.T @ wide / len(wide)


class _Block(nn.Module):
    """Two 3×3 convolutions and a way around them."""

    def __init__(self, n_inputs: int, n_outputs: int, *, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_inputs, n_outputs, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(n_outputs),
            nn.ReLU(),
            nn.Conv2d(n_outputs, n_outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(n_outputs),
        )
        self.around = (
            nn.Identity()
            if stride == 1 and n_inputs == n_outputs
            else nn.Sequential(nn.Conv2d(n_inputs, n_outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(n_outputs))
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.around(x))


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(int(seed))


def _uniform(n_inputs: int, n_outputs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Weights and bias of one layer, as `torch.nn.Linear` starts them."""
    bound = n_inputs**-0.5
    weight = torch.empty(n_inputs, n_outputs).uniform_(-bound, bound, generator=generator)
    return weight, torch.empty(n_outputs).uniform_(-bound, bound, generator=generator)
