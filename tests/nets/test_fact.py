"""FACT where it must hold, AGOP where it must fail, and the deep linear law (papers D and C)."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import InspectOptions, inspect
from nets.models import seeded


def to_rest(model, objective, steps=8):
    """Full-batch L-BFGS in float64 until the gradient is small."""
    optimizer = torch.optim.LBFGS(
        model.parameters(), lr=1, max_iter=250, history_size=50, line_search_fn="strong_wolfe",
        tolerance_grad=1e-12, tolerance_change=1e-16,
    )  # fmt: skip

    def closure():
        optimizer.zero_grad()
        value = objective()
        value.backward()
        return value

    for _ in range(steps):
        optimizer.step(closure)
        size = math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters()))
        if size < 1e-7:
            break


def decay(model):
    return sum(p.square().sum() for p in model.parameters()) / 2


@pytest.mark.parametrize("kind", ["mse", "cross_entropy"])
def test_fact_at_rest_in_every_layer(kind, rng):
    lam = 3e-3
    model = seeded(
        lambda: nn.Sequential(nn.Linear(6, 16), nn.Softplus(), nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 3))
    )
    X = torch.randn(80, 6, generator=rng, dtype=torch.float64)
    signal = torch.stack([X[:, 0] * X[:, 1], X[:, 2].sin(), X[:, 0]], 1)
    y = signal if kind == "mse" else signal.argmax(1)
    loss = F.mse_loss if kind == "mse" else F.cross_entropy
    before = inspect(model, (X, y), loss, weight_decay=lam)
    to_rest(model, lambda: loss(model(X), y) + lam * decay(model))
    report = inspect(model, (X, y), loss, weight_decay=lam)
    for entry, start in zip(report.rows, before.rows, strict=True):
        assert entry["fact_cos"] >= 0.999, entry
        assert entry["fact_pearson"] >= 0.999
        assert entry["bfact_cos"] >= 0.999
        assert entry["fact_residual"] <= 0.01 < start["fact_residual"]
        assert entry["stationarity"] <= 0.01 < start["stationarity"]
        assert start["fact_cos"] < 0.9


def test_fact_at_rest_for_adamw(rng):
    """Decoupled decay: the preconditioned FACT holds, the plain one does not."""
    model = seeded(lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    X = torch.randn(40, 4, generator=rng, dtype=torch.float64)
    y = X[:, :1] * X[:, 1:2]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1, eps=0.1, betas=(0.9, 0.99))
    for t in range(4000):
        for group in optimizer.param_groups:
            group["lr"] = 3e-2 * 0.999**t + 1e-3
        optimizer.zero_grad()
        F.mse_loss(model(X), y).backward()
        optimizer.step()
    handled = inspect(model, (X, y), "mse", weight_decay=optimizer)
    plain = inspect(model, (X, y), "mse", weight_decay=0.1)
    for entry, naive in zip(handled.rows, plain.rows, strict=True):
        assert entry["fact_cos"] >= 0.999
        assert entry["fact_residual"] <= 0.05 < naive["fact_residual"]


class Quadratic(nn.Module):
    """f(x) = aᵀ(Wx)²."""

    def __init__(self, d=4, width=10):
        super().__init__()
        self.W = nn.Linear(d, width, bias=False)
        self.a = nn.Linear(width, 1, bias=False)

    def forward(self, x):
        return self.a(self.W(x).square())


def test_paper_d_figure_4_separates_fact_from_agop():
    """Population loss of D(p, τ) with τ = .02, p = 1e-5: at the minimum FACT explains WᵀW, and AGOP does not.

    λ is 1e-6, not the 1e-5 printed beside Fig. 4: there the decay outweighs the rare data (it is of the
    order of p), and every start ends in one neuron, for which WᵀW and AGOP are both of rank one and agree.
    The theorem asks for λ ≪ p.
    """
    tau, p, lam = 0.02, 1e-5, 1e-6
    grid = torch.tensor(list(itertools.product((0.0, 1.0, 2.0), repeat=4)), dtype=torch.float64)
    X = torch.cat([grid, torch.tensor([[1.0, 1.0, 0.0, 0.0]], dtype=torch.float64)])
    weights = torch.full((82,), p / 81, dtype=torch.float64)
    weights[-1] = 1 - p
    y = tau * X[:, :1] * X[:, 1:2] + X[:, 2:3] * X[:, 3:4]
    n = len(X)

    def loss(f, target):  # one value per sample, so that their mean is the population loss
        return n * weights * (f - target).square().flatten()

    # The objective is scaled by 1/λ for the optimiser only: its stationary points are the same.
    model = seeded(Quadratic, seed=1)
    to_rest(model, lambda: (loss(model(X), y).mean() + lam * decay(model)) / lam, steps=20)
    scaled = inspect(model, (X, y), loss, weight_decay=lam, batch_size=n)
    assert scaled.similarity("W", "nfm", "fact") >= 0.99
    # AGOP is an average over the same distribution: weight the outputs by √(n·w).
    agop = inspect(model, X, batch_size=n, options=InspectOptions(output=lambda f: f * (n * weights).sqrt()[:, None]))
    assert agop.similarity("W", "nfm", "agop") < 0.1
    assert agop.similarity("W", "nfm", "agop", power=0.5) < 0.25


def balanced(width, depth, rng):
    """Weights with W_l W_lᵀ = W_{l+1}ᵀW_{l+1}: a common spectrum between random rotations."""

    def haar():
        return torch.linalg.qr(torch.randn(width, width, generator=rng, dtype=torch.float64))[0]

    rotations = [haar() for _ in range(depth + 1)]
    s = torch.rand(width, generator=rng, dtype=torch.float64) + 0.2
    return [rotations[j + 1] * s @ rotations[j].mT for j in range(depth)]


def test_balanced_linear_network_keeps_the_law_along_gradient_flow(rng):
    """Paper C, Theorem 3.1: WᵀW = AGOP^(1/L) at all times, and at layer l with the exponent of what
    follows."""
    depth, width = 3, 5
    model = seeded(lambda: nn.Sequential(*(nn.Linear(width, width, bias=False) for _ in range(depth))))
    for layer, W in zip(model, balanced(width, depth, rng), strict=True):
        layer.weight.data = W
    X = torch.randn(60, width, generator=rng, dtype=torch.float64)
    y = X @ torch.randn(width, width, generator=rng, dtype=torch.float64)

    def velocity(weights):
        leaves = [w.detach().requires_grad_() for w in weights]
        value = F.mse_loss(X @ leaves[0].mT @ leaves[1].mT @ leaves[2].mT, y)
        return [-g for g in torch.autograd.grad(value, leaves)]

    weights = [layer.weight.detach().clone() for layer in model]
    losses, h = [], 0.02
    for step in range(201):  # Runge–Kutta 4: gradient flow to about 1e-9
        if step % 50 == 0:
            for layer, W in zip(model, weights, strict=True):
                layer.weight.data = W.clone()
            report = inspect(model, (X, y), "mse")
            losses.append(report.settings["loss"])
            for j, name in enumerate(report.layers):
                agop = torch.from_numpy(report.matrix(name, "agop"))
                values, V = torch.linalg.eigh(agop)
                root = (V * values.clamp_min(0).pow(1 / (depth - j))) @ V.mT
                np.testing.assert_allclose(report.matrix(name, "nfm"), root.numpy(), atol=1e-7)
            assert [entry["depth"] for entry in report.rows] == [3, 2, 1]
            assert all(entry["nfa_depth_cos"] > 1 - 1e-10 for entry in report.rows)
            assert all(entry["balancedness"] < 1e-7 for entry in report.rows[:-1])
            assert report.rows[0]["best_power"] == pytest.approx(1 / 3, abs=1e-3)
        k1 = velocity(weights)
        k2 = velocity([w + h / 2 * k for w, k in zip(weights, k1, strict=True)])
        k3 = velocity([w + h / 2 * k for w, k in zip(weights, k2, strict=True)])
        k4 = velocity([w + h * k for w, k in zip(weights, k3, strict=True)])
        weights = [w + h / 6 * (a + 2 * b + 2 * c + d) for w, a, b, c, d in zip(weights, k1, k2, k3, k4, strict=True)]
    assert losses[-1] < 0.3 * losses[0]  # the weights really moved
