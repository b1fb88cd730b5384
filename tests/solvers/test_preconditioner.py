"""The Nyström preconditioner."""

import pytest
import torch

from gramian.kernels import KernelOperator, Laplace
from gramian.solvers.preconditioner import NystromPreconditioner


def rows_of(n, rng, d=5):
    return torch.randn(n, d, generator=rng)


def test_the_shift_is_the_ridge_plus_the_mean_error_on_the_diagonal(rng):
    K = KernelOperator(Laplace(3.0), rows_of(400, rng).double()).dense()
    chosen = torch.arange(0, 400, 8)
    preconditioner = NystromPreconditioner(lambda: K[:, chosen], chosen, K.diagonal(), 1e-3, torch.float64)
    seen = K[:, chosen] @ torch.linalg.solve(K[chosen][:, chosen], K[chosen])
    assert preconditioner.shift == pytest.approx(1e-3 + float((K - seen).diagonal().mean()), rel=1e-6)
    R = torch.randn(2, 400, generator=rng, dtype=torch.float64)
    shifted = seen + preconditioner.shift * torch.eye(400, dtype=torch.float64)
    torch.testing.assert_close(preconditioner(R), torch.linalg.solve(shifted, R.mT).mT)
