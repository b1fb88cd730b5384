"""The packed matrix equals the full one."""

import pytest
import torch

from gramian.kernels import KernelOperator, Laplace
from gramian.solvers import Workspace
from gramian.solvers.packed import PackedMatrix


def rows_of(n, rng, d=5):
    return torch.randn(n, d, generator=rng)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 512, 513, 1100])
def test_a_packed_matrix_equals_the_full_matrix(n, dtype, rng):
    operator = KernelOperator(Laplace(3.0), rows_of(n, rng).to(dtype))
    packed, K = PackedMatrix(operator, Workspace()), operator.dense()
    V = torch.randn(3, n, generator=rng, dtype=torch.float64)
    torch.testing.assert_close(packed.matmul(V), V @ K.double())
    torch.testing.assert_close(packed.matmul(V.to(dtype)), V.to(dtype) @ K, rtol=1e-4, atol=1e-3)
    chosen = torch.randperm(n, generator=rng)[: max(1, n // 3)].sort().values
    assert torch.equal(packed.columns(chosen), K[:, chosen])


def test_a_packed_matrix_takes_half_the_memory():
    full = 20_000**2 * 4
    assert 0.5 < PackedMatrix.bytes_needed(20_000, torch.float32) / full < 0.52


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_compiled_product_equals_that_of_tensors(monkeypatch, dtype, threads):
    pytest.importorskip("numba", reason="the loop is compiled by numba, an optional extra")
    rng = torch.Generator().manual_seed(0)
    operator = KernelOperator(Laplace(2.0), torch.randn(1200, 3, generator=rng))
    packed, V = PackedMatrix(operator, Workspace()), torch.randn(5, 1200, generator=rng, dtype=dtype)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr("gramian.solvers.packed._COMPILED_ROWS", 1)
    mine = packed.matmul(V)
    monkeypatch.setattr("gramian.solvers.packed.compiled", lambda loop, reorder: None)
    theirs = packed.matmul(V)
    assert (mine - theirs).norm() < 20 * torch.finfo(dtype).eps * theirs.norm()
