"""The monitor in a plain loop, and its adapters through stand-ins for the frameworks."""

import math
import sys
import types

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gramian.nets import FeatureReport, Monitor
from gramian.nets.adapters import lightning_callback, trainer_callback
from gramian.nets.monitor import column_products
from gramian.report import plot_history
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
    assert len(plot_history(monitor).axes) == 3
    assert hasattr(plot_history(monitor, ["fact_cos"], ["2"]).axes[0], "lines")


def test_between_measurements_the_monitor_runs_nothing_and_keeps_nothing():
    """What it costs then is one product per weight: no forward pass, no hook, no new tensor after the first step."""
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


def test_monitor_explains_its_mistakes():
    model = seeded(mlp)
    with pytest.raises(ValueError, match="every must be"):
        Monitor(model, X, every=0)
    with pytest.raises(ValueError, match="vcs must be"):
        Monitor(model, X, vcs="half")
    monitor = Monitor(model, X, vcs="off")
    for ask, words in [
        (lambda: monitor.metrics, "nothing was measured"),
        (lambda: plot_history(monitor), "nothing was measured"),
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


@pytest.mark.parametrize("framework", ["lightning", "transformers"])
def test_adapters_step_the_monitor(framework, monkeypatch):
    """The frameworks are extras: what is tested is that their hook reaches the monitor, through a stand-in
    base class."""
    model = seeded(mlp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=1)
    F.cross_entropy(model(X), LABELS).backward()
    base = type("Base", (), {"on_pre_optimizer_step": None})
    if framework == "lightning":
        monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", types.SimpleNamespace(Callback=base))
        logged = []
        logger = types.SimpleNamespace(log_metrics=lambda metrics, step: logged.append((step, metrics)))
        callback = lightning_callback(monitor)
        callback.on_before_optimizer_step(types.SimpleNamespace(loggers=[logger], global_step=7), None, optimizer)
        assert logged[0][0] == 7
        assert logged[0][1] == monitor.metrics
    else:
        monkeypatch.setitem(sys.modules, "transformers", types.SimpleNamespace(TrainerCallback=base))
        state = types.SimpleNamespace(log_history=[], global_step=7)
        callback = trainer_callback(monitor)
        callback.on_pre_optimizer_step(None, state, None, optimizer=optimizer)
        assert state.log_history[0]["step"] == 7
    assert isinstance(callback, base)
    assert monitor.count == 1
    assert monitor.optimizer is optimizer


def test_adapters_say_what_is_missing(monkeypatch):
    for name in ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    monitor = Monitor(seeded(mlp), X)
    with pytest.raises(ImportError, match="pip install lightning"):
        lightning_callback(monitor)
    with pytest.raises(ImportError, match="pip install transformers"):
        trainer_callback(monitor)
    old = types.SimpleNamespace(TrainerCallback=type("TrainerCallback", (), {}))
    monkeypatch.setitem(sys.modules, "transformers", old)
    with pytest.raises(ImportError, match=r"4\.46 or newer"):
        trainer_callback(monitor)
