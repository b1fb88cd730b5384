"""Every matrix equals a per-sample autograd loop in float64, on every architecture; and the identities
between them."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gramian.features import fact_symmetric, virtual_covariance_shift
from gramian.nets import InspectOptions, inspect
from gramian.nets.layers import find_layers
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


def test_identities(case):
    model, X = case
    y = target(model, X, labels=False)
    report = inspect(model, (X, y), "mse", weight_decay=LAM)
    loss = F.mse_loss(model.eval()(X), y)
    for layer in report.layers:
        record = report.record(layer)
        W = record.W
        weight = next(found for found in find_layers(model)[0] if found.name == layer)
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
