"""Equation 1 and Theorem 1: the Feature Learning Equation, and the Gram matrix after a step of gradient descent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_least, between, experiment
from gramian.experiments.e_gram.small_nets import layer_inputs, linear_layers, perceptron
from gramian.features import nfm, vcs_from_moments, virtual_covariance_shift

_STEPS = (1e-1, 1e-2, 1e-3, 1e-4)


@dataclass(frozen=True)
class Sizes:
    """Rows, inputs and width of networks with three layers; side of the images and channels of a convolution."""

    n: int
    d: int
    width: int
    side: int = 6
    channels: int = 4


@dataclass(frozen=True)
class LayerStep:
    """A layer's weight, the gradient of the mean loss at it, and the sums over rows (or patches) and their number.

    ``H`` are the rows that the layer multiplies by W, ``V`` the gradients of each sample's loss at them.
    """

    W: Float[Tensor, "m k"]
    G: Float[Tensor, "m k"]
    H: Float[Tensor, "r k"]
    V: Float[Tensor, "r k"]
    n: int


def relative(A: Tensor, B: Tensor) -> float:
    """Return ``‖A − B‖ / ‖B‖``.

    >>> relative(torch.tensor([3.0]), torch.tensor([2.0]))
    0.5
    """
    return float((A - B).norm() / B.norm())


def dense_layers(spec: Sizes, rng: torch.Generator) -> list[LayerStep]:
    """Return the layers of a tanh network with biases, on the squared loss.

    >>> [layer.W.shape[0] for layer in dense_layers(Sizes(5, 3, 4), torch.Generator().manual_seed(0))]
    [4, 4, 1]
    """
    X, y = _normal(rng, spec.n, spec.d), _normal(rng, spec.n, 1)
    model = perceptron((spec.d, spec.width, spec.width, 1), "tanh", rng, dtype=torch.float64)
    with torch.enable_grad():
        inputs, output = layer_inputs(model, X.requires_grad_())
        loss = (output - y).square().mean()
        weights = [layer.weight for layer in linear_layers(model)]
        gradients = torch.autograd.grad(loss, [*weights, *inputs])
    G, V = gradients[: len(weights)], gradients[len(weights) :]
    return [
        LayerStep(w.detach(), g, h.detach(), spec.n * v, spec.n)
        for w, g, h, v in zip(weights, G, inputs, V, strict=True)
    ]


def convolution(spec: Sizes, rng: torch.Generator) -> LayerStep:
    """Return a convolution as a layer on patches: gradients at the patches, and torch's own gradient of the weight.

    >>> convolution(Sizes(2, 3, 4), torch.Generator().manual_seed(0)).H.shape
    torch.Size([72, 27])
    """
    X = _normal(rng, spec.n, 3, spec.side, spec.side)
    W = (_normal(rng, spec.channels, 27) / 27**0.5).requires_grad_()
    readout, y = _normal(rng, spec.channels, spec.side**2), _normal(rng, spec.n)

    def loss(Z: Tensor) -> Tensor:
        return ((torch.tanh(Z) * readout).sum((1, 2)) - y).square().mean()

    with torch.enable_grad():
        Z = nn.functional.conv2d(X, W.reshape(-1, 3, 3, 3), padding=1).flatten(2)
        (G,) = torch.autograd.grad(loss(Z), W)
        patches = nn.functional.unfold(X, 3, padding=1).requires_grad_()  # (n, 27, positions)
        (V,) = torch.autograd.grad(loss(W.detach() @ patches), patches)
    rows = [part.detach().mT.reshape(-1, 27) for part in (patches, V)]
    return LayerStep(W.detach(), G, rows[0], spec.n * rows[1], spec.n)


def tied(spec: Sizes, rng: torch.Generator) -> tuple[LayerStep, Float[Tensor, "r k"]]:
    """Return one weight used twice, ``h ← h + tanh(Wh)``, with gradients at the inputs of W; then the total gradients.

    The total gradient at h also contains the way around the layer, over the skip connection.

    >>> layer, total = tied(Sizes(5, 3, 4), torch.Generator().manual_seed(0))
    >>> layer.V.shape == total.shape
    True
    """
    X, y = _normal(rng, spec.n, spec.width), _normal(rng, spec.n, spec.width)
    W = (_normal(rng, spec.width, spec.width) / spec.width**0.5).requires_grad_()
    reads, states = [], []
    with torch.enable_grad():
        H = X.requires_grad_()
        for _ in range(2):
            states.append(H)
            reads.append(H * 1)  # the copy that the layer reads; the skip connection goes past it
            H = H + torch.tanh(reads[-1] @ W.mT)
        loss = (H - y).square().sum(1).mean()
        G, *V = torch.autograd.grad(loss, [W, *reads, *states])
    layer = LayerStep(W.detach(), G, torch.cat(states).detach(), spec.n * torch.cat(V[:2]), spec.n)
    return layer, spec.n * torch.cat(V[2:])


def equation_error(layer: LayerStep) -> float:
    """Return the relative distance of ``Wᵀ∇_W L`` and ``(1/n) Σ ∇ₕℓ hᵀ``."""
    return relative(layer.V.mT @ layer.H / layer.n, layer.W.mT @ layer.G)


def shift_error(layer: LayerStep, step: float) -> Float[Tensor, "k k"]:
    """Return ``W⁺ᵀW⁺ − WᵀW − VCS`` after one step of gradient descent."""
    change = nfm(layer.W - step * layer.G) - nfm(layer.W)
    return change - vcs_from_moments(layer.V.mT @ layer.H, layer.V.mT @ layer.V, layer.n, step)


def slope(error: Callable[[float], float]) -> float:
    """Return the slope of an error over the step on logarithmic axes, by least squares over ``η = 0.1 … 0.0001``.

    >>> round(slope(lambda step: 3 * step**2), 6)
    2.0
    """
    x, y = ([math.log(value) for value in values] for values in (_STEPS, [error(step) for step in _STEPS]))
    centre = sum(x) / len(x)
    return sum((a - centre) * b for a, b in zip(x, y, strict=True)) / sum((a - centre) ** 2 for a in x)


def _normal(rng: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=rng, dtype=torch.float64)


_SPECS = {"smoke": (Sizes(20, 4, 6),), "small": (Sizes(200, 10, 32),), "paper": (Sizes(1000, 50, 128, side=12),)}
_UNRELATED = Null(1.0, "unrelated matrices")


def _identity(key: str, label: str, most: float = 1e-12) -> Claim:
    return between(key, 0.0, most, "an identity, up to rounding", label=label, kind="proved identity", null=_UNRELATED)


@experiment(
    "e/eq1",
    "E",
    "Feature Learning Equation: Wᵀ∇_W L = (1/n) Σ ∇ₕℓ hᵀ for dense layers, convolutions and shared weights",
    specs=_SPECS,
    seeds={"small": 5, "paper": 5},
    claims=[
        _identity("dense", "Three dense layers with bias, the worst"),
        _identity("convolution", "A convolution, on patches (C.1)"),
        _identity("tied", "One weight used twice beside skip connections, gradients at the inputs of the layer"),
        at_least(
            "tied/total",
            0.1,
            "ours: with a skip connection ∇ₕℓ must be taken at the input of the layer; the total gradient at the "
            "hidden state also has the way around it",
            label="One weight used twice: relative distance of both sides, total gradient at the hidden state",
            kind="side condition",
            null=Null(0.0, "an identity there too"),
        ),
    ],
)
def feature_learning_equation(spec: Sizes, seed: int) -> Result:
    """Compare both sides in float64."""
    rng = torch.Generator().manual_seed(seed)
    with threads(1):
        layer, total = tied(spec, rng)
        return Result(
            {
                "dense": max(equation_error(layer) for layer in dense_layers(spec, rng)),
                "convolution": equation_error(convolution(spec, rng)),
                "tied": equation_error(layer),
                "tied/total": relative(total.mT @ layer.H / layer.n, layer.W.mT @ layer.G),
            }
        )


@experiment(
    "e/theorem1",
    "E",
    "A step of gradient descent changes WᵀW by the virtual covariance shift, up to O(η²)",
    specs=_SPECS,
    seeds={"small": 5, "paper": 5},
    claims=[
        *(
            between(
                f"slope/{layer}",
                1.98,
                2.02,
                "an error of order η² has slope 2 on logarithmic axes",
                label=f"{name}: slope of log ‖W⁺ᵀW⁺ − WᵀW − VCS‖ over log η",
                kind="proved identity",
                null=Null(1.0, "a shift that misses a term of first order"),
            )
            for layer, name in (("1", "Layer 1"), ("2", "Layer 2"), ("3", "Layer 3"), ("convolution", "Convolution"))
        ),
        between(
            "slope/half",
            0.98,
            1.02,
            "ours: the check must notice a factor; with half the shift the error has slope 1",
            label="Layer 1 with half the shift: slope of the error",
            kind="side condition",
            null=Null(2.0, "no difference"),
        ),
        _identity(
            "remainder",
            "η = 0.1: the error against η²(∇ᵀ∇ − Σ ∇ₕℓ∇ₕℓᵀ/n²), relative; "
            "“an AGOP-like term … appears within the residual”",
            most=1e-9,
        ),
    ],
)
def gram_step(spec: Sizes, seed: int) -> Result:
    """Take one step of each size on every layer."""
    rng = torch.Generator().manual_seed(seed)
    numbers: dict[str, float] = {}
    with threads(1):
        layers = dense_layers(spec, rng)
        named = {str(index + 1): layer for index, layer in enumerate(layers)} | {"convolution": convolution(spec, rng)}
        for name, layer in named.items():
            numbers[f"slope/{name}"] = slope(lambda step, layer=layer: float(shift_error(layer, step).norm()))  # type: ignore[misc]
        first = layers[0]

        def half(step: float) -> float:
            shift = virtual_covariance_shift(first.V, first.H, step)
            return float((shift_error(first, step) + shift / 2).norm())

        numbers["slope/half"] = slope(half)
        numbers["remainder"] = max(
            relative(shift_error(layer, 0.1), 0.01 * (nfm(layer.G) - layer.V.mT @ layer.V / layer.n**2))
            for layer in named.values()
        )
    return Result(numbers)
