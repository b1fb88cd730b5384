"""Feature learning as linearisation towards a moving target (paper E, sections 4 and 5, appendix B.4).

``H (n, k)`` are the features a layer reads, ``Y (n, c)`` the targets, ``F (n, c)`` the network's predictions. Nothing
is centred unless stated: centre H and Y first where the linear model is to have an intercept.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


def best_linear_predictor(H: Float[Tensor, "n k"], Y: Float[Tensor, "n c"], ridge: float = 0.0) -> Float[Tensor, "n c"]:
    """``f* = H(HᵀH + γI)⁻¹HᵀY``: the best prediction of Y by a linear readout of these features; γ is ``ridge``.

    At γ = 0 the pseudo-inverse is taken, so dead or repeated features do no harm, and ``HHᵀf* = HHᵀY``.

    >>> H = torch.tensor([[1.0], [1.0]])
    >>> best_linear_predictor(H, torch.tensor([[0.0], [2.0]])).round(decimals=5).squeeze()
    tensor([1., 1.])
    """
    if ridge < 0:
        raise ValueError(f"ridge must be ≥ 0, got {ridge}")
    U, s, _ = torch.linalg.svd(H, full_matrices=False)
    keep = s > max(H.shape) * torch.finfo(s.dtype).eps * s[:1]
    U, s = U[:, keep], s[keep]
    return (U * (s.square() / (s.square() + ridge))) @ (U.mT @ Y)


@dataclass(frozen=True)
class MovingTarget:
    """The training error split at the best linear predictor f* of the current features, Frobenius norms.

    ``error = ‖Y − F‖``, ``chase = ‖F − f*‖`` (how far the network is behind its moving target), ``gap = ‖f* − Y‖``
    (how far the target itself still has to move), ``cross = 2⟨F − f*, f* − Y⟩``:
    ``error² = chase² + gap² + cross`` exactly, and so ``error ≤ chase + gap``.

    >>> MovingTarget(error=5.0, chase=3.0, gap=4.0, cross=0.0).bound
    7.0
    """

    error: float
    chase: float
    gap: float
    cross: float

    @property
    def bound(self) -> float:
        """``‖F − f*‖ + ‖f* − Y‖``, paper E's upper bound of the error."""
        return self.chase + self.gap


def moving_target(
    H: Float[Tensor, "n k"], Y: Float[Tensor, "n c"], F: Float[Tensor, "n c"], ridge: float = 0.0
) -> MovingTarget:
    """Split ``‖Y − F‖`` into the chase of f* and the gap that f* leaves (paper E, appendix B.4, Fig. 8).

    In the lazy regime the features, and with them f* and the gap, do not change and the chase alone falls; where
    features are learned the gap falls too. For γ = 0 and a network whose last layer reads H linearly the cross term is
    0, and the triangle inequality of the paper sharpens to Pythagoras.

    >>> H, Y = torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [2.0]])
    >>> split = moving_target(H, Y, torch.zeros(2, 1))
    >>> round(split.error**2, 5), round(split.chase**2, 5), round(split.gap**2, 5), abs(split.cross) < 1e-5
    (4.0, 2.0, 2.0, True)
    """
    target = best_linear_predictor(H, Y, ridge)
    chase, gap = F - target, target - Y
    return MovingTarget(
        error=float((Y - F).norm()),
        chase=float(chase.norm()),
        gap=float(gap.norm()),
        cross=2 * float((chase * gap).sum()),
    )


def surrogate_growth(
    H: Float[Tensor, "n k"], y: Float[Tensor, " n"], f: Float[Tensor, " n"], slope: Float[Tensor, " n"], step: float
) -> float:
    """Growth of ``S = yᵀH WᵀW Hᵀy`` in one step of gradient descent: ``(2η/n)(f·y)(rᵀHHᵀy)`` (Theorem 3).

    ``r = −∂ℓ/∂f``; ``slope`` is ∂ℓᵢ/∂fᵢ, ``step`` is η on the mean loss. For the squared loss ``r = 2(y − f)``, and
    because ``HHᵀf* = HHᵀy`` the factor is ``2(f* − f)ᵀHHᵀy``: S grows until the network has caught its moving target.
    First order in η, and exact for a network linear in H; for one that is positively homogeneous in H also first order
    in the distance between samples.

    >>> H = torch.eye(2)
    >>> surrogate_growth(H, torch.ones(2), torch.ones(2), -torch.ones(2), step=0.5)
    2.0
    """
    correlation = float(f @ y)
    return -2 * step / len(y) * correlation * float((H.mT @ slope) @ (H.mT @ y))


def linearity_bound(G: Float[Tensor, "n m"], Y: Float[Tensor, "n c"], ridge: float) -> float:
    """Lower bound of the target linearity by the inverse of the surrogate (Theorem 2):

    ``TL_γ ≥ 1 − γ² κ ‖Y‖² / (S + γ‖Y‖²)``, ``S = tr(YᵀGGᵀY)``, ``κ = (a + b)²/(4a²b)`` for the eigenvalues of
    ``A = GGᵀ + γI`` in [a, b]. Columns of Y are centred inside.

    By Woodbury the error is ``γ² tr(YᵀA⁻²Y)``. Lemma 2 of the paper bounds it in two steps: ``A⁻² ≤ A⁻¹/a``, and
    Kantorovich's ``tr(YᵀA⁻¹Y) tr(YᵀAY) ≤ (a + b)²/(4ab) ‖Y‖⁴``, where ``tr(YᵀAY) = S + γ‖Y‖²``: a larger surrogate
    raises the bound. With G the features it bounds their linearity.

    >>> round(linearity_bound(torch.eye(2), torch.tensor([[1.0], [-1.0]]), ridge=1.0), 6)
    0.75
    """
    if not ridge > 0:
        raise ValueError(f"ridge must be positive, got {ridge}: without it the error has no such bound")
    Y = Y - Y.mean(0)
    size = float(Y.square().sum())
    if size == 0:
        raise ValueError("Y is constant, so its linearity is not defined")
    values = torch.linalg.svdvals(G).square()
    low = float(values.min()) if G.shape[1] >= G.shape[0] else 0.0
    a, b = low + ridge, float(values.max()) + ridge
    kappa = (a + b) ** 2 / (4 * a * a * b)
    S = float((G.mT @ Y).square().sum())
    return 1 - ridge**2 * kappa * size / (S + ridge * size)
