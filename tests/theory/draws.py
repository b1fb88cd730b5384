"""Random matrices and tasks for the tests of the theory, in float64."""

from itertools import pairwise

import torch

F64 = torch.float64


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def randn(*shape, rng):
    return torch.randn(*shape, generator=rng, dtype=F64)


def tr(M):
    """The normalised trace."""
    return float(M.trace()) / M.shape[0]


def free_pair(d, rng):
    """Two correlated symmetric matrices A, B with O(1) spectra, and the spectrum of an R free of both."""
    G, H = randn(d, d, rng=rng), randn(d, d, rng=rng)
    A = (G + G.mT) / (2 * d) ** 0.5
    B = A @ A + H @ H.mT / d
    return A @ A + A, B, torch.linspace(0.2, 2.0, d, dtype=F64) ** 2


def regression(d, c, n=30, seed=1):
    """Inputs and noiseless linear targets."""
    rng = generator(seed)
    X = randn(n, d, rng=rng)
    return X, X @ randn(d, c, rng=rng)


def unbalanced(widths, seed=2):
    """Weights of a deep linear network, each drawn on its own."""
    rng = generator(seed)
    return tuple(randn(m, k, rng=rng) / (2 * k) ** 0.5 for k, m in pairwise(widths))
