"""Detector of a concept over all layers: a weighted sum of the probes' outputs, calibrated on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from torch import Tensor

from gramian.concepts.probe import Fold
from gramian.rfm.uncertainty.conformal import check_coverage, conformal_quantile

_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Ridges of the weights that are compared; losses are summed over rows, outputs have standard deviation 1."""
_NEGLIGIBLE = 1e-3
"""Layers with less than this share of the total weight are left out."""


@dataclass(frozen=True, eq=False)
class Detector:
    """Logits ``b_c + Σ_l w_l (o_lc − mean_lc) / scale_l`` of the outputs o of the layers, with weights ``w ≥ 0``.

    Parameters
    ----------
    layers : tuple of int
        Positions of the layers with a weight, among all layers of the concept.
    weights : Tensor (l,)
    mean : Tensor (l, c)
    scale : Tensor (l,)
    bias : Tensor (c,)
    held_out : Tensor (n, k)
        Probabilities of training rows, each from probes and weights that were fitted without the row.
    misfit : Tensor (n,)
        Probability that is missing on the true label of these rows (for grades, the absolute error).
    """

    layers: tuple[int, ...]
    weights: Float[Tensor, " l"]
    mean: Float[Tensor, "l c"]
    scale: Float[Tensor, " l"]
    bias: Float[Tensor, " c"]
    held_out: Float[Tensor, "n k"]
    misfit: Float[Tensor, " n"]

    def probabilities(self, outputs: Float[Tensor, "m l c"]) -> Float[Tensor, "m k"]:
        """Return probabilities from the outputs of the layers with a weight: k = 1 column, or one for each class."""
        scaled = (outputs.double() - self.mean) / self.scale[:, None]
        return _activation(torch.einsum("l,mlc->mc", self.weights, scaled) + self.bias)

    def tolerance(self, coverage: float) -> float:
        """Return the largest misfit that a new row has with probability ``coverage`` (split conformal prediction)."""
        misfit = self.misfit.numpy()
        return conformal_quantile(misfit, np.ones(len(misfit)), check_coverage(coverage))


def fit_detector(
    outputs: Float[Tensor, "n l c"], Y: Float[Tensor, "n c"], folds: Sequence[Fold], graded: bool = False
) -> Detector:
    """Weight the layers by the log loss of held-out outputs.

    ``outputs`` are the probes' outputs for rows that were held out in their fold. The ridge of the weights is selected
    by the log loss on the same folds, and each row's probability comes from weights fitted without its fold.

    >>> rng = torch.Generator().manual_seed(0)
    >>> Y = (torch.rand(100, 1, generator=rng) > 0.5).float()
    >>> noise = torch.randn(100, 2, 1, generator=rng)
    >>> outputs = torch.stack([Y + 0.5 * noise[:, 0], noise[:, 1]], dim=1)
    >>> folds = [(torch.arange(50), torch.arange(50, 100)), (torch.arange(50, 100), torch.arange(50))]
    >>> weights = fit_detector(outputs, Y, folds).weights
    >>> bool(weights[0] > 0.9 * weights.sum())
    True
    """
    outputs, Y = outputs.double(), Y.double()
    mean, scale = outputs.mean(dim=0), outputs.std(dim=(0, 2))
    scale = torch.where(scale > 0, scale, 1.0)
    scaled = (outputs - mean) / scale[:, None]
    best: tuple[float, float, Tensor] | None = None
    for penalty in _PENALTIES:
        logits = torch.zeros_like(Y)
        for train, other in folds:
            w, b = _fit_weights(scaled[train], Y[train], penalty)
            logits[other] = torch.einsum("l,nlc->nc", w, scaled[other]) + b
        loss = float(_loss(logits, Y))
        if best is None or loss < best[0]:
            best = (loss, penalty, logits)
    assert best is not None
    weights, bias = _fit_weights(scaled, Y, best[1])
    kept = weights > _NEGLIGIBLE * weights.sum()
    if not bool(kept.any()):  # no layer helps: the detector is the share of each class
        kept[0] = True
    held_out = _activation(best[2])
    chosen = tuple(int(layer) for layer in kept.nonzero().squeeze(1))
    # Layers that are left out enter with their mean, which is 0 after scaling.
    return Detector(chosen, weights[kept], mean[kept], scale[kept], bias, held_out, _misfit(held_out, Y, graded))


def _misfit(p: Float[Tensor, "n k"], Y: Float[Tensor, "n c"], graded: bool) -> Float[Tensor, " n"]:
    if graded:
        return (p - Y).abs().squeeze(1)
    both, truth = (torch.cat([1 - A, A], dim=1) if A.shape[1] == 1 else A for A in (p, Y))
    return 1 - both.gather(1, truth.argmax(dim=1, keepdim=True)).squeeze(1)


def _activation(logits: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    return torch.sigmoid(logits) if logits.shape[1] == 1 else torch.softmax(logits, dim=1)


def _loss(logits: Float[Tensor, "n c"], Y: Float[Tensor, "n c"]) -> Tensor:
    """Sum of the cross-entropies; labels between 0 and 1 count as probabilities."""
    if logits.shape[1] == 1:
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, Y, reduction="sum")
    return -(Y * torch.log_softmax(logits, dim=1)).sum()


def _fit_weights(
    scaled: Float[Tensor, "n l c"], Y: Float[Tensor, "n c"], penalty: float
) -> tuple[Float[Tensor, " l"], Float[Tensor, " c"]]:
    layers, columns = scaled.shape[1:]

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        theta = torch.from_numpy(values).requires_grad_()
        w, b = theta[:layers], theta[layers:]
        loss = _loss(torch.einsum("l,nlc->nc", w, scaled) + b, Y) + penalty / 2 * w.square().sum()
        (gradient,) = torch.autograd.grad(loss, theta)
        return float(loss.detach()), gradient.numpy()

    bounds = [(0.0, None)] * layers + [(None, None)] * columns
    start = np.concatenate([np.full(layers, 1 / layers), np.zeros(columns)])
    with torch.enable_grad():
        found = torch.from_numpy(minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    return found[:layers], found[layers:]
