"""The monitor in a plain training loop, and on real images."""

import gzip
import math
import types
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import FeatureReport, InspectOptions, Monitor
from gramian.nets.monitor import column_products
from nets.models import mlp, seeded

X = torch.randn(20, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LABELS = torch.arange(20) % 3


def train(monitor, model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(model(X), LABELS).backward()
        monitor.step()
        optimizer.step()


def test_monitor_measures_every_k_steps_and_disturbs_nothing():
    runs = {}
    for watched in (True, False):
        model = seeded(mlp)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
        if watched:
            seen = []
            monitor = Monitor(
                model,
                (X, LABELS),
                "cross_entropy",
                every=4,
                optimizer=optimizer,
                log=lambda metrics, step, seen=seen: seen.append((step, metrics)),
            )
            train(monitor, model, optimizer, 9)
        else:
            train(types.SimpleNamespace(step=lambda: None), model, optimizer, 9)
        runs[watched] = model
    for p, q in zip(runs[True].parameters(), runs[False].parameters(), strict=True):
        assert torch.equal(p, q)
    assert monitor.steps == [0, 4, 8] == [step for step, _ in seen]
    assert monitor.metrics == seen[-1][1]
    assert all(isinstance(key, str) and isinstance(value, float) for key, value in monitor.metrics.items())
    assert "0/c_nfa_cos" not in monitor.history[0]
    assert monitor.metrics["0/c_nfa_cos"] > 0
    assert "0/fact_cos" in monitor.metrics
    assert math.isnan(monitor.series("0/c_nfa_cos")[0])
    assert monitor.to_pandas().shape[0] == 3
    assert isinstance(monitor.report, FeatureReport)


def test_between_measurements_the_monitor_runs_nothing_and_keeps_nothing():
    """Its cost is then one product per weight: no forward pass, no hook, no new tensor after the first step."""
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=50, optimizer=optimizer)
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    train(monitor, model, optimizer, 1)
    measuring = len(passes) - 1
    assert measuring >= 1
    sums = {name: total.data_ptr() for name, total in monitor._vcs.items()}
    train(monitor, model, optimizer, 20)
    assert len(passes) == measuring + 21
    assert {name: total.data_ptr() for name, total in monitor._vcs.items()} == sums
    assert not any(part._forward_hooks for part in model.children())


def test_products_by_blocks_are_the_diagonal_of_the_product(monkeypatch, rng):
    W, G = (torch.randn(2, 7, 5, generator=rng, dtype=torch.float64) for _ in range(2))
    monkeypatch.setattr("gramian.nets.monitor.BLOCK", 30)  # three rows of both groups: the last block is shorter
    torch.testing.assert_close(column_products(W, G), (W.mT @ G).diagonal(dim1=1, dim2=2))


@pytest.mark.parametrize("kind", ["diagonal", "full"])
def test_accumulated_vcs_is_the_change_of_the_gram_matrix(kind):
    """Plain gradient descent with small steps: Σ VCS = WᵀW − W₀ᵀW₀ + O(η)."""
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=1000, optimizer=optimizer, vcs=kind)
    W0 = model[0].weight.detach().clone()
    train(monitor, model, optimizer, 100)
    W = model[0].weight.detach()
    change = (W.mT @ W - W0.mT @ W0).numpy()
    change = change.diagonal() if kind == "diagonal" else change
    np.testing.assert_allclose(monitor.vcs("0"), change, atol=2e-3 * np.abs(change).max())
    assert monitor.measure()["0/vcs_pearson"] > 0.9999


def naive_shift(model, layer, step):
    """Σ h⁺h⁺ᵀ − hhᵀ without its η² term, one sample at a time, for the mean of the losses."""
    total = torch.zeros(layer.in_features, layer.in_features, dtype=torch.float64)
    for x, label in zip(X, LABELS, strict=True):
        with torch.enable_grad():
            h = x
            for module in model:
                if module is layer:
                    h = start = h.detach().requires_grad_()
                h = module(h)
            (gradient,) = torch.autograd.grad(F.cross_entropy(h, label) / len(X), start)
        moved = -step * gradient
        total += torch.outer(moved, start.detach()) + torch.outer(start.detach(), moved)
    return total


def test_accumulated_vcs_is_the_naive_sum_over_samples_and_steps():
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    monitors = {
        kind: Monitor(model, (X, LABELS), "cross_entropy", every=100, optimizer=optimizer, vcs=kind)
        for kind in ("diagonal", "full")
    }
    expected = dict.fromkeys(("0", "2", "4"), 0.0)
    for step in range(4):
        optimizer.param_groups[0]["lr"] = 0.3 / (1 + step)  # a schedule
        for name in expected:
            expected[name] += naive_shift(model, model[int(name)], 0.3 / (1 + step)).numpy()
        optimizer.zero_grad()
        F.cross_entropy(model(X), LABELS).backward()
        for monitor in monitors.values():
            monitor.step()
        optimizer.step()
    for name, total in expected.items():
        np.testing.assert_allclose(monitors["full"].vcs(name), total, atol=1e-12)
        np.testing.assert_allclose(monitors["diagonal"].vcs(name), total.diagonal(), atol=1e-12)
    resumed = Monitor(model, (X, LABELS), "cross_entropy", optimizer=optimizer, vcs="full")
    resumed.load_state_dict(monitors["full"].state_dict())
    np.testing.assert_array_equal(resumed.vcs("2"), monitors["full"].vcs("2"))
    weight = model[2].weight.detach()
    gram = weight.mT @ weight
    correlation = np.corrcoef(expected["2"].ravel(), gram.numpy().ravel())[0, 1]
    assert monitors["full"].measure()["2/vcs_nfm_pearson"] == pytest.approx(correlation, abs=1e-10)


def test_monitor_explains_its_mistakes():
    model = seeded(mlp)
    with pytest.raises(ValueError, match="every must be"):
        Monitor(model, X, every=0)
    with pytest.raises(ValueError, match="vcs must be"):
        Monitor(model, X, vcs="half")
    monitor = Monitor(model, X, vcs="off")
    for ask, words in [
        (lambda: monitor.metrics, "nothing was measured"),
        (lambda: monitor.vcs("0"), "vcs="),
    ]:
        with pytest.raises(ValueError, match=words):
            ask()
    with pytest.raises(ValueError, match="data is an iterator"):
        Monitor(model, iter([X]))
    with pytest.raises(ValueError, match="no virtual covariance shift yet"):
        Monitor(model, X).vcs("0")


def test_monitor_works_with_adamw_from_the_first_step():
    model = seeded(mlp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=2, optimizer=optimizer)
    train(monitor, model, optimizer, 3)
    assert "0/fact_cos" not in monitor.history[0]
    assert "0/fact_cos" in monitor.history[1]


def test_monitor_continues_without_fact_for_an_unknown_optimizer():
    class Mine(torch.optim.SGD):
        pass

    class Other(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1, "weight_decay": 0.1})

    model = seeded(mlp)
    F.cross_entropy(model(X), LABELS).backward()
    known = Monitor(model, (X, LABELS), "cross_entropy", optimizer=Mine(model.parameters(), lr=0.1, weight_decay=0.1))
    assert "0/fact_cos" in known.step()
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=1, optimizer=Other(model.parameters()))
    with pytest.warns(UserWarning, match="not known.*without FACT"):
        assert "0/fact_cos" not in monitor.step()
    assert "0/vcs_pearson" not in monitor.step()  # the weights have not moved
    assert monitor.vcs("0").shape == (5,)


def mnist(folder, rows):
    with gzip.open(folder / "mnist" / "train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(16 + 784 * rows), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / "mnist" / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(8 + rows), np.uint8, offset=8)
    return torch.from_numpy(X / np.float32(255)), torch.from_numpy(y.astype(np.int64))


def test_training_aligns_the_change_of_the_weights_first(data_dir):
    """Plain gradient descent, for which the summed virtual covariance shift tracks the change of WᵀW (paper E)."""
    X, y = mnist(data_dir, 1500)
    model = seeded(
        lambda: nn.Sequential(
            nn.Linear(784, 64),
            nn.ReLU(inplace=True),
            nn.Linear(64, 64),
            nn.ReLU(inplace=True),
            nn.Linear(64, 10),
        ),
        dtype=torch.float32,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, weight_decay=1e-3)
    monitor = Monitor(model, (X[:300], y[:300]), "cross_entropy", every=30, optimizer=optimizer)
    rng = torch.Generator().manual_seed(0)
    for _ in range(121):
        rows = torch.randint(0, 1500, (128,), generator=rng)
        optimizer.zero_grad()
        F.cross_entropy(model(X[rows]), y[rows]).backward()
        monitor.step()
        optimizer.step()
    history = monitor.history
    for layer in ("0", "2"):
        start, early, late = (history[j] for j in (0, 1, -1))
        assert early[f"{layer}/c_nfa_cos"] > 0.5
        assert early[f"{layer}/c_nfa_cos"] > early[f"{layer}/nfa_cos"] + 0.1
        assert late[f"{layer}/nfa_cos"] > start[f"{layer}/nfa_cos"] + 0.2
        assert late[f"{layer}/vcs_pearson"] > 0.95
    linear = [late[f"{layer}/target_linearity"] - start[f"{layer}/target_linearity"] for layer in ("2", "4")]
    assert linear[1] > linear[0] > 0.1  # training makes the targets more linear, most in the last layer
    assert late["loss"] < 0.3 * start["loss"]


@pytest.mark.parametrize("vcs", ["diagonal", "full"])
def test_the_summed_shift_contains_the_share_of_weight_decay(vcs):
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=0.1)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=60, optimizer=optimizer, vcs=vcs)
    train(monitor, model, optimizer, 61)
    assert all(monitor.metrics[f"{layer}/vcs_pearson"] > 0.9995 for layer in ("0", "2", "4"))


def test_a_monitor_continues_from_its_state(tmp_path):
    def make(model):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.01)
        return optimizer, Monitor(model, (X, LABELS), "cross_entropy", every=3, optimizer=optimizer)

    whole = seeded(mlp)
    optimizer, expected = make(whole)
    train(expected, whole, optimizer, 10)
    first = seeded(mlp)
    optimizer, monitor = make(first)
    train(monitor, first, optimizer, 5)
    torch.save({"model": first.state_dict(), "monitor": monitor.state_dict()}, tmp_path / "run.pt")
    saved = torch.load(tmp_path / "run.pt", weights_only=True)
    second = seeded(mlp, seed=7)
    second.load_state_dict(saved["model"])
    optimizer, resumed = make(second)
    resumed.load_state_dict(saved["monitor"])
    train(resumed, second, optimizer, 5)
    assert resumed.steps == expected.steps == [0, 3, 6, 9]
    assert resumed.history == expected.history
    np.testing.assert_array_equal(resumed.vcs("0"), expected.vcs("0"))
    with pytest.raises(ValueError, match="vcs='diagonal'"):
        Monitor(second, X, vcs="off").load_state_dict(saved["monitor"])
    with pytest.raises(ValueError, match="another model"):
        Monitor(seeded(lambda: nn.Linear(5, 3)), X).load_state_dict(saved["monitor"])


def test_a_log_that_raises_does_not_repeat_the_step():
    def log(metrics, step):
        raise OSError("the tracker is away")

    model = seeded(mlp)
    monitor = Monitor(model, X, every=2, log=log)
    with pytest.raises(OSError, match="away"):
        monitor.step()
    assert monitor.step() is None
    assert (monitor.steps, monitor.count) == ([0], 2)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_an_optimiser_that_maximises_has_the_other_sign(kind):
    """The step on −L with maximize=True is the step on L without it, weight decay included."""
    shifts = []
    for sign in (1, -1):
        model = seeded(mlp)
        make = getattr(torch.optim, kind)
        optimizer = make(model.parameters(), lr=1e-3, weight_decay=0.1, maximize=sign < 0)
        monitor = Monitor(model, (X, LABELS), every=100, optimizer=optimizer, vcs="full", weight_decay=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            (sign * F.cross_entropy(model(X), LABELS)).backward()
            monitor.step()
            optimizer.step()
        shifts.append(monitor.vcs("0"))
        if kind == "SGD":
            assert monitor.measure()["0/vcs_pearson"] > 0.999
    np.testing.assert_allclose(shifts[0], shifts[1], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("unscaled", [False, True])
def test_the_scale_of_a_gradient_scaler_is_divided_out(unscaled):
    """As with torch.amp.GradScaler, also after unscale_, and without the step that it leaves out."""
    expected, found = seeded(mlp), seeded(mlp)
    monitors = []
    for model in (expected, found):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.01)
        scaler = torch.amp.GradScaler("cpu", growth_interval=2)
        monitor = Monitor(model, (X, LABELS), every=100, optimizer=optimizer, vcs="full")
        for step in range(6):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(X), LABELS)
            if model is expected:
                if step != 3:
                    loss.backward()
                    monitor.step()
                    optimizer.step()
                continue
            scaler.scale(loss * math.inf if step == 3 else loss).backward()
            if unscaled:
                scaler.unscale_(optimizer)
            monitor.step(1.0 if unscaled else scaler.get_scale())
            scaler.step(optimizer)
            scaler.update()
        monitors.append(monitor)
    torch.testing.assert_close(found[0].weight, expected[0].weight)
    np.testing.assert_allclose(monitors[1].vcs("0"), monitors[0].vcs("0"), rtol=1e-9)
    assert monitors[1].count == 6
    with pytest.raises(ValueError, match=r"pass scaler.get_scale\(\)"):
        monitors[1].step(scale=0)


def test_a_model_with_a_parametrisation_is_followed_without_its_initial_weights():
    model = seeded(mlp)
    nn.utils.parametrizations.weight_norm(model[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with pytest.warns(UserWarning, match=r"weights of \['0'\] come from a parametrisation.* continues without"):
        monitor = Monitor(model, (X, LABELS), "cross_entropy", every=20, optimizer=optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*say little")
        train(monitor, model, optimizer, 21)
    assert monitor.steps == [0, 20]
    assert monitor.metrics["0/nfa_half_cos"] > 0
    assert not any("c_nfa" in key for key in monitor.metrics)
    assert monitor.metrics["2/vcs_pearson"] > 0.99
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no column that was chosen needs the initial weights
        assert Monitor(model, X, vcs="off", options=InspectOptions(columns="nfa")).step() is not None
