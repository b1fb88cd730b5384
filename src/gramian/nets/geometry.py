"""The geometry of a layer's features towards the targets: linearity, surrogates, neural collapse, balance
(papers E, C).

Everything is a function of sums over samples, so that it streams: ``HᵀH``, ``HᵀY``, class means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor


def target_linearity(H: Float[Tensor, "n k"], Y: Float[Tensor, "n c"], ridge: float, *, center: bool = True) -> float:
    """``TL_γ(H, Y) = 1 − ‖Y − H(HᵀH + γI)⁻¹HᵀY‖² / ‖Y − Ȳ‖²``, columns of Y centred; γ is ``ridge``.

    ``center`` subtracts the mean feature from H too, so that the linear model has an intercept.

    >>> H = torch.tensor([[0.0], [1.0], [2.0]])
    >>> round(target_linearity(H, 3 * H + 1, ridge=0.0), 6)
    1.0
    """
    moments = FeatureMoments(H.shape[1], Y.shape[1])
    moments.add(H, Y)
    return moments.target_linearity(ridge, center=center)


def surrogate(G_factor: Float[Tensor, "n m"], Y: Float[Tensor, "n c"]) -> float:
    """``S(G) = tr(YᵀGY)`` for ``G = ΦΦᵀ``, with Φ = φ(HWᵀ) (nonlinear) or HWᵀ (linearised); columns of Y
    centred.

    >>> surrogate(torch.eye(2), torch.tensor([[1.0], [-1.0]]))
    2.0
    """
    Y = Y - Y.mean(0)
    return float((G_factor.mT @ Y).square().sum())


def balancedness(W: Float[Tensor, "m k"], W_next: Float[Tensor, "p m"]) -> float:
    """Distance of two adjacent layers from balance, ``‖WWᵀ − W⁺ᵀW⁺‖ / max(‖WWᵀ‖, ‖W⁺ᵀW⁺‖)``; 0 is balanced
    (paper C).

    Gradient flow conserves the difference; weight decay shrinks it as ``e^{−2λt}``.

    >>> balancedness(torch.eye(2), torch.eye(2))
    0.0
    """
    W, V = W.double(), W_next.double().mT
    if W.shape[0] > 2 * (W.shape[1] + V.shape[1]):
        # ‖WWᵀ − VVᵀ‖² = ‖WᵀW‖² + ‖VᵀV‖² − 2‖WᵀV‖², on the small sides; near balance the difference would cancel.
        squares = [float((X.mT @ Y).square().sum()) for X, Y in ((W, W), (V, V), (W, V))]
        found = (squares[0] + squares[1] - 2 * squares[2]) / max(squares[:2]) if max(squares[:2]) > 0 else math.nan
        if found > 1e-6:
            return math.sqrt(found)
    A, B = W @ W.mT, V @ V.mT
    return float((A - B).norm() / max(A.norm(), B.norm()))


def balancedness_of_pairs(
    weights: Mapping[str, Float[Tensor, "g _m _k"]], pairs: Sequence[tuple[str, str]]
) -> dict[str, float]:
    """Balancedness of each layer with the layer that follows it.

    ``pairs`` name a layer and a successor. A layer with several successors is left out, and so is a pair of which one
    has groups or is not in ``weights``, or whose shapes do not match.

    >>> eye = torch.eye(2)[None]
    >>> balancedness_of_pairs({"a": eye, "b": eye}, [("a", "b")])
    {'a': 0.0}
    """
    found = {}
    for before, after in pairs:
        if sum(first == before for first, _ in pairs) > 1 or before not in weights or after not in weights:
            continue
        W, W_next = weights[before], weights[after]
        if W.shape[0] == W_next.shape[0] == 1 and W.shape[1] == W_next.shape[2]:
            found[before] = balancedness(W[0], W_next[0])
    return found


_SOLVABLE = 1e-8  # smallest ratio of γ to the mean eigenvalue at which HᵀH + γI is inverted


class FeatureMoments:
    """Streamed sums of features H (n, k) and targets Y (n, c), in float64.

    >>> moments = FeatureMoments(1, 1)
    >>> H = torch.arange(4.0)[:, None]
    >>> moments.add(H, 2 * H)
    >>> round(moments.target_linearity(ridge=0.0), 6)
    1.0
    """

    def __init__(self, k: int, c: int, *, second: bool = True):
        zeros = partial(torch.zeros, dtype=torch.float64)
        self.count = 0
        self.HH = zeros(k, k) if second else None
        self.HY, self.YY = zeros(k, c), zeros(c, c)
        self.h, self.y = zeros(k), zeros(c)

    def add(self, H: Float[Tensor, "n k"], Y: Float[Tensor, "n c"]) -> None:
        """Add samples."""
        # Near collapse the within-class spread is a small difference of large sums: float32 would lose it.
        H, Y = H.cpu().double(), Y.cpu().double()
        self.count += H.shape[0]
        if self.HH is not None:
            self.HH += H.mT @ H
        self.HY += H.mT @ Y
        self.YY += Y.mT @ Y
        self.h += H.sum(0)
        self.y += Y.sum(0)

    @property
    def is_constant(self) -> bool:
        """True where all samples have the same features, up to rounding.

        >>> moments = FeatureMoments(1, 1)
        >>> moments.add(torch.full((3, 1), 0.1), torch.eye(3)[:, :1])
        >>> moments.is_constant
        True
        """
        assert self.HH is not None
        return self.mean_square * self.HH.shape[0] <= 1e-12 * float(self.HH.trace())

    @property
    def mean_square(self) -> float:
        """Mean over features of ``Σ (h − h̄)²``: the scale to which a relative ridge refers."""
        assert self.HH is not None
        return float((self.HH.trace() - self.h.square().sum() / self.count) / self.HH.shape[0])

    def target_linearity(self, ridge: float, *, center: bool = True) -> float:
        """See :func:`target_linearity`."""
        assert self.HH is not None
        n = self.count
        YY = float(self.YY.trace() - self.y.square().sum() / n)
        if not YY > 0:
            return math.nan
        HY = self.HY - torch.outer(self.h, self.y) / n
        HH = self.HH - torch.outer(self.h, self.h) / n if center else self.HH
        k = HH.shape[0]
        if ridge * k > _SOLVABLE * float(HH.trace()):
            # (HᵀH + γI) is well conditioned: two triangular solves are a tenth of an eigendecomposition.
            factor = torch.linalg.cholesky(HH + ridge * torch.eye(k, dtype=HH.dtype))
            X = torch.cholesky_solve(HY, factor)
            return float((2 * (HY * X).sum() - (X * (HH @ X)).sum()) / YY)
        # Eigenvalues, not a solve: HᵀH is singular whenever a unit is dead, and γ may be 0.
        values, V = torch.linalg.eigh(HH)
        keep = values > values.shape[0] * torch.finfo(values.dtype).eps * values.max().clamp_min(0)
        values, B = values[keep], (V.mT @ HY)[keep]
        s = B.square().sum(1) / (values + ridge)
        explained = 2 * s.sum() - (s * values / (values + ridge)).sum()
        return float(explained / YY)

    def surrogate(self) -> float:
        """``tr(YᵀHHᵀY) / n²`` with Y centred: per pair of samples, so it does not grow with n."""
        return float((self.HY - torch.outer(self.h, self.y) / self.count).square().sum() / self.count**2)


def class_means(moments: FeatureMoments) -> Float[Tensor, "c k"]:
    """Mean feature of each class from sums with one-hot targets; NaN for classes without samples."""
    return moments.HY.mT / moments.YY.diagonal()[:, None]


def neural_collapse(moments: FeatureMoments, W: Float[Tensor, "m k"] | None = None) -> dict[str, float]:
    """NC1–NC3 from streamed sums with one-hot targets (paper E; 0 is full collapse for each).

    ``nc1 = tr(Σ_W Σ_B⁺) / C``; ``nc2_norm`` the coefficient of variation of ``‖μ_c − μ‖``; ``nc2_angle`` the
    mean distance of their cosines from −1/(C − 1); ``nc3 = ‖W/‖W‖ − M/‖M‖‖`` with M the centred class means,
    when W is a classifier with one row per class. Where the class means are equal (constant features), or there are
    fewer than C − 1 features, so that no simplex fits, collapse is not defined and the result is empty.

    >>> H = torch.eye(3).repeat(4, 1)
    >>> moments = FeatureMoments(3, 3)
    >>> moments.add(H, H)
    >>> {key: round(abs(value), 6) for key, value in neural_collapse(moments, torch.eye(3) - 1 / 3).items()}
    {'nc1': 0.0, 'nc2_norm': 0.0, 'nc2_angle': 0.0, 'nc3': 0.0}
    """
    assert moments.HH is not None
    counts = moments.YY.diagonal()
    present = counts > 0
    C = int(present.sum())
    if C < 2:
        return {}
    means = class_means(moments)[present]
    centre = means.mean(0)
    M = means - centre
    if M.shape[1] < C - 1 or float(M.norm()) <= 1e-10 * float(means.norm()):
        return {}
    within = moments.HH - (means * counts[present, None]).mT @ means
    # Σ_B = MᵀM / C has rank C − 1 at most, so its pseudo-inverse is taken on the C × C side.
    _, s, V = torch.linalg.svd(M / math.sqrt(C), full_matrices=False)
    keep = s > 1e-10 * s[:1]
    half = V[keep] / s[keep, None]
    nc1 = float((half @ (within / moments.count) * half).sum()) / C
    norms = M.norm(dim=1)
    cosines = (M / norms[:, None]) @ (M / norms[:, None]).mT
    off = cosines[~torch.eye(C, dtype=torch.bool)]
    result = {
        "nc1": nc1,
        "nc2_norm": float(norms.std(correction=0) / norms.mean()),
        "nc2_angle": float((off + 1 / (C - 1)).abs().mean()),
    }
    if W is not None and W.shape == (counts.shape[0], M.shape[1]):
        W = W.double()[present]
        result["nc3"] = float((W / W.norm() - M / M.norm()).norm())
    return result


def nearest_mean(H: Float[Tensor, "n k"], means: Float[Tensor, "c k"]) -> Int[Tensor, " n"]:
    """The class whose mean is nearest, for NC4; classes without samples (NaN means) are excluded.

    >>> nearest_mean(torch.tensor([[0.9]]), torch.tensor([[0.0], [1.0]]))
    tensor([1])
    """
    distance = means.square().sum(1) - 2 * H.to(means) @ means.mT
    return distance.nan_to_num(nan=math.inf).argmin(1)
