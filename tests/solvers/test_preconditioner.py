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
    preconditioner = NystromPreconditioner(lambda at: K[:, at], chosen, K.diagonal(), 1e-3, torch.float64)
    seen = K[:, chosen] @ torch.linalg.solve(K[chosen][:, chosen], K[chosen])
    assert preconditioner.shift == pytest.approx(1e-3 + float((K - seen).diagonal().mean()), rel=1e-6)
    R = torch.randn(2, 400, generator=rng, dtype=torch.float64)
    shifted = seen + preconditioner.shift * torch.eye(400, dtype=torch.float64)
    torch.testing.assert_close(preconditioner(R), torch.linalg.solve(shifted, R.mT).mT)


def test_columns_in_float32_that_lack_digits_are_made_again_in_the_wide_format(rng):
    """Equal rows and a tiny ridge: σ is below the round-off of float32, and the product is that of float64."""
    X = rows_of(150, rng).double().repeat(2, 1)
    K = KernelOperator(Laplace(3.0), X).dense()
    chosen = torch.arange(150)
    asked = []

    def columns(at):
        asked.append(len(at))
        return K[:, at].float()

    narrow = NystromPreconditioner(columns, chosen, K.diagonal(), 1e-9, torch.float64)
    wide = NystromPreconditioner(lambda at: K[:, at], chosen, K.diagonal(), 1e-9, torch.float64)
    assert narrow.B.dtype == torch.float64
    assert asked[0] == len(chosen) == sum(asked[1:])
    assert max(asked[1:]) < len(chosen)
    R = torch.randn(2, 300, generator=rng, dtype=torch.float64)
    torch.testing.assert_close(narrow(R) * narrow.shift, wide(R) * wide.shift, rtol=1e-4, atol=1e-4)
