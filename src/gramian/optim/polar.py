"""The polar factor, and the matrix nearest to W₁ among those with the Gram matrix of W₂ (paper E, B.1)."""

from __future__ import annotations

import math
import warnings
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Method = Literal["svd", "newton-schulz"]
METHODS: tuple[Method, ...] = ("svd", "newton-schulz")

# Odd quintics x ↦ ax + bx³ + cx⁵ applied to the singular values. LIFT multiplies small ones by 3.4 and maps
# [0.68, 1.19] into itself, so it may be repeated; POLISH has a triple fixed point at 1.
LIFT = (3.4, -4.7, 2.0)
POLISH = (15 / 8, -10 / 8, 3 / 8)
POLISH_STEPS = 12
# The weight of the tie-break in `nearest_with_gram`, as a power of the dtype's eps: large enough to be seen
# above the rounding of a product, small enough not to be seen in the result (ε in W1 costs ε² in distance).
TIE_POWER = 0.75


def polar(M: Float[Tensor, "m m"], method: Method = "svd") -> Float[Tensor, "m m"]:
    """Orthogonal polar factor ``UVᵀ`` of ``M = USVᵀ``: the orthogonal matrix nearest to M.

    Where M is singular the factor is not unique. The SVD then still returns an orthogonal matrix;
    Newton–Schulz cannot, and hands the matrix over to the SVD with a warning.

    >>> polar(torch.diag(torch.tensor([3.0, -2.0])))
    tensor([[ 1.,  0.],
            [ 0., -1.]])
    """
    _check_method(method)
    eye = torch.eye(M.shape[0], dtype=M.dtype, device=M.device)
    return _svd_polar(M) if method == "svd" else _newton_schulz_times(M, eye)


def nearest_with_gram(
    W1: Float[Tensor, "m k"], W2: Float[Tensor, "m k"], method: Method = "svd"
) -> Float[Tensor, "m k"]:
    """``W₂' = polar(W₁W₂ᵀ) W₂``: the matrix nearest to W₁ among those with the Gram matrix ``W₂ᵀW₂``.

    Where W₁W₂ᵀ is singular several matrices are equally near; of these the one nearest to W₂ is returned, so
    a weight that starts at zero follows its optimiser unrotated. Half precision is computed in float32.

    >>> W1 = torch.eye(2)
    >>> W2 = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    >>> torch.allclose(nearest_with_gram(W1, W2), torch.diag(torch.tensor([1.0, 2.0])), atol=1e-4)
    True
    """
    _check_method(method)
    dtype = W2.dtype
    if dtype in (torch.float16, torch.bfloat16):
        W1, W2 = W1.float(), W2.float()
    W1 = W1 + torch.finfo(W2.dtype).eps ** TIE_POWER * W2
    m, k = W2.shape
    if m <= k:
        return _polar_times(W1 @ W2.mT, W2, method).to(dtype)
    # W1 = Q1 R1 and W2 = Q2 R2 give polar(W1W2ᵀ)W2 = Q1 polar(R1R2ᵀ) R2: k × k instead of a singular m × m.
    Q1, R1 = torch.linalg.qr(W1)
    R2 = torch.linalg.qr(W2).R
    return (Q1 @ _polar_times(R1 @ R2.mT, R2, method)).to(dtype)


def _polar_times(M: Tensor, W: Tensor, method: Method) -> Tensor:
    return _svd_polar(M) @ W if method == "svd" else _newton_schulz_times(M, W)


def _svd_polar(M: Tensor) -> Tensor:
    U, _, Vh = torch.linalg.svd(M)
    return U @ Vh


def _quintic(X: Tensor, a: float, b: float, c: float) -> Tensor:
    A = X @ X.mT
    return a * X + (b * A + c * A @ A) @ X


def _newton_schulz_times(M: Tensor, W: Tensor) -> Tensor:
    """``polar(M) W`` by matrix products only, stopped when the Gram matrix of the product is that of W."""
    gram = W.mT @ W
    size = torch.linalg.matrix_norm(gram)
    if size == 0:
        return W
    eps = torch.finfo(W.dtype).eps
    tolerance = 1e3 * eps
    scale = torch.linalg.matrix_norm(M)
    defect = float("inf")
    if scale > 0:
        X = M / scale
        # Enough to bring a singular value as small as the tie-break's up to one.
        for _ in range(math.ceil(TIE_POWER * math.log(1 / eps) / math.log(LIFT[0]))):
            X = _quintic(X, *LIFT)
        for _ in range(POLISH_STEPS):
            X = _quintic(X, *POLISH)
            out = X @ W
            defect = float(torch.linalg.matrix_norm(out.mT @ out - gram) / size)
            if defect <= tolerance:
                return out
    warnings.warn(
        f"Newton–Schulz left a relative Gram error of {defect:.1e} (asked for {tolerance:.1e}) on a nearly "
        f"singular {tuple(M.shape)} matrix; its polar factor was taken by SVD instead",
        RuntimeWarning,
        stacklevel=3,
    )
    return _svd_polar(M) @ W


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
