"""Linear probes to compare with: logistic regression, the difference of means, the first principal component.

All work in the coordinates ``Z (n, r)`` of the row space, whose columns are orthogonal and sorted by length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gramian.concepts.probe import Fold
from gramian.core import psd_eigh

BASELINES = ("logistic", "mean_difference", "pca")
_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Ridges of logistic regression that are compared; rows have a mean squared length of 1, losses are summed."""
_STEPS, _TOL = 400, 1e-4


@dataclass(frozen=True, eq=False)
class LinearProbe:
    """Weights ``(r, c)`` in the row space from all rows, and scores ``(n, c)`` of rows that were held out."""

    weights: Float[Tensor, "r c"]
    outputs: Float[Tensor, "n c"]


def baseline(name: str, Z: Float[Tensor, "n r"], Y: Float[Tensor, "n c"], folds: Sequence[Fold]) -> LinearProbe:
    """Fit one of :data:`BASELINES` to all rows, and to the training rows of each fold.

    Scores of a fold are divided by their standard deviation on its training rows, since the scale of a direction has
    no meaning for two of the methods.

    >>> Z = torch.tensor([[1.0], [-1.0], [2.0], [-2.0]], dtype=torch.float64)
    >>> folds = [(torch.tensor([0, 1]), torch.tensor([2, 3])), (torch.tensor([2, 3]), torch.tensor([0, 1]))]
    >>> baseline("mean_difference", Z, (Z > 0).double(), folds).outputs.sign().squeeze()
    tensor([ 1., -1.,  1., -1.], dtype=torch.float64)
    """
    Y = Y.to(Z.dtype)
    every = torch.ones(len(Z), dtype=torch.bool)
    masks = [every.clone().index_fill_(0, held_out, False) for _, held_out in folds]
    if name == "logistic":
        return _logistic_probe(Z, Y, masks, every)
    if name not in BASELINES:
        raise ValueError(f"baseline must be one of {', '.join(BASELINES)}, got {name!r}")
    direction = _mean_difference if name == "mean_difference" else _principal
    outputs = torch.zeros_like(Y)
    for mask in masks:
        scores = _standardised(Z, direction(Z[mask], Y[mask]), mask)
        outputs[~mask] = scores[~mask]
    return LinearProbe(direction(Z, Y), outputs)


def _mean_difference(Z: Float[Tensor, "m r"], Y: Float[Tensor, "m c"]) -> Float[Tensor, "r c"]:
    """Mean row with the concept minus mean row without it; rows count with their probability or grade."""
    return Z.mT @ (Y / Y.sum(dim=0) - (1 - Y) / (1 - Y).sum(dim=0))


def _principal(Z: Float[Tensor, "m r"], Y: Float[Tensor, "m c"]) -> Float[Tensor, "r c"]:
    """The direction of largest variance, with the sign that agrees with the labels; the same for all outputs."""
    centred = Z - Z.mean(dim=0)
    _, vectors = psd_eigh((centred @ centred.mT).float())
    leading = centred.mT @ vectors[:, 0].to(Z.dtype)
    leading = leading / leading.norm()
    agreement = (centred @ leading) @ (Y - Y.mean(dim=0))
    return leading[:, None] * torch.where(agreement < 0, -1.0, 1.0).to(Z.dtype)


def _standardised(Z: Float[Tensor, "n r"], W: Float[Tensor, "r c"], mask: Bool[Tensor, " n"]) -> Float[Tensor, "n c"]:
    scores = Z @ W
    spread = scores[mask].std(dim=0)
    return (scores - scores[mask].mean(dim=0)) / torch.where(spread > 0, spread, 1.0)


def _logistic_probe(
    Z: Float[Tensor, "n r"], Y: Float[Tensor, "n c"], masks: Sequence[Tensor], every: Bool[Tensor, " n"]
) -> LinearProbe:
    """Select the ridge by the log loss on held-out rows, each output on its own."""
    scale = float(Z.square().sum(dim=1).mean().sqrt())
    Z = Z / scale
    penalties = torch.tensor(_PENALTIES, dtype=Z.dtype)
    count, outputs = len(penalties), torch.zeros_like(Y)
    weights = Z.new_zeros(Z.shape[1], Y.shape[1])
    fitted = torch.stack(list(masks)).repeat_interleave(count, dim=0)
    for c in range(Y.shape[1]):
        W, bias = logistic(Z, Y[:, c], fitted, penalties.repeat(len(masks)))
        logits = (Z @ W + bias).reshape(len(Z), len(masks), count)
        held_out = torch.zeros(len(Z), count, dtype=Z.dtype)
        for number, mask in enumerate(masks):
            held_out[~mask] = logits[~mask, number]
        losses = torch.nn.functional.softplus(held_out).mean(dim=0) - (Y[:, c] @ held_out) / len(Z)
        best = int(losses.argmin())
        outputs[:, c] = held_out[:, best]
        final, _ = logistic(Z, Y[:, c], every[None], penalties[best : best + 1])
        weights[:, c] = final[:, 0] / scale
    return LinearProbe(weights, outputs)


def logistic(
    Z: Float[Tensor, "n r"], y: Float[Tensor, " n"], rows: Bool[Tensor, "k n"], penalties: Float[Tensor, " k"]
) -> tuple[Float[Tensor, "r k"], Float[Tensor, " k"]]:
    """Fit many logistic regressions at once: weights and intercepts of ``Σ loss + (penalty/2) ‖w‖²`` on some rows each.

    The columns of Z must be orthogonal, and orthogonal to the constant. Then ``¼ ‖z_k‖² + penalty`` bounds the
    curvature along each coordinate for any subset of the rows, and an accelerated gradient method in coordinates scaled
    by it converges in few steps. Labels between 0 and 1 count as probabilities.

    >>> Z = torch.tensor([[1.0], [-1.0]], dtype=torch.float64)
    >>> rows = torch.ones(1, 2, dtype=torch.bool)
    >>> W, bias = logistic(Z, torch.tensor([1.0, 0.0]).double(), rows, torch.ones(1).double())
    >>> round(float(W), 3)  # w solves w = 2 / (1 + e^w)
    0.675
    """
    mask = rows.mT.to(Z.dtype)
    A = torch.cat([Z, Z.new_ones(len(Z), 1)], dim=1)
    penalty = penalties.expand(A.shape[1], -1).clone()
    penalty[-1] = 0
    root = (A.square().sum(dim=0)[:, None] / 4 + penalty).sqrt()
    V = torch.zeros_like(root)
    previous, momentum = V, 1.0
    point = V
    for _ in range(_STEPS):
        W = point / root
        residual = mask * (torch.sigmoid(A @ W) - y[:, None])
        gradient = (A.mT @ residual + penalty * W) / root
        V = point - gradient
        if float(gradient.abs().max()) < _TOL:
            break
        # Restart the momentum where it points uphill.
        following = 1.0 if float((gradient * (V - previous)).sum()) > 0 else (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        point = V + (momentum - 1) / following * (V - previous) if following > 1 else V
        previous, momentum = V, following
    W = V / root
    return W[:-1], W[-1]
