"""Closed forms of the propositions against sampling and automatic differentiation."""

import pytest
import torch

from gramian.experiments.b_rfm import propositions as p


def weights(k=5, d=3):
    return torch.randn(k, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_the_share_of_inputs_that_activate_two_neurons():
    W = weights()
    X = torch.randn(40_000, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    on = (X @ W.mT > 0).double()
    torch.testing.assert_close(p.both_active(W), on.mT @ on / len(X), atol=0.01, rtol=0)


def test_opposite_and_equal_neurons():
    W = torch.tensor([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]], dtype=torch.float64)
    P = p.both_active(W)
    torch.testing.assert_close(P[0], torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64), atol=1e-7, rtol=0)


def test_the_gradient_outer_product_of_one_network_equals_autograd():
    W, a = weights(), weights(5, 1)[:, 0]
    X = torch.randn(40_000, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64).requires_grad_()
    (G,) = torch.autograd.grad((((2 / 5) ** 0.5 * X @ W.mT).relu() @ a).sum(), X)
    assert p.distance(p.relu_gop(W, torch.outer(a, a)), G.mT @ G / len(G)) < 0.03


def test_new_inputs_and_output_weights_give_the_gram_matrix_and_weights_of_one_sign_do_not():
    W = weights()
    rng = torch.Generator().manual_seed(4)
    limit = W.mT @ W / 5
    assert p.distance(p.fresh_gop(W, 200_000, rng), limit) < 0.02
    assert p.distance(p.relu_gop(W, torch.ones(5, 5, dtype=torch.float64)), limit) > 0.3


def test_off_diagonal_entries_of_the_activations_enter_the_sampled_check(monkeypatch):
    spec = p.ShallowRelu(3, 4, (10, 100), 2_000)
    right = p.shallow(spec, 0).numbers["sampled"]
    monkeypatch.setattr(p, "both_active", lambda W: 0.5 * torch.eye(len(W), dtype=W.dtype))
    assert p.shallow(spec, 0).numbers["sampled"] > 5 * right


def test_training_changes_the_weights_and_lowers_the_loss():
    spec = p.ShallowRelu(4, 8)
    pairs = p.shallow_weights(spec, torch.Generator().manual_seed(0))
    X = torch.randn(2_000, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    losses = {
        name: float((((2 / 8) ** 0.5 * X @ W.mT).relu() @ a - X[:, 0] * X[:, 1]).square().mean())
        for name, (W, a) in pairs.items()
    }
    assert losses["trained"] < 0.5 * losses["random"]


def test_the_slope_of_a_power_law():
    assert p.slope([1, 2, 4], [3, 6, 12]) == pytest.approx(1)
