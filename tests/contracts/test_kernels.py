"""The contract every kernel keeps, with every metric: values, gradients, AGOP and FACT equal their naive twins."""

import pytest
import torch

import twins
from gramian.features import agop, agop_from_moments
from gramian.kernels import KernelOperator, SmoothKernel, fact_sum, gradient_moments

pytestmark = pytest.mark.parametrize(("kernel", "metric_name"), twins.PAIRS, ids=str)
N, D, C = 12, 4, 3


@pytest.fixture
def case(kernel, metric_name, rng):
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    metric = twins.metric(metric_name, D, rng)
    X, Z, coef = draw(5, D), draw(N, D), draw(N, C)
    return metric, X, Z, coef, KernelOperator(kernel, Z, metric)


def close(a, b, tol=1e-10):
    torch.testing.assert_close(a, b, rtol=tol, atol=tol * float(b.abs().max()))


def test_values_equal_the_twin(kernel, case):
    metric, X, Z, _, operator = case
    close(kernel(X, Z, metric), twins.matrix(kernel, metric.matrix(), X, Z))
    close(operator.dense(), twins.matrix(kernel, metric.matrix(), Z, Z), tol=1e-7)  # arccos at 1 costs the twin digits
    close(operator.diagonal(), operator.dense().diagonal())


def test_matrix_is_symmetric_and_positive_semidefinite(kernel, case):
    K = case[-1].dense()
    assert torch.equal(K, K.mT)
    assert float(torch.linalg.eigvalsh(K)[0]) > -1e-10 * float(K.diagonal().max())


def test_gradient_equals_autograd(kernel, case):
    metric, X, Z, coef, operator = case
    close(operator.gradient(X, coef), twins.gradients(kernel, metric.matrix(), X, Z, coef), tol=1e-8)


def test_gradient_at_a_training_row_leaves_that_row_out(kernel, case):
    """At zero distance the kernel's own term has no direction: what remains is smooth, and finite."""
    metric, _, Z, coef, operator = case
    G = operator.gradient(Z[:1], coef)
    assert torch.isfinite(G).all()
    if kernel.translation_invariant:
        close(G, twins.gradients(kernel, metric.matrix(), Z[:1], Z[1:], coef[1:]), tol=1e-8)


def test_gradient_without_full_tiles_is_the_same(kernel, case):
    _, X, _, coef, operator = case
    close(operator.gradient(X, coef, batch_invariant=False), operator.gradient(X, coef), tol=1e-9)


def test_mean_gradient_along_a_line_is_the_mean_of_gradients_on_it(kernel, case):
    _, X, _, coef, operator = case
    a, b = X[0], X[1]
    t = (torch.arange(4096, dtype=torch.float64) + 0.5) / 4096
    naive = operator.gradient(a + t[:, None] * (b - a), coef).mean(dim=0)
    mean = operator.mean_gradient(X[:2], coef, 512)
    close(mean, naive, tol=2e-3)  # the naive mean knows jumps of ℓ1 gradients only to a step
    f = operator.predict(X[:2], coef)
    close(mean @ (b - a), f[1] - f[0], tol=1e-3)  # the NTK has kinks where a row is orthogonal


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("way", ["outputs", "pairs"])
def test_agop_equals_the_twin_both_ways(kernel, case, center, way):
    _metric, _, Z, coef, operator = case
    if way == "pairs" and not isinstance(kernel, SmoothKernel):
        pytest.skip("only for kernels whose gradients are products with slopes")
    G = operator.gradient(Z, coef)
    expected = twins.agop(G - G.mean(0) if center else G)
    moments = gradient_moments(operator, coef, way=way)
    measured = agop_from_moments(moments.second, moments.mean, moments.count, center=center)
    size = float(G.square().sum())  # a linear kernel's gradients are all equal, and centred nothing is left
    torch.testing.assert_close(measured, expected, rtol=1e-8, atol=1e-10 * size)
    torch.testing.assert_close(agop(G, center=center), expected, rtol=1e-8, atol=1e-10 * size)


@pytest.mark.parametrize("way", ["outputs", "pairs"])
def test_agop_of_some_rows_with_weights(kernel, case, rng, way):
    _, _, Z, coef, operator = case
    if way == "pairs" and not isinstance(kernel, SmoothKernel):
        pytest.skip("only for kernels whose gradients are products with slopes")
    rows, weights = torch.tensor([7, 2, 5]), torch.rand(N, generator=rng, dtype=torch.float64)
    G = operator.gradient(Z, coef)[rows]
    moments = gradient_moments(operator, coef, rows, weights, way)
    close(agop_from_moments(moments.second, moments.mean, moments.count), agop(G, weights=weights[rows]), tol=1e-8)


def test_fact_equals_the_twin(kernel, case):
    _, _, Z, coef, operator = case
    G = operator.gradient(Z, coef)
    close(fact_sum(operator, coef), torch.einsum("nck,nc,nl->kl", G, coef, Z), tol=1e-8)


def test_agop_scales_with_the_square_of_the_predictor(kernel, case):
    coef, operator = case[3], case[4]
    close(gradient_moments(operator, 3 * coef).second, 9 * gradient_moments(operator, coef).second)


def test_float32_keeps_float32_accuracy(kernel, case):
    metric, X, Z, coef, _ = case
    narrow = KernelOperator(kernel, Z.float(), metric)
    wide = KernelOperator(kernel, Z.float().double(), metric)
    X = X.float()
    close(narrow.dense().double(), wide.dense(), tol=1e-5)
    close(narrow.predict(X, coef), wide.predict(X.double(), coef), tol=1e-5)
    close(narrow.gradient(X, coef).double(), wide.gradient(X.double(), coef), tol=1e-4)


def test_products_do_not_depend_on_tiles_or_batches(kernel, case, rng):
    metric, _, _, _, _ = case
    X = torch.randn(300, D, generator=rng, dtype=torch.float32)
    coef = torch.randn(300, C, generator=rng, dtype=torch.float64)
    operator = KernelOperator(kernel, X, metric)
    small = KernelOperator(kernel, X, metric, max_bytes=1)
    assert small.tile < operator.tile
    close(small.matmul(coef), operator.dense().double() @ coef, tol=1e-5)
    new = torch.randn(200, D, generator=rng, dtype=torch.float32)
    whole = operator.predict(new, coef)
    for rows in (slice(0, 1), slice(7, 8), slice(100, 163), slice(50, 200)):
        assert torch.equal(operator.predict(new[rows], coef), whole[rows])
    assert torch.equal(operator.predict(new.mT.contiguous().mT, coef), whole)  # the layout of a table in memory
    close(operator.gradient(new[3:4], coef), operator.gradient(new, coef)[3:4], tol=1e-5)
