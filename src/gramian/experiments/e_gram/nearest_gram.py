"""Section 2 and B.1: the whitened update has the Gram matrix of the plain step, and is the nearest such matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import threads
from gramian.experiments import Claim, Null, Result, at_least, at_most, between, experiment
from gramian.features import nfm
from gramian.optim import nearest_with_gram

_TEN = 10


@dataclass(frozen=True)
class LayerSizes:
    """Outputs of two layers; inputs of the wide one (the other is square); size of a step; number of rotations."""

    width: int
    inputs: int
    step: float = 1e-3
    trials: int = 20


def ten_steps(M: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """Return the authors' polar factor: ten Newton–Schulz steps ``(15X − 10XXᵀX + 3(XXᵀ)²X)/8`` from ``M/‖M‖``.

    >>> ten_steps(torch.diag(torch.tensor([2.0, 1.0]))).round(decimals=4)
    tensor([[1., 0.],
            [0., 1.]])
    """
    X = M / M.norm()
    for _ in range(_TEN):
        A = X @ X.mT
        X = (15 * X - 10 * A @ X + 3 * A @ A @ X) / 8
    return X


def plain_step(shape: tuple[int, int], step: float, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return torch's initial weight and the weight after a Gaussian step of a relative size.

    >>> W1, W2 = plain_step((3, 5), 0.1, torch.Generator().manual_seed(0))
    >>> round(float((W2 - W1).norm() / W1.norm()), 6)
    0.1
    """
    W = (2 * torch.rand(shape, generator=rng, dtype=torch.float64) - 1) / shape[1] ** 0.5
    move = torch.randn(shape, generator=rng, dtype=torch.float64)
    return W, W + step * W.norm() / move.norm() * move


def gram_error(found: Float[Tensor, "m k"], W1: Float[Tensor, "m k"], W2: Float[Tensor, "m k"]) -> float:
    """Return the distance of a Gram matrix from that of W₂, relative to the change from W₁ to W₂."""
    return float((nfm(found) - nfm(W2)).norm() / (nfm(W2) - nfm(W1)).norm())


def least_distance(W1: Float[Tensor, "m k"], W2: Float[Tensor, "m k"]) -> float:
    """Return the least ``‖W₁ − QW₂‖`` over orthogonal Q: its square is ``‖W₁‖² + ‖W₂‖² − 2 Σ σ(W₁W₂ᵀ)``.

    >>> round(least_distance(torch.eye(2), torch.tensor([[0.0, 2.0], [1.0, 0.0]])), 5)
    1.0
    """
    singular = torch.linalg.svdvals(W1 @ W2.mT).sum()
    return float((W1.square().sum() + W2.square().sum() - 2 * singular).clamp_min(0).sqrt())


def nearest_of_rotations(
    found: Float[Tensor, "m k"], W1: Float[Tensor, "m k"], trials: int, rng: torch.Generator
) -> float:
    """Return the largest ratio of ``‖W₁ − W₂′‖`` to the distance of a slightly rotated ``W₂′``, which has its Gram.

    Each rotation is tried in both directions: of two opposite small ones, one comes nearer wherever any can.
    """
    best, ratios = (W1 - found).norm(), []
    for size in torch.logspace(-7, 0, trials, dtype=torch.float64):
        K = torch.randn(len(W1), len(W1), generator=rng, dtype=torch.float64)
        Q = torch.linalg.matrix_exp(size * (K - K.mT) / K.norm())
        ratios += [float(best / (W1 - turned @ found).norm()) for turned in (Q, Q.mT)]
    return max(ratios)


def _claims() -> Iterator[Claim]:
    for layer in ("wide", "square"):
        yield between(
            f"gram/{layer}",
            0.0,
            1e-8,
            "“the Gram matrix evolves identically to that of standard GD”",
            label=f"Exact polar factor, {layer} layer: ‖W₂′ᵀW₂′ − W₂ᵀW₂‖ over ‖W₂ᵀW₂ − W₁ᵀW₁‖",
            kind="proved identity",
            null=Null(1.0, "the Gram matrix before the step"),
        )
        yield between(
            f"nearest/{layer}",
            1.0 - 1e-6,
            1.0 + 1e-6,
            "B.1: an orthogonal Procrustes problem, whose least distance has a closed form; at the rounding of squared "
            "norms",
            label=f"Exact polar factor, {layer} layer: ‖W₁ − W₂′‖ over the least distance with that Gram matrix",
            kind="proved identity",
            null=Null(2.0, "a matrix twice as far"),
        )
        yield between(
            f"rotated/{layer}",
            0.0,
            1.0 + 1e-12,
            "no other matrix with that Gram matrix is nearer to W₁, up to rounding",
            label=f"Exact polar factor, {layer} layer: largest ‖W₁ − W₂′‖ over ‖W₁ − QW₂′‖, random rotations Q",
            kind="proved identity",
            null=Null(1.0 + 1e-7, "the plain step W₂, which a small rotation brings nearer"),
        )
    yield at_most(
        "ten steps/wide",
        0.01,
        "ours: the authors' ten Newton–Schulz steps suffice where singular values are alike (e/fig2 has the reason)",
        label="Ten Newton–Schulz steps, wide layer: ‖W₂′ᵀW₂′ − W₂ᵀW₂‖ over ‖W₂ᵀW₂ − W₁ᵀW₁‖",
        kind="side condition",
        scales=("paper",),
        null=Null(1.0, "the Gram matrix before the step"),
    )
    yield at_least(
        "ten steps/square",
        1.0,
        "ours: on a square layer of random weights they miss the Gram matrix by more than the step changes it; 3.4 had "
        "been seen in float32 (e/fig2)",
        label="Ten Newton–Schulz steps, square layer: ‖W₂′ᵀW₂′ − W₂ᵀW₂‖ over ‖W₂ᵀW₂ − W₁ᵀW₁‖",
        kind="side condition",
        scales=("paper",),
        null=Null(0.0, "an exact polar factor"),
    )


@experiment(
    "e/whitening",
    "E",
    "The whitened update has the Gram matrix of the plain step and is the nearest such matrix; ten Newton–Schulz steps",
    specs={"smoke": (LayerSizes(8, 20),), "small": (LayerSizes(64, 200),), "paper": (LayerSizes(256, 784),)},
    seeds={"small": 5, "paper": 5},
    claims=[*_claims()],
    version=2,
    cost=lambda spec: 1e-6 * spec.trials * spec.width**2,
)
def whitened_update(spec: LayerSizes, seed: int) -> Result:
    """Whiten one step of a wide and of a square layer with both polar factors, in float64."""
    rng = torch.Generator().manual_seed(seed)
    numbers: dict[str, float] = {}
    with threads(1):
        for layer, inputs in (("wide", spec.inputs), ("square", spec.width)):
            W1, W2 = plain_step((spec.width, inputs), spec.step, rng)
            found = nearest_with_gram(W1, W2)
            numbers |= {
                f"gram/{layer}": gram_error(found, W1, W2),
                f"nearest/{layer}": float((W1 - found).norm()) / least_distance(W1, W2),
                f"rotated/{layer}": nearest_of_rotations(found, W1, spec.trials, rng),
                f"ten steps/{layer}": gram_error(ten_steps(W1 @ W2.mT) @ W2, W1, W2),
            }
    return Result(numbers)
