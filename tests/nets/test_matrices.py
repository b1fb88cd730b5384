"""Every matrix equals a per-sample autograd loop in float64 on every architecture; identities and laws between them."""

import contextlib
import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.features import fact_symmetric, virtual_covariance_shift
from gramian.nets import InspectOptions, inspect
from gramian.nets.columns import GROUPS
from gramian.nets.feature_matrix import Unavailable
from gramian.nets.layers import find_layers
from gramian.nets.matrices import MATRICES
from nets import naive
from nets.models import seeded

LAM = 0.03
LOSSES = {
    "mse": (F.mse_loss, lambda f, y: (f - y).square().mean(), False),
    "cross_entropy": (F.cross_entropy, lambda f, y: -torch.log_softmax(f, 0)[y], True),
}


def target(model, X, labels):
    with torch.no_grad():
        f = model.eval()(X)
    g = torch.Generator().manual_seed(3)
    if labels:
        return torch.randint(0, f.shape[1], (f.shape[0],), generator=g)
    return torch.randn(f.shape, generator=g, dtype=torch.float64)


def expected(model, X, y, loss, lam=LAM, step=1.0):
    rows, weights = naive.measure(model.eval(), [x[None] for x in X], y, loss)
    single = {}
    for name in rows:
        single[name] = naive.matrices(rows[name], weights[name], lam, step)
    merged = {}
    for name, found in single.items():
        if isinstance(name, tuple):  # groups of a convolution are independent weight matrices
            merged.setdefault(name[0], []).append(found)
        else:
            merged[name] = [found]
    return {
        name: {key: torch.block_diag(*(part[key] for part in parts)) for key in parts[0]}
        for name, parts in merged.items()
    }


@pytest.mark.parametrize("kind", LOSSES)
def test_every_matrix_equals_the_per_sample_loop(case, kind):
    model, X = case
    torch_loss, loop_loss, labels = LOSSES[kind]
    y = target(model, X, labels)
    twin = expected(model, X, y, loop_loss, step=0.7)
    model.train()
    report = inspect(model, (X, y), torch_loss, weight_decay=LAM, batch_size=4, options=InspectOptions(step=0.7))
    assert set(report.layers) == set(twin)
    for layer, found in twin.items():
        for name, matrix in found.items():
            np.testing.assert_allclose(report.matrix(layer, name), matrix.numpy(), atol=1e-10, rtol=1e-9,
                                       err_msg=f"{layer} {name}")  # fmt: skip


def test_identities_between_the_matrices_hold(case):
    model, X = case
    y = target(model, X, labels=False)
    report = inspect(model, (X, y), "mse", weight_decay=LAM)
    loss = F.mse_loss(model.eval()(X), y)
    for layer in report.layers:
        record = report.record(layer)
        W = record.W
        weight = next(found for found in find_layers(model)[0] if found.name == layer)
        if not weight.is_oriented:  # a parameter that only a forward pass shows to be (k, m)
            weight.orientation.transposed = not torch.equal(weight.matrix(weight.weight()), record.weight)
        G = weight.matrix(torch.autograd.grad(loss, weight.weight(), retain_graph=True)[0])
        matrix = lambda name: torch.from_numpy(report.matrix(layer, name))  # noqa: B023, E731
        close = lambda a, b: torch.testing.assert_close(a, b, atol=1e-10, rtol=1e-10)  # noqa: E731
        # AGOP = WᵀKW, eNFA = Wᵀ(beNFA)W
        close(matrix("agop"), torch.block_diag(*(W.mT @ record.blocks("ptk") @ W)))
        close(matrix("enfa"), torch.block_diag(*(W.mT @ record.blocks("benfa") @ W)))
        # Feature Learning Equation: Wᵀ∇_W L = (1/n) Σ ∇ₕℓ hᵀ = −λ FACT, and its backward twin
        close(-LAM * matrix("fact"), torch.block_diag(*(W.mT @ G)))
        close(-LAM * matrix("bfact"), torch.block_diag(*(W @ G.mT)))
        # first-order VCS = 2ηλ sym(FACT); the rest is (η/n)² Σ ∇ₕℓ∇ₕℓᵀ
        first = matrix("vcs") - matrix("enfa") / record.sums.samples
        close(first, 2 * LAM * matrix("fact_sym"))
        close(
            matrix("fact_sym"),
            torch.block_diag(*(fact_symmetric(Fg, "average") for Fg in record.blocks("fact"))),
        )
        # one step of gradient descent: W⁺ᵀW⁺ − WᵀW = VCS + O(η²)
        small = 1e-6
        step = inspect(model, (X, y), "mse", layers=layer, options=InspectOptions(step=small))
        moved = W - small * G
        shift = torch.block_diag(*(moved.mT @ moved - W.mT @ W))
        assert torch.allclose(shift, torch.from_numpy(step.matrix(layer, "vcs")), atol=1e-10)
        assert np.allclose(report.matrix(layer, "bagop"), report.matrix(layer, "ptk"))


def test_vcs_is_the_feature_function(rng):
    """On a plain layer the streamed VCS is the pure function of features.matrices."""
    model = seeded(lambda: torch.nn.Linear(4, 2))
    X = torch.randn(9, 4, generator=rng, dtype=torch.float64)
    y = torch.randn(9, 2, generator=rng, dtype=torch.float64)
    report = inspect(model, (X, y), "mse", options=InspectOptions(step=0.3))
    V = (model(X) - y).detach() @ model.weight.detach()  # ℓ = mean over 2 outputs, so its gradient is (f − y) W
    twin = virtual_covariance_shift(V, X, 0.3)
    assert np.allclose(report.matrix("model", "vcs"), twin.numpy(), atol=1e-12)


def test_agop_scales_with_the_square_of_the_output(case):
    model, X = case
    plain, scaled = inspect(model, X), inspect(model, X, options=InspectOptions(output=lambda f: 3 * f))
    for layer in plain.layers:
        np.testing.assert_allclose(
            scaled.matrix(layer, "agop"), 9 * plain.matrix(layer, "agop"), rtol=1e-10, atol=1e-12
        )


def test_batches_do_not_matter(case):
    model, X = case
    one, many = inspect(model, X, batch_size=len(X)), inspect(model, X, batch_size=1)
    for layer in one.layers:
        for name in ("agop", "agop_centered", "ptk"):
            np.testing.assert_allclose(one.matrix(layer, name), many.matrix(layer, name), rtol=1e-10, atol=1e-13)


def test_a_chosen_output_is_one_term_of_the_sum(case):
    model, X = case
    every = inspect(model, X)
    count = every.settings["outputs"]
    parts = [inspect(model, X, outputs=[c]) for c in range(count)]
    for layer in every.layers:
        total = sum(part.matrix(layer, "agop") for part in parts)
        np.testing.assert_allclose(total, every.matrix(layer, "agop"), rtol=1e-9, atol=1e-12)


def test_float32_model_agrees_with_float64(case):
    model, X = case
    exact = inspect(model, X)
    single = inspect(model.float(), X.float() if X.is_floating_point() else X)
    for layer in exact.layers:
        a, b = exact.matrix(layer, "agop"), single.matrix(layer, "agop")
        assert b.dtype == np.float64
        assert np.linalg.norm(a - b) <= 1e-5 * np.linalg.norm(a)


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


@pytest.mark.parametrize("columns", [*GROUPS, "nfa_cos", None])
@pytest.mark.parametrize("max_dim", [4096, 6, 4])
def test_a_matrix_is_there_or_unavailable_for_a_reason(columns, max_dim):
    """For layers with more outputs than inputs, and with fewer, and whatever columns are measured."""
    model = seeded(lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)))
    X = torch.randn(12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    start = {key: 0.5 * value for key, value in model.state_dict().items()}
    data, how = (X, torch.arange(12) % 3), {"loss": "cross_entropy", "weight_decay": 0.1, "initial": start}
    report = inspect(model, data, **how, options=InspectOptions(columns=columns, max_dim=max_dim))
    whole = inspect(model, data, **how)
    for row, expected in zip(report.rows, whole.rows, strict=True):
        for name, value in row.items():
            if max_dim == 4096 and isinstance(value, float) and not math.isnan(value):
                assert value == pytest.approx(expected[name], rel=1e-8, abs=1e-9), name
        assert row["layer"] in repr(row)
        for name in MATRICES:
            with contextlib.suppress(Unavailable):
                found = report.matrix(row["layer"], name)
                np.testing.assert_allclose(found, whole.matrix(row["layer"], name), rtol=1e-9, atol=1e-12)
        for a, b in itertools.product(MATRICES, MATRICES):
            if MATRICES[a].side == MATRICES[b].side:
                with contextlib.suppress(Unavailable):
                    report.similarity(row["layer"], a, b)


def test_a_matrix_that_chosen_columns_leave_out_names_them():
    model, X = seeded(lambda: nn.Linear(3, 5)), torch.eye(3, dtype=torch.float64)
    report = inspect(model, X, options=InspectOptions(columns="nfa"))
    with pytest.raises(Unavailable, match="'ptk' of layer 'model' was not measured: include 'output' or 'chance'"):
        report.matrix("model", "ptk")
    assert math.isnan(report.rows[0]["bnfa_half_cos"])
    chosen = inspect(model, X, options=InspectOptions(columns=["nfa", "chance"]))
    np.testing.assert_allclose(chosen.matrix("model", "ptk"), np.eye(5))
