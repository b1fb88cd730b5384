"""Losses of probabilities on rows with known labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gramian.tables.scaling import Array


def probability_losses(log_p: Array, labels: NDArray[np.intp], weights: Array, bins: int = 10) -> dict[str, float]:
    """Compute losses of probabilities ``(m, classes)`` on rows with known labels.

    Log loss ``−log p_y``; Brier score ``Σ_c (p_c − 1[c = y])²``; expected calibration error ``Σ_b w_b |accuracy_b −
    confidence_b|`` over ``bins`` equal bins of the highest probability; and the share of wrong classes. Smaller is
    better for each.

    >>> losses = probability_losses(np.log([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1]), np.ones(2))
    >>> {name: round(value, 3) for name, value in losses.items()}
    {'log_loss': 0.57, 'brier': 0.4, 'calibration_error': 0.4, 'error': 0.5}
    """
    share = weights / weights.sum()
    p = np.exp(log_p)
    rows = np.arange(len(labels))
    hit = (p.argmax(axis=1) == labels).astype(np.float64)
    confidence = p.max(axis=1)
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    gaps = np.bincount(which, share * (hit - confidence), minlength=bins)
    return {
        "log_loss": float(-share @ log_p[rows, labels]),
        "brier": float(share @ ((p - np.eye(p.shape[1])[labels]) ** 2).sum(axis=1)),
        "calibration_error": float(np.abs(gaps).sum()),
        "error": float(1 - share @ hit),
    }
