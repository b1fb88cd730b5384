"""Kernel machines of paper B, against naive float64 twins."""

import pytest
import torch

from gramian.experiments.b_rfm.machines import learn, ridge_fit
from gramian.kernels import Gaussian, as_metric
from gramian.solvers import Workspace


@pytest.fixture
def rows():
    rng = torch.Generator().manual_seed(0)
    X = torch.rand(12, 5, generator=rng, dtype=torch.float64)
    return X, torch.nn.functional.one_hot((X[:, 0] > 0.5).long(), 2).double()


def naive_kernel(X, M):
    apart = X[:, None] - X[None]
    return torch.einsum("ijk,kl,ijl->ij", apart, M, apart).clamp_min(0).sqrt().div(-10).exp()


def test_a_round_uses_the_plain_mean_of_gradient_outer_products(rows):
    X, Y = rows
    machines = list(learn(X, Y, 1e-2, 1))
    K = naive_kernel(X, torch.eye(5, dtype=torch.float64))
    alpha = torch.linalg.solve(K + 1e-2 * torch.eye(12), Y)
    torch.testing.assert_close(machines[0].coef.double(), alpha, rtol=1e-6, atol=1e-8)
    M = torch.zeros(5, 5, dtype=torch.float64)
    for j in range(12):
        apart = X[j] - X
        distance = apart.norm(dim=1)
        distance[j] = 1.0  # the gradient at a row's own centre is 0
        G = -(alpha.mT * (K[j] / (10 * distance))) @ apart
        M += G.mT @ G / 12
    torch.testing.assert_close(machines[1].matrix(), M, rtol=1e-6, atol=1e-12)


def test_ridge_regression_with_a_metric_is_that_on_transformed_rows(rows):
    X, Y = rows
    A = torch.randn(5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    given = ridge_fit(X, Y, 1e-3, metric=as_metric(A @ A.mT))
    plain = ridge_fit(X @ A, Y, 1e-3)
    torch.testing.assert_close(given.predict(X), plain.predict(X @ A), rtol=1e-6, atol=1e-9)


def test_the_kernel_is_that_of_the_argument_and_a_workspace_changes_nothing(rows):
    X, Y = rows
    kernel = Gaussian(0.7)
    first, *_, last = learn(X, Y, 1e-2, 2, kernel=kernel, workspace=Workspace())
    K = torch.exp(-0.5 * (torch.cdist(X, X) / 0.7) ** 2)
    torch.testing.assert_close(first.coef, torch.linalg.solve(K + 1e-2 * torch.eye(12), Y))
    *_, alone = learn(X, Y, 1e-2, 2, kernel=kernel)
    assert torch.equal(last.coef, alone.coef)


def test_rounds_end_where_no_feature_is_learned(rows):
    X, _ = rows
    assert len(list(learn(X, torch.zeros(12, 1, dtype=torch.float64), 1e-2, 3))) == 1
