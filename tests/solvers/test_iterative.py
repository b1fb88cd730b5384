"""Conjugate gradients on a matrix held once: the same answers as direct, and never a silent loss."""

import warnings

import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from gramian.kernels import Gaussian, KernelOperator, Laplace, Matern
from gramian.kernels.gradients import gradient_moments
from gramian.solvers import ConjugateGradient, Direct, RidgeSystem, Workspace, choose
from gramian.solvers.packed import PackedMatrix
from gramian.solvers.preconditioner import NystromPreconditioner


def rows_of(n, rng, d=5):
    return torch.randn(n, d, generator=rng)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 512, 513, 1100])
def test_a_packed_matrix_is_the_matrix(n, dtype, rng):
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
def test_the_compiled_product_is_that_of_tensors(monkeypatch, dtype, threads):
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


@pytest.mark.parametrize("kernel", [Laplace(3.0), Gaussian(3.0), Matern(3.0)], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_float32_iterations_reach_the_residual_of_wide_ones(kernel, weighted, rng):
    """The recorded residual is the true one, and new rows are predicted as after a direct solve in float64."""
    X, new = rows_of(900, rng), rows_of(200, rng)
    Y = torch.stack([X[:, 0].sin(), X[:, 1] * X[:, 2]], dim=1).double()
    weights = 0.5 + torch.rand(900, generator=rng, dtype=torch.float64) if weighted else None
    operator = KernelOperator(kernel, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ConjugateGradient(tol=1e-6, preconditioner_rank=200).solve(RidgeSystem(operator, Y, 1e-3, weights))
    info = solution.info
    assert info.solver == "conjugate gradients"
    ridges = 1e-3 * (torch.ones(900) if weights is None else 1 / weights)[:, None]
    R = Y - (operator.dense().double() @ solution.coef + ridges * solution.coef)
    if weights is None:
        assert info.residual == pytest.approx(float((R.norm(dim=0) / Y.norm(dim=0)).max()), rel=0.05)
    assert info.residual <= 1e-6
    exact = Direct(tol=1e-10).solve(RidgeSystem(operator.widened(), Y, 1e-3, weights))
    expected = exact.operator.predict(new.double(), exact.coef)
    assert float((operator.predict(new, solution.coef) - expected).norm() / expected.norm()) < 1e-4


def test_the_shift_is_what_the_columns_do_not_see(rng):
    K = KernelOperator(Laplace(3.0), rows_of(400, rng).double()).dense()
    chosen = torch.arange(0, 400, 8)
    preconditioner = NystromPreconditioner(lambda: K[:, chosen], chosen, K.diagonal(), 1e-3, torch.float64)
    seen = K[:, chosen] @ torch.linalg.solve(K[chosen][:, chosen], K[chosen])
    assert preconditioner.shift == pytest.approx(1e-3 + float((K - seen).diagonal().mean()), rel=1e-6)
    R = torch.randn(2, 400, generator=rng, dtype=torch.float64)
    shifted = seen + preconditioner.shift * torch.eye(400, dtype=torch.float64)
    torch.testing.assert_close(preconditioner(R), torch.linalg.solve(shifted, R.mT).mT)


def test_more_columns_never_take_more_steps(rng):
    X = rows_of(1500, rng, d=3)
    operator, y = KernelOperator(Laplace(10.0), X), X[:, :1].sin().double()
    steps = [
        ConjugateGradient(preconditioner_rank=m).solve(RidgeSystem(operator, y, 1e-4)).info.steps
        for m in (50, 200, 800)
    ]
    assert steps[0] > steps[1] > steps[2]


@pytest.mark.parametrize("ridge", [1e-3, 1e-6])
def test_a_small_ridge_takes_no_more_steps(ridge, rng):
    """With the ridge alone as shift, 1e-6 took 33 steps where 1e-3 took 21."""
    X = rows_of(1500, rng, d=50) @ torch.diag(torch.tensor([1.0] * 5 + [0.01] * 45))
    operator, y = KernelOperator(Laplace(10.0), X), (X[:, :1].sin() + X[:, 1:2] * X[:, 2:3]).double()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = ConjugateGradient(tol=1e-5, preconditioner_rank=700, max_steps=26).solve(
            RidgeSystem(operator, y, ridge)
        )
    assert solution.info.residual <= 1e-5
    assert solution.info.steps <= 26
    assert solution.info.dtype == "float32"


def test_a_slow_iteration_gets_more_columns_first(rng):
    X = rows_of(1200, rng, d=3)
    operator, y = KernelOperator(Laplace(30.0), X), X[:, :1].sin().double()
    few = ConjugateGradient(tol=1e-6, preconditioner_rank=150, max_steps=500).solve(RidgeSystem(operator, y, 1e-6)).info
    more = (
        ConjugateGradient(tol=1e-6, preconditioner_rank=300, max_steps=500).solve(RidgeSystem(operator, y, 1e-6)).info
    )
    assert more.steps <= few.steps
    between = more.steps - 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        info = (
            ConjugateGradient(tol=1e-6, preconditioner_rank=150, max_steps=between)
            .solve(RidgeSystem(operator, y, 1e-6))
            .info
        )
    assert info.residual <= 1e-6
    assert "stopped" in info.status or "stalled" in info.status
    assert "with 300 centers" in info.status


def test_a_hopeless_iteration_is_left_early_and_solved_directly(rng):
    X = rows_of(700, rng, d=2).double()
    operator = KernelOperator(Gaussian(0.3), X)
    y = torch.randn(700, 1, generator=rng, dtype=torch.float64)
    with pytest.warns(ConvergenceWarning, match="solved directly instead"):
        solution = ConjugateGradient(tol=1e-9, preconditioner_rank=0, max_steps=2000).solve(
            RidgeSystem(operator, y, 1e-7)
        )
    assert solution.info.solver == "direct"
    assert solution.info.steps < 1000
    assert solution.info.residual <= 1e-7


@pytest.mark.parametrize("factor", [-3.0, 1e3])
def test_a_guess_of_the_wrong_size_costs_nothing(factor, rng):
    X = rows_of(600, rng)
    operator, y = KernelOperator(Laplace(3.0), X), X[:, :1].sin().double()
    solver = ConjugateGradient(tol=1e-6, preconditioner_rank=60)
    cold = solver.solve(RidgeSystem(operator, y, 1e-2))
    warm = solver.solve(RidgeSystem(operator, y, 1e-2), guess=factor * cold.coef)
    assert warm.info.steps <= 2
    assert warm.info.residual <= 1e-6


def test_the_same_memory_serves_every_round(rng):
    X, workspace = rows_of(700, rng), Workspace()
    operator, y = KernelOperator(Laplace(3.0), X), X[:, :1].sin().double()
    first = ConjugateGradient().solve(RidgeSystem(operator, y, 1e-2), workspace=workspace)
    address = workspace.flat(1, X, torch.float32).data_ptr()
    second = ConjugateGradient().solve(RidgeSystem(operator, y, 1e-2), workspace=workspace)
    assert workspace.flat(1, X, torch.float32).data_ptr() == address
    assert torch.equal(first.coef, second.coef)


def test_the_choice_is_iterative_where_that_is_faster():
    assert isinstance(choose(4000, torch.float32, 10**10).solver, Direct)
    chosen = choose(20_000, torch.float32, 10**10)
    solver, why = chosen.solver, chosen.why
    assert not chosen.forced
    assert isinstance(solver, ConjugateGradient)
    assert solver.tol == Direct().tol  # another way to the same residual
    assert "faster" in why
    assert "conjugate" not in why  # which would be a warning: nothing is lost here
    # No room for half a matrix: then it is a question of memory, and said so.
    assert "needs 1.8 GB" in choose(20_000, torch.float32, 10**9).why


def test_moments_at_some_rows_do_not_depend_on_their_order(rng):
    X = rows_of(700, rng)
    operator, coef = KernelOperator(Laplace(3.0), X), torch.randn(700, 2, generator=rng, dtype=torch.float64)
    some = torch.randperm(700, generator=rng)[:300]
    moments = gradient_moments(operator, coef, some)
    G = KernelOperator(Laplace(3.0), X.double()).gradient(X[some].double(), coef)
    torch.testing.assert_close(moments.second, torch.einsum("ncd,nce->de", G, G), rtol=1e-4, atol=1e-3)
    assert torch.equal(moments.second, gradient_moments(operator, coef, some.flip(0)).second)
