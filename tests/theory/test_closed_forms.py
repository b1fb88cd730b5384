"""Paper B, propositions 1, 3, 4 and 5."""

import pytest
import torch
from torch.testing import assert_close

from gramian.features import agop, nfm
from gramian.theory import (
    deep_relu_gop,
    ideal_kernel,
    joint_activity,
    linear_gd_features,
    linear_target_kernel,
    printed,
    regression_iterate,
    relu_expected_gop,
    relu_gop,
    relu_gradients,
    train_two_layer_linear,
    two_step_features,
)

F64 = torch.float64


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def test_linear_target_has_its_ideal_kernel():
    """Proposition 1, with M the AGOP that autograd finds for f(x) = β·x."""
    X, Z, beta = draw(6, 4), draw(5, 4, seed=1), draw(4, seed=2)
    leaf = X.clone().requires_grad_()
    (G,) = torch.autograd.grad((leaf @ beta).sum(), leaf)
    K = linear_target_kernel(X, Z, agop(G[:, None]))
    assert_close(K, ideal_kernel(X @ beta, Z @ beta))


def test_relu_gradients_equal_autograd():
    X, W, a = draw(7, 3), draw(5, 3, seed=1), draw(2, 5, seed=2)
    G = relu_gradients(X, W, a)
    for c in range(2):
        leaf = X.clone().requires_grad_()
        (g,) = torch.autograd.grad((((2 / 5) ** 0.5 * leaf @ W.mT).relu() @ a[c]).sum(), leaf)
        assert_close(G[:, c], g)


@pytest.mark.parametrize("outer", ["normal", "signs"])
@pytest.mark.parametrize("inputs", ["normal", "uniform"])
def test_relu_gop_is_the_nfm_over_the_width(inputs, outer):
    """Proposition 3: any W, any a with mean 0 and variance 1, any symmetric x; within 5 standard errors."""
    rng = torch.Generator().manual_seed(3)
    W = draw(4, 3, seed=4)
    n = 40_000
    X = torch.randn(n, 3, generator=rng, dtype=F64)
    a = torch.randn(n, 4, generator=rng, dtype=F64)
    if inputs == "uniform":
        X = 2 * torch.rand(n, 3, generator=rng, dtype=F64) - 1
    if outer == "signs":
        a = a.sign()
    G = (2 / 4) ** 0.5 * ((X @ W.mT > 0).to(F64) * a) @ W
    assert_close(G[:3], relu_gradients(X[:3], W, a[:3]).diagonal(dim1=0, dim2=1).mT)
    outers = G[:, :, None] * G[:, None, :]
    z = (outers.mean(0) - relu_expected_gop(W)).abs() / (outers.std(0) / n**0.5)
    assert z.max() < 5


@pytest.mark.parametrize("train_outer", [False, True])
def test_training_equals_autograd_gradient_descent(train_outer):
    X, y, A = draw(8, 3), draw(8, seed=1), draw(5, seed=2)
    net = train_two_layer_linear(X, y, A, step=0.03, steps=4, train_outer=train_outer)
    A, B = A.clone().requires_grad_(), torch.zeros(5, 3, dtype=F64, requires_grad=True)
    for _ in range(4):
        loss = 0.5 * (y - X @ (B.mT @ A) / 5**0.5).square().sum()
        gA, gB = torch.autograd.grad(loss, [A, B])
        with torch.no_grad():
            B -= 0.03 * gB
            A -= 0.03 * gA * train_outer
    assert_close(net.B, B.detach())
    assert_close(net.A, A.detach())


@pytest.mark.parametrize("steps", [0, 1, 2, 7])
@pytest.mark.parametrize("width", [1, 6, 50])
def test_proposition_4_exactly_at_every_width(width, steps):
    """Not only in the limit: with s = ‖A‖²/k the NFM is s uuᵀ and the gradient outer product s² uuᵀ."""
    X, y, A = draw(8, 3), draw(8, seed=1), draw(width, seed=2)
    s = float(A @ A) / width
    net = train_two_layer_linear(X, y, A, step=0.02, steps=steps)
    expected_nfm, expected_gop = linear_gd_features(X, y, 0.02, steps, outer_norm=s)
    g = net.gradient()
    assert_close(nfm(net.B), expected_nfm)
    assert_close(torch.outer(g, g), expected_gop)


def test_regression_iterate_converges_to_least_squares():
    X, y = draw(20, 3), draw(20, seed=1)
    assert_close(regression_iterate(X, y, 0.02, 2000), torch.linalg.lstsq(X, y[:, None]).solution[:, 0])


def test_the_predictor_in_the_limit_is_not_random():
    """Paper B calls Zx normal in the limit; from B = 0 it is the regression iterate, with variance O(1/k)."""
    X, y, x = draw(8, 3), draw(8, seed=1), draw(3, seed=2)
    spread = []
    for width in (100, 10_000):
        values = [
            train_two_layer_linear(X, y, draw(width, seed=s), step=0.02, steps=3).gradient() @ x for s in range(100)
        ]
        spread.append(torch.stack(values).std())
    # The variance is O(1/k): a width 100 times larger divides the deviation by 10, give or take 10 % each.
    assert 6 < spread[0] / spread[1] < 16
    assert torch.stack(values).mean() == pytest.approx(float(regression_iterate(X, y, 0.02, 3) @ x), rel=0.02)


def test_proposition_5_in_the_limit():
    """Both layers trained for two steps. With ±1 outer weights s = 1, so only the O(1/k) of A is left."""
    X, y, step = draw(8, 3), draw(8, seed=1), 0.05
    errors = []
    for width in (100, 10_000):
        net = train_two_layer_linear(X, y, draw(width, seed=2).sign(), step=step, steps=2, train_outer=True)
        g = net.gradient()
        limit = two_step_features(X, y, step)
        assert_close(nfm(net.B), limit)
        errors.append((torch.outer(g, g) - limit).norm() / limit.norm())
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.1)


def test_two_step_formula_is_its_expansion_and_not_the_printed_one():
    X, y, step = draw(8, 3), draw(8, seed=1), 0.05
    C = X.mT @ X
    M = step**2 * torch.outer(X.mT @ y, X.mT @ y)
    expansion = 4 * M - 2 * step * (M @ C + C @ M) + step**2 * C @ M @ C
    limit = two_step_features(X, y, step)
    assert_close(limit, expansion)
    assert (printed.two_step_features(X, y, step) - limit).norm() > 0.5 * limit.norm()


def test_the_share_of_inputs_that_activate_two_neurons():
    W = draw(5, 3, seed=1)
    X = torch.randn(40_000, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    on = (X @ W.mT > 0).double()
    torch.testing.assert_close(joint_activity(W), on.mT @ on / len(X), atol=0.01, rtol=0)


def test_opposite_and_equal_neurons():
    W = torch.tensor([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]], dtype=torch.float64)
    P = joint_activity(W)
    torch.testing.assert_close(P[0], torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64), atol=1e-7, rtol=0)


def test_the_gradient_outer_product_of_one_network_equals_autograd():
    W, a = draw(5, 3, seed=1), draw(5, seed=6)
    X = torch.randn(40_000, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64).requires_grad_()
    (G,) = torch.autograd.grad((((2 / 5) ** 0.5 * X @ W.mT).relu() @ a).sum(), X)
    sampled = G.mT @ G / len(G)
    assert (relu_gop(W, torch.outer(a, a)) - sampled).norm() < 0.03 * sampled.norm()


def test_the_jacobian_product_equals_autograd():
    """The same draws of the upper layers, and the expectation over a as a sum over unit vectors."""
    rng = torch.Generator().manual_seed(0)
    W = torch.randn(4, 3, generator=rng, dtype=torch.float64)
    X = torch.randn(2, 3, generator=rng, dtype=torch.float64)
    found = deep_relu_gop(X, W, 3, 6, torch.Generator().manual_seed(5))
    draws = torch.Generator().manual_seed(5)
    upper = [torch.randn(6, k, generator=draws, dtype=torch.float64) for k in (4, 6)]

    def hidden(x):
        for V in (W, *upper):
            x = (2 / len(V)) ** 0.5 * (V @ x).relu()
        return x

    expected = torch.zeros(3, 3, dtype=torch.float64)
    for x in torch.cat([X, -X]):
        J = torch.autograd.functional.jacobian(hidden, x)
        expected += J.mT @ J / 4
    torch.testing.assert_close(found, expected)


def test_one_hidden_layer_is_exact_with_one_pair_of_inputs():
    rng = torch.Generator().manual_seed(1)
    W = torch.randn(7, 3, generator=rng, dtype=torch.float64)
    X = torch.randn(1, 3, generator=rng, dtype=torch.float64)
    assert_close(deep_relu_gop(X, W, 1, 1, rng), relu_expected_gop(W))
