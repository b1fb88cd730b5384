"""Targets with known features against their formulas and autograd."""

import pytest
import torch
from torch.testing import assert_close

from gramian.features import agop
from gramian.theory import (
    chain_monomial,
    chain_monomial_egop,
    sum_of_squares,
)
from theory.draws import F64, generator


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_chain_monomial_by_its_sum(rank):
    X = torch.randn(7, 6, generator=generator(), dtype=F64)
    y = [sum(x[k % rank] * x[(k + 1) % rank] for k in range(1, rank + 1)) for x in X]
    assert_close(chain_monomial(X, rank), torch.stack(y))


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_chain_monomial_egop_by_autograd(rank):
    """Mean of 40,000 gradients; entries are O(4) with standard error below 0.04, so 0.2 is five of them."""
    X = torch.randn(40_000, 6, generator=generator(1), dtype=F64).requires_grad_()
    (G,) = torch.autograd.grad(chain_monomial(X, rank).sum(), X)
    egop = chain_monomial_egop(6, rank)
    assert_close(agop(G[:, None]), egop, atol=0.2, rtol=0)
    assert torch.linalg.matrix_rank(egop) <= rank


def test_sum_of_squares_is_its_quadratic_form():
    rng = generator(2)
    X, Q = torch.randn(5, 3, generator=rng, dtype=F64), torch.randn(4, 3, generator=rng, dtype=F64)
    assert_close(sum_of_squares(X, Q), torch.einsum("ni,ij,nj->n", X, Q.mT @ Q, X))


@pytest.mark.parametrize("rank", [0, 4])
def test_rank_out_of_range_is_refused(rank):
    with pytest.raises(ValueError, match="rank"):
        chain_monomial(torch.ones(2, 3), rank)
    with pytest.raises(ValueError, match="rank"):
        chain_monomial_egop(3, rank)
