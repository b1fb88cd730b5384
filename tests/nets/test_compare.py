"""Comparisons of two checkpoints, and of a network with a kernel machine."""

import math
import types

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian import RFMRegressor
from gramian.core import cosine
from gramian.nets import compare, inspect
from nets.models import INPUTS, full_report, mlp, seeded


def test_compare_two_checkpoints():
    a, b = full_report(), full_report(seeded(mlp, seed=4))
    same, other = compare(a, a, directions=4), compare(a, b, directions=4)
    for entry in same.rows:
        assert entry["weight_change"] == 0
        assert entry["nfm_cos"] == pytest.approx(1)
        assert entry["agop_overlap"] == pytest.approx(1)
        assert entry["Δ fact_cos"] == 0
    W = [seeded(mlp, seed=s)[0].weight.detach() for s in (0, 4)]
    first = other.rows[0]
    assert first["weight_change"] == pytest.approx(float((W[1] - W[0]).norm() / W[0].norm()))
    assert first["nfm_cos"] == pytest.approx(cosine(W[0].mT @ W[0], W[1].mT @ W[1]))
    assert first["Δ nfa_half_cos"] == pytest.approx(b.rows[0]["nfa_half_cos"] - a.rows[0]["nfa_half_cos"])
    assert list(other.to_pandas().index) == ["0", "2", "4"]
    assert "overlap" in str(other)
    assert "<table>" in other._repr_html_()
    part = inspect(seeded(mlp), INPUTS, layers="0")
    assert "only in the second report: 2, 4" in compare(part, a).notes[0]
    with pytest.raises(ValueError, match="no layer in common"):
        compare(part, inspect(seeded(mlp), INPUTS, layers="2"))


def test_compare_with_a_kernel_machine():
    report = full_report()
    M = report.matrix("0", "nfm")
    machine = types.SimpleNamespace(feature_matrix_=3 * M)
    for pair in ((machine, report), (report, machine), (torch.from_numpy(3 * M), report)):
        row = compare(*pair, directions=4).rows[0]
        assert row["matrix"] == "nfm"
        for name in ("cosine", "pearson", "diagonal_pearson", "first_direction", "overlap"):
            assert row[name] == pytest.approx(1)
    assert compare(np.ones(5), report).rows[0]["cosine"] == pytest.approx(cosine(torch.from_numpy(M), torch.eye(5)))
    for wrong, words in [
        (np.ones((3, 3)), "reads 5 features"),
        (np.ones((3, 2)), "square"),
        ("x", "fitted RFM"),
    ]:
        with pytest.raises(ValueError, match=words):
            compare(wrong, report)
    with pytest.raises(ValueError, match="fit it first"):
        compare(types.SimpleNamespace(fit=lambda: None), report)
    with pytest.raises(ValueError, match="at least one FeatureReport"):
        compare(M, M)


@pytest.fixture(scope="module")
def task():
    X = torch.randn(400, 8, generator=torch.Generator().manual_seed(0))
    return X, X[:, :1] * X[:, 1:2]


@pytest.fixture(scope="module")
def machine(task):
    X, y = task
    return RFMRegressor(n_rounds=3).fit(X.numpy(), y[:, 0].numpy())


def network(task):
    X, y = task
    model = seeded(lambda: nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)), dtype=torch.float32)
    untrained = inspect(model, X)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-3)
    for _ in range(400):
        optimizer.zero_grad()
        F.mse_loss(model(X), y).backward()
        optimizer.step()
    return untrained, inspect(model, X)


def test_a_fitted_machine_and_a_trained_network_share_their_first_directions(task, machine):
    untrained, trained = network(task)
    before, after = (compare(machine, report, directions=2).rows[0] for report in (untrained, trained))
    assert after["matrix"] == "nfm"
    assert after["cosine"] > 0.9
    assert after["pearson"] > 0.85
    assert after["diagonal_pearson"] > 0.95
    assert after["overlap"] > 0.9
    assert before["overlap"] < 0.7  # two directions of eight agree by a quarter by chance
    assert after["cosine"] > before["cosine"] + 0.2


def test_overlap_of_as_many_directions_as_inputs_does_not_exist():
    one, two = full_report(), full_report(seeded(mlp, seed=4))
    rows = compare(one, two, directions=5).rows
    assert math.isnan(rows[0]["nfm_overlap"])  # 5 inputs
    assert 0 < rows[1]["nfm_overlap"] < 1  # 7 inputs
    assert math.isnan(compare(np.eye(5), one).rows[0]["overlap"])
    assert 0 < compare(one.matrix("0", "agop"), one, directions=2).rows[0]["overlap"] < 1
