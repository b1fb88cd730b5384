"""Networks and kernel machines of the pictures, against naive float64 twins."""

import numpy as np
import pytest
import torch

from gramian.experiments.b_rfm.picture_models import (
    NetworkTraining,
    bias_free,
    first_weight,
    gram,
    gram_diagonal,
    learn,
    ridge_fit,
    train_network,
)
from gramian.kernels import as_metric


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


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training_lowers_the_loss_and_depends_on_the_generator_only(rows, optimizer):
    X, Y = (part.float() for part in rows)
    fit = NetworkTraining(hidden=2, width=16, optimizer=optimizer, rate=0.05, batch=4, epochs=40)
    one, two = (train_network(X, Y, fit, torch.Generator().manual_seed(3)) for _ in range(2))
    start = bias_free((5, 16, 16, 2), torch.Generator().manual_seed(3))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    loss = [float((model(X) - Y).detach().square().mean()) for model in (start, one)]
    assert loss[1] < 0.8 * loss[0]
    seen = []
    train_network(X, Y, fit, torch.Generator().manual_seed(3), lambda epoch, _: seen.append(epoch))
    assert seen == list(range(41))


def test_the_first_layer_has_the_given_spread_and_gram_its_diagonal():
    net = bias_free((200, 300, 2), torch.Generator().manual_seed(0), first_std=5e-3)
    assert float(first_weight(net).std()) == pytest.approx(5e-3, rel=0.02)
    np.testing.assert_allclose(gram(net).diagonal().numpy(), gram_diagonal(net).numpy(), rtol=1e-4)
