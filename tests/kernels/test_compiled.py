"""The compiled loops of the ℓp kernels give what tensor operations give, on any number of threads."""

from __future__ import annotations

import pytest
import torch

from gramian.kernels import KernelOperator, Lp, compiled, gradient_moments

pytest.importorskip("numba", reason="the loops are compiled by numba, an optional extra")


@pytest.fixture
def small_is_worth_it(monkeypatch):
    monkeypatch.setattr(compiled, "_WORTH", 1)
    monkeypatch.setattr(compiled, "_THREAD_WORTH", 1)


@pytest.fixture
def without_numba(monkeypatch):
    monkeypatch.setattr(compiled, "compiled", lambda loop: None)


def rows(dtype, n=70, d=5, seed=0):
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    X[:, 1] = (X[:, 1] > 0).to(dtype)  # many coordinates agree, where the slope is 0
    X[3] = X[4]
    return X


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_sums_are_those_of_a_plain_loop(small_is_worth_it, dtype, p):
    u, v = rows(dtype, 33).mT.contiguous(), rows(dtype, 70, seed=1).mT.contiguous()
    D = compiled.power_sums(u, v, p)
    naive = (u[:, :, None].double() - v[:, None, :].double()).abs().pow(p).sum(dim=0)
    torch.testing.assert_close(D.double(), naive, rtol=20 * torch.finfo(dtype).eps, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("c", [1, 3])
def test_values_and_gradients_do_not_depend_on_the_way(monkeypatch, dtype, p, c):
    X = rows(dtype)
    coef = torch.randn(len(X), c, generator=torch.Generator().manual_seed(2), dtype=dtype)
    monkeypatch.setattr(compiled, "_WORTH", 1)
    monkeypatch.setattr(compiled, "_THREAD_WORTH", 1)
    K = KernelOperator(Lp(3.0, p=p), X)
    mine = K.dense(), K.gradient(X, coef), gradient_moments(K, coef).second
    monkeypatch.setattr(compiled, "compiled", lambda loop: None)
    theirs = K.dense(), K.gradient(X, coef), gradient_moments(K, coef).second
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=100 * torch.finfo(dtype).eps, atol=100 * torch.finfo(dtype).eps)


def test_threads_change_no_bit(small_is_worth_it, monkeypatch):
    u, v = rows(torch.float32, 61).mT.contiguous(), rows(torch.float32, 40, seed=1).mT.contiguous()
    alone = compiled.power_sums(u, v, 1.5)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(alone, compiled.power_sums(u, v, 1.5))


@pytest.mark.parametrize(
    ("u", "p"),
    [
        (torch.empty(2, 8, device="meta"), 1.0),
        (torch.zeros(2, 8, dtype=torch.bfloat16), 1.0),
        (torch.zeros(2, 8), 1.3),
    ],
    ids=["another device", "another format", "another power"],
)
def test_what_the_loops_cannot_do_is_left_to_tensors(small_is_worth_it, u, p):
    assert compiled.power_sums(u, u, p) is None


def test_without_numba_tensors_do_it(small_is_worth_it, without_numba):
    u = rows(torch.float32).mT.contiguous()
    assert compiled.power_sums(u, u, 1.0) is None
