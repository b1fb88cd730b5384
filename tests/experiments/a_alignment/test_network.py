"""The network of paper A: its hand-written gradients against automatic differentiation."""

import pytest
import torch

from gramian.experiments.a_alignment.network import agop_of, chain_task, descend, draw_weights, evaluate, nfa_of
from gramian.nets.alignment import congruence


def start_weights(d=5, width=7, n=11, seed=0):
    rng = torch.Generator().manual_seed(seed)
    task = chain_task(n, d, 3, 0.0, rng, tests=4)
    return task, draw_weights(d, width, (0.3, 1.0, 1.0), rng)


def forward(weights, X):
    W0, W1, w2 = weights
    return (((X @ W0.mT).relu() @ W1.mT).relu() @ w2.mT)[:, 0]


def test_a_step_is_the_gradient_of_half_the_mean_squared_error():
    task, start = start_weights()
    leaves = [W.clone().requires_grad_() for W in start]
    loss = (forward(leaves, task.X) - task.y).square().mean() / 2
    gradients = torch.autograd.grad(loss, leaves)
    *_, (time, moved, _) = descend(start, task.X, task.y, 0.1, 1)
    assert time == 1
    for W, W0, g in zip(moved, start, gradients, strict=True):
        torch.testing.assert_close(W, W0 - 0.1 * g)


def test_tangents_are_the_gradients_of_the_output_by_preactivations():
    task, (W0, W1, w2) = start_weights()
    Z0 = (task.X @ W0.mT).requires_grad_()
    Z1 = Z0.relu() @ W1.mT
    f = (Z1.relu() @ w2.mT).sum()
    expected = torch.autograd.grad(f, (Z0, Z1))
    torch.testing.assert_close(evaluate((W0, W1, w2), task.X).tangents, expected)


def test_agop_of_equals_the_congruence_with_the_tangent_kernel():
    rng = torch.Generator().manual_seed(0)
    W, J = torch.randn(4, 3, generator=rng), torch.randn(9, 4, generator=rng)
    torch.testing.assert_close(agop_of(W, J), congruence(W, J.mT @ J))
    assert nfa_of(W, J) == pytest.approx(nfa_of(W, 5 * J))


def test_decaying_inputs_have_the_requested_spectrum():
    task = chain_task(20000, 4, 3, 2.0, torch.Generator().manual_seed(0), tests=1)
    values = torch.linalg.eigvalsh(task.X.mT @ task.X / 20000).flip(0)
    torch.testing.assert_close(values, 1 / (1 + torch.arange(1, 5).double() ** 2), rtol=0.05, atol=0)
