"""Classifiers of paper E: convolutional networks, and the training of classifiers by cross-entropy.

Fully connected networks are those of ``small_nets``.

Training uses one thread on every computer, since sums divided among threads round differently.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.optim import Optimizer

from gramian.core import threads
from gramian.experiments.e_gram.image_rows import ImageData
from gramian.nets import FeatureMoments
from gramian.optim import GramWhitened, nearest_with_gram

_ROWS = 4096
"""Rows of one forward pass while a network is measured."""


def cnn_classifier(
    shape: tuple[int, int, int], channels: int, classes: int, rng: torch.Generator, kernel: int = 3
) -> nn.Sequential:
    """Make the convolutional network of B.2: three convolutions with ReLU, max-pooling after the first and the third.

    An odd ``kernel`` has padding ``(kernel − 1)/2``, as in the authors' code; with an even one, the text's 2, the
    picture is padded by ``kernel/2`` and each convolution makes it larger by one.

    >>> net = cnn_classifier((1, 8, 8), 4, 10, torch.Generator().manual_seed(0))
    >>> net(torch.zeros(3, 64)).shape
    torch.Size([3, 10])
    """
    height, width = shape[1:]
    modules: list[nn.Module] = [nn.Unflatten(1, shape)]
    before = shape[0]
    for pooled in (True, False, True):
        conv = nn.utils.skip_init(nn.Conv2d, before, channels, kernel, padding=kernel // 2)
        modules += [_drawn(conv, rng), nn.ReLU()]
        height, width, before = height + 1 - kernel % 2, width + 1 - kernel % 2, channels
        if pooled:
            modules.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
    head = nn.utils.skip_init(nn.Linear, channels * height * width, classes)
    return nn.Sequential(*modules, nn.Flatten(), _drawn(head, rng))


def _drawn(layer: nn.Module, rng: torch.Generator) -> nn.Module:
    weight = layer.get_parameter("weight")
    bound = 1 / math.sqrt(weight[0].numel())
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-bound, bound, generator=rng)
    return layer


def whitened_sgd(model: nn.Module, rate: float, momentum: float, method: Literal["svd", "newton-schulz"]) -> Optimizer:
    """Make SGD whose steps are whitened for every weight matrix and convolution, the last layer's included.

    >>> from gramian.experiments.e_gram.small_nets import perceptron
    >>> net = perceptron((4, 8, 2), "gelu", torch.Generator().manual_seed(0))
    >>> whitened_sgd(net, 0.1, 0.9, "svd")
    GramWhitened(...whitened=2)
    """
    base = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    return GramWhitened(base, whiten=[p for p in model.parameters() if p.ndim > 1], method=method)


def gram_kept_sgd(model: nn.Module, rate: float, momentum: float) -> Optimizer:
    """Make SGD whose steps leave every Gram matrix as it is: our control, the opposite of :func:`whitened_sgd`.

    SGD moves ``W₁ → W₂``; the weight becomes the matrix nearest to W₂ among those with the Gram matrix ``W₁ᵀW₁``.

    >>> from gramian.experiments.e_gram.small_nets import perceptron
    >>> net = perceptron((4, 8, 2), "gelu", torch.Generator().manual_seed(0))
    >>> gram_kept_sgd(net, 0.1, 0.9).param_groups[0]["lr"]
    0.1
    """
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    weights = [p for p in model.parameters() if p.ndim > 1]
    before: list[Tensor] = []

    def remember(*_: object) -> None:
        before[:] = [p.detach().flatten(1).clone() for p in weights]

    @torch.no_grad()
    def rotate(*_: object) -> None:
        for p, start in zip(weights, before, strict=True):
            p.copy_(nearest_with_gram(p.flatten(1), start).reshape(p.shape))

    optimizer.register_step_pre_hook(remember)
    optimizer.register_step_post_hook(rotate)
    return optimizer


def train_classifier(
    model: nn.Module,
    X: Float[Tensor, "n d"],
    y: Int[Tensor, " n"],
    optimizer: Optimizer,
    *,
    epochs: int,
    batch: int,
    rng: torch.Generator,
    watch: Callable[[int], None] | None = None,
) -> None:
    """Train in place on the cross-entropy, in batches of a new random order in every epoch.

    ``watch`` is called with the number of finished epochs, 0 before the first.

    >>> from gramian.experiments.e_gram.small_nets import perceptron
    >>> rng = torch.Generator().manual_seed(0)
    >>> net = perceptron((2, 8, 2), "gelu", rng)
    >>> X = torch.randn(64, 2, generator=rng)
    >>> sgd = torch.optim.SGD(net.parameters(), lr=0.5)
    >>> train_classifier(net, X, (X[:, 0] > 0).long(), sgd, epochs=20, batch=16, rng=rng)
    >>> accuracy(net, X, (X[:, 0] > 0).long()) > 0.9
    True
    """
    with threads(1), torch.enable_grad():
        for epoch in range(epochs):
            if watch is not None:
                watch(epoch)
            for rows in torch.randperm(len(X), generator=rng).split(batch):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(X[rows]), y[rows]).backward()
                optimizer.step()
        if watch is not None:
            watch(epochs)


@torch.no_grad()
def accuracy(model: nn.Module, X: Float[Tensor, "n d"], y: Int[Tensor, " n"]) -> float:
    """Return the share of rows whose largest output is that of their class."""
    right = sum(int((model(part).argmax(1) == of).sum()) for part, of in _parts(X, y))
    return right / len(X)


def training_seconds(data: ImageData, hidden: int, width: int, epochs: int, points: int) -> float:
    """Estimate the seconds of training a perceptron on images, and of measuring it at some epochs.

    That is 3e10 floating-point operations a second, and 0.1 s for a measurement of 5,000 rows.

    >>> round(training_seconds(ImageData("cifar10"), hidden=4, width=256, epochs=100, points=21))
    1004
    """
    rows = data.rows or 50_000
    weights = 3072 / data.pool**2 * width + (hidden - 1) * width**2
    return 6 * weights * rows * epochs / 3e10 + points * rows / 5e4


@torch.no_grad()
def layer_linearity(
    model: nn.Sequential, X: Float[Tensor, "n d"], y: Int[Tensor, " n"], classes: int
) -> tuple[list[float], list[float]]:
    """Return target linearity and surrogate of every hidden state of a fully connected network.

    As in the authors' code: the targets are one-hot with centred columns, the features H are not centred and γ = 0; the
    surrogate is the mean over classes of ``diag(YᵀGY)``, ``G = ZZᵀ`` with the linearised ``Z = HWᵀ`` of the next layer.

    >>> from gramian.experiments.e_gram.small_nets import perceptron
    >>> rng = torch.Generator().manual_seed(0)
    >>> net = perceptron((3, 8, 8, 2), "gelu", rng)
    >>> linearity, surrogates = layer_linearity(net, torch.randn(50, 3, generator=rng), torch.arange(50) % 2, 2)
    >>> len(linearity), len(surrogates)
    (2, 2)
    """
    later = [module for module in model if isinstance(module, nn.Linear)][1:]
    features = [FeatureMoments(layer.in_features, classes) for layer in later]
    images = [FeatureMoments(layer.out_features, classes, second=False) for layer in later]
    for part, of in _parts(X, y):
        Y = nn.functional.one_hot(of, classes).double()
        H = part
        for module in model:
            for at, layer in enumerate(later):
                if module is layer:
                    features[at].add(H, Y)
                    images[at].add(H @ layer.weight.mT, Y)
            H = module(H)
    n = len(X)
    # FeatureMoments divides the trace by n²; the paper's surrogate is a sum over pairs of rows, a mean over classes.
    surrogates = [moments.surrogate() * n * n / classes for moments in images]
    return [moments.target_linearity(0.0, center=False) for moments in features], surrogates


def _parts(X: Tensor, y: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(X.split(_ROWS), y.split(_ROWS), strict=True))
