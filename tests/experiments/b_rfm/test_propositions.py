"""Closed forms of the propositions against sampling and automatic differentiation."""

import pytest
import torch

from gramian.experiments.b_rfm import propositions as p
from gramian.theory import closed_forms, relu_gop


def weights(k=5, d=3):
    return torch.randn(k, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_new_inputs_and_output_weights_give_the_gram_matrix_and_weights_of_one_sign_do_not():
    W = weights()
    rng = torch.Generator().manual_seed(4)
    limit = W.mT @ W / 5
    assert p.distance(p.fresh_gop(W, 200_000, rng), limit) < 0.02
    assert p.distance(relu_gop(W, torch.ones(5, 5, dtype=torch.float64)), limit) > 0.3


def test_off_diagonal_entries_of_the_activations_enter_the_sampled_check(monkeypatch):
    spec = p.ShallowRelu(3, 4, (10, 100), 2_000)
    right = p.shallow(spec, 0).numbers["sampled"]
    monkeypatch.setattr(closed_forms, "joint_activity", lambda W: 0.5 * torch.eye(len(W), dtype=W.dtype))
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
