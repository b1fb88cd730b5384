"""Propositions 3 and 4: interpolation between codes, and first-order errors over all pairs of samples."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from sklearn.datasets import load_digits
from torch import Tensor, nn

from gramian.core import threads
from gramian.experiments import Null, Result, at_least, at_most, between, experiment
from gramian.experiments.e_gram.small_nets import perceptron
from gramian.theory import beta_vae_loss, interpolation_bound, interpolation_gap, interpolation_split, ols_decoder

_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class CodeTraining:
    """Rows of scikit-learn's digits, latent columns, width, epochs and β of a variational autoencoder."""

    rows: int
    latent: int = 8
    width: int = 128
    epochs: int = 150
    beta: float = 0.05
    batch: int = 64


@dataclass(frozen=True)
class Homogeneous:
    """Rows, inputs and width of two ReLU networks without bias."""

    n: int
    d: int
    width: int


def trained_codes(spec: CodeTraining, seed: int) -> tuple[Tensor, Tensor, nn.Sequential]:
    """Train a variational autoencoder; return the mean codes of the rows, the rows, and the decoder.

    >>> Z, X, decode = trained_codes(CodeTraining(64, width=8, epochs=1), seed=0)
    >>> Z.shape, decode(Z).shape == X.shape
    (torch.Size([64, 8]), True)
    """
    rng = torch.Generator().manual_seed(seed)
    pixels = torch.as_tensor(load_digits().data / 16).float()
    X = pixels[torch.randperm(len(pixels), generator=rng)[: spec.rows]]
    encode = perceptron((X.shape[1], spec.width, 2 * spec.latent), "gelu", rng)
    decode = perceptron((spec.latent, spec.width, X.shape[1]), "gelu", rng)
    optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=2e-3)
    with threads(1), torch.enable_grad():
        for _ in range(spec.epochs):
            for rows in torch.randperm(len(X), generator=rng).split(spec.batch):
                mean, log_variance = encode(X[rows]).chunk(2, dim=1)
                noise = torch.randn(mean.shape, generator=rng)
                decoded = decode(mean + (log_variance / 2).exp() * noise)
                optimizer.zero_grad()
                beta_vae_loss(X[rows], decoded, mean, log_variance, spec.beta).mean().backward()
                optimizer.step()
        Z = encode(X)[:, : spec.latent].detach()
    return Z.double(), X.double(), decode.double()


@experiment(
    "e/prop3",
    "E",
    "Linear interpolation between codes: the error of a decoder against that of least squares",
    specs={
        "smoke": (CodeTraining(100, width=16, epochs=5),),
        "small": (CodeTraining(400),),
        "paper": (CodeTraining(1797),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        between(
            "least squares",
            0.0,
            1e-9,
            "over all pairs the error of the least-squares decoder is √(λ² + (1 − λ)²) times its reconstruction error",
            label="Least-squares decoder: distance of its interpolation error from that formula, relative",
            kind="proved identity",
            null=Null(0.29, "the reconstruction error itself, at λ = ½"),
        ),
        between(
            "least squares/bound",
            0.0,
            1.0 + 1e-9,
            "the proposition for the least-squares decoder",
            label="Least-squares decoder: largest interpolation error over the bound, five values of λ",
            kind="proved identity",
            null=Null(1.1, "a bound that fails by a tenth"),
        ),
        between(
            "split",
            0.0,
            1.0 + 1e-9,
            "the triangle inequality of the proof, for any decoder",
            label="Trained decoder: largest error over distance from least squares plus error of least squares",
            kind="proved identity",
            null=Null(1.1, "an inequality that fails by a tenth"),
        ),
        at_most(
            "reconstruction",
            1.0,
            "the premise: the decoder reconstructs at least as well as least squares",
            label="Trained decoder: reconstruction error over that of least squares",
            kind="side condition",
            null=Null(1.4, "the mean image, where TL is ½"),
        ),
        at_most(
            "interpolation",
            0.78,
            "the proposition as it is used: a decoder at least as good interpolates within the bound at every λ, "
            "nearer than least squares",
            label="Trained decoder: largest interpolation error over the bound, λ = ¼, ½, ¾",
            null=Null(0.79, "an untrained encoder with a least-squares decoder: √⅝ at λ = ¼"),
            setting="the digits of scikit-learn in place of MNIST",
        ),
    ],
    cost=lambda spec: 1e-4 * spec.rows * spec.epochs,
)
def interpolation(spec: CodeTraining, seed: int) -> Result:
    """Train, then interpolate between random pairs of codes."""
    Z, X, decode = trained_codes(spec, seed)
    rng = torch.Generator().manual_seed(seed)
    pairs = torch.randint(len(Z), (4000, 2), generator=rng)
    few = slice(0, 150)  # all pairs of these
    with threads(1), torch.no_grad():
        bound = interpolation_bound(Z, X)
        line, small = ols_decoder(Z[few], X[few]), interpolation_bound(Z[few], X[few])
        straight = {w: interpolation_gap(line, Z[few], X[few], w) / small for w in _WEIGHTS}
        splits = {w: interpolation_split(decode, Z, X, w, pairs) for w in _WEIGHTS[1:-1]}
        reconstruction = float((decode(Z) - X).square().sum(1).mean().sqrt())
    return Result(
        {
            "least squares": max(abs(ratio / (w**2 + (1 - w) ** 2) ** 0.5 - 1) for w, ratio in straight.items()),
            "least squares/bound": max(straight.values()),
            "split": max(split.gap / (split.departure + split.linear) for split in splits.values()),
            "reconstruction": reconstruction / bound,
            "interpolation": max(split.gap for split in splits.values()) / bound,
            "linearity": 1 - bound**2 / float((X - X.mean(0)).square().sum(1).mean()),
        }
    )


def first_order_errors(f: nn.Sequential, X: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "n n"], Float[Tensor, " n"]]:
    """Return ``f(xⱼ) − f(xᵢ) − ∇f(xᵢ)ᵀ(xⱼ − xᵢ)`` for all pairs, and the values.

    >>> errors, values = first_order_errors(nn.Sequential(nn.Linear(3, 1)), torch.eye(3))
    >>> float(errors.detach().abs().max()) < 1e-6
    True
    """
    with torch.enable_grad():
        points = X.detach().requires_grad_()
        values = f(points)[:, 0]
        (G,) = torch.autograd.grad(values.sum(), points)
    values = values.detach()
    linear = G @ X.mT - (G * X).sum(1, keepdim=True)
    return values[None, :] - values[:, None] - linear, values


def _sums(errors: Tensor) -> float:
    return float(errors.sum().abs() / errors.abs().sum())


@experiment(
    "e/prop4",
    "E",
    "First-order errors of a homogeneous function over all pairs of centred samples sum to 0",
    specs={
        "smoke": (Homogeneous(30, 4, 8),),
        "small": (Homogeneous(300, 10, 64),),
        "paper": (Homogeneous(2000, 20, 256),),
    },
    seeds={"small": 5, "paper": 5},
    claims=[
        between(
            "sum",
            0.0,
            1e-12,
            "an identity, up to rounding",
            label="|sum of the errors| over the sum of |errors|",
            kind="proved identity",
            null=Null(0.1, "errors that do not cancel"),
        ),
        at_least(
            "sum/values not centred",
            0.01,
            "ours: the check must fail without the condition Σf = 0",
            label="Values not centred: |sum of the errors| over the sum of |errors|",
            kind="side condition",
            null=Null(0.0, "an identity there too"),
        ),
        at_least(
            "size",
            0.3,
            "ours: a sum of 0 is no small error; the proposition is offered as a justification of first-order "
            "expansions, for which the single errors would have to be small",
            label="Mean |error| over mean |f|",
            kind="side condition",
            null=Null(0.0, "a good approximation"),
        ),
    ],
)
def pair_errors(spec: Homogeneous, seed: int) -> Result:
    """Expand two networks around every sample; their difference with a factor has centred values."""
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(spec.n, spec.d, generator=rng, dtype=torch.float64)
    X = X - X.mean(0)
    networks = [
        perceptron((spec.d, spec.width, spec.width, 1), "relu", rng, bias=False, dtype=torch.float64) for _ in range(2)
    ]
    with threads(1):
        (first, f), (second, g) = (first_order_errors(network, X) for network in networks)
        factor = f.sum() / g.sum()  # f − c·g is homogeneous too, and sums to 0
        errors, values = first - factor * second, f - factor * g
    return Result(
        {
            "sum": _sums(errors),
            "sum/values not centred": _sums(first),
            "size": float(errors.abs().mean() / values.abs().mean()),
        }
    )
