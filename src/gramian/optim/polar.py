"""The polar factor, and the matrix nearest to W₁ among those with the Gram matrix of W₂ (paper E, B.1)."""

from __future__ import annotations

import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Method = Literal["svd", "newton-schulz"]
METHODS: tuple[Method, ...] = ("svd", "newton-schulz")

# Odd quintics x ↦ ax + bx³ + cx⁵ applied to the singular values. LIFT multiplies small ones by 3.4 and maps
# [0.68, 1.19] into itself, so it may be repeated. POLISH has a triple fixed point at 1: from there its errors are
# 0.06, 6e-4, 7e-10 and 7e-28, so that four steps reach the rounding of float64.
LIFT = (3.4, -4.7, 2.0)
POLISH = (15 / 8, -10 / 8, 3 / 8)
POLISH_STEPS = 4
# The weight of the tie-break in `nearest_with_gram`, as a power of the dtype's eps: large enough to be seen
# above the rounding of a product, small enough not to be seen in the result (ε in W1 costs ε² in distance).
TIE_POWER = 0.75


def polar(M: Float[Tensor, "*batch m m"], method: Method = "svd") -> Float[Tensor, "*batch m m"]:
    """Orthogonal polar factor ``UVᵀ`` of ``M = USVᵀ``: the orthogonal matrix nearest to M.

    Where M is singular the factor is not unique. The SVD then still returns an orthogonal matrix; Newton–Schulz
    agrees with it on the directions that M has, and returns no NaN, but is not orthogonal on the others. It takes a
    number of steps that depends on the dtype alone, and never waits for the device.

    >>> polar(torch.diag(torch.tensor([3.0, -2.0])))
    tensor([[ 1.,  0.],
            [ 0., -1.]])
    """
    _check_method(method)
    M = M / _largest(M)
    if method == "newton-schulz":
        return _newton_schulz(M)
    U, _, Vh = torch.linalg.svd(M)
    return U @ Vh


def nearest_with_gram(
    W1: Float[Tensor, "*batch m k"], W2: Float[Tensor, "*batch m k"], method: Method = "svd"
) -> Float[Tensor, "*batch m k"]:
    """``W₂' = polar(W₁W₂ᵀ) W₂``: the matrix nearest to W₁ among those with the Gram matrix ``W₂ᵀW₂``.

    Leading dimensions are a batch of matrices. The polar factor is taken on the smaller side, m × m or k × k. Where
    W₁W₂ᵀ is singular several matrices are equally near; of these the one nearest to W₂ is returned, so a weight that
    starts at zero follows its optimiser unrotated. Half precision is computed in float32.

    >>> W1 = torch.eye(2)
    >>> W2 = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    >>> torch.allclose(nearest_with_gram(W1, W2), torch.diag(torch.tensor([1.0, 2.0])), atol=1e-4)
    True
    """
    _check_method(method)
    dtype = W2.dtype
    if dtype in (torch.float16, torch.bfloat16):
        W1, W2 = W1.float(), W2.float()
    # The polar factor has no scale; with entries of at most 1 the products below cannot overflow or vanish.
    size = _largest(W2)
    B = W2 / size
    A = W1 / _largest(W1) + torch.finfo(W2.dtype).eps ** TIE_POWER * B
    m, k = W2.shape[-2:]
    if m <= k:
        return (polar(A @ B.mT, method) @ W2).to(dtype)
    # A = Q1 R1 and B = Q2 R2 give polar(ABᵀ)B = Q1 polar(R1R2ᵀ) R2: k × k instead of a singular m × m.
    Q1, R1 = torch.linalg.qr(A)
    R2 = torch.linalg.qr(B).R
    return (Q1 @ (polar(R1 @ R2.mT, method) @ (size * R2))).to(dtype)


def _lifts(dtype: torch.dtype) -> int:
    """Number of lifts that bring a singular value of ``eps/1000`` up to one: 19 in float32, 36 in float64.

    A singular value of a computed product is noise of about eps, and seldom much smaller. Noise must be brought up
    too: it is the rotation of a direction that W₁ did not have and W₂ has, and less than one would lose its Gram.
    """
    return math.ceil(math.log(1000 / torch.finfo(dtype).eps) / math.log(LIFT[0]))


def _newton_schulz(M: Tensor) -> Tensor:
    X = M / torch.linalg.matrix_norm(M, keepdim=True).clamp_min(torch.finfo(M.dtype).tiny)
    for _ in range(_lifts(M.dtype)):
        X = _quintic(X, *LIFT)
    for _ in range(POLISH_STEPS):
        X = _quintic(X, *POLISH)
    return X


def _quintic(X: Tensor, a: float, b: float, c: float) -> Tensor:
    A = X @ X.mT
    return a * X + (b * A + c * A @ A) @ X


def _largest(W: Tensor) -> Tensor:
    """The largest absolute entry of each matrix; a zero matrix counts as the smallest normal number."""
    return W.abs().amax((-2, -1), keepdim=True).clamp_min(torch.finfo(W.dtype).tiny)


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
