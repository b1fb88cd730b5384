"""Comparisons: two checkpoints of a network, and a layer with the feature matrix of a kernel machine."""

import types

import numpy as np
import pytest
import torch

from gramian.core import cosine
from gramian.nets import compare, inspect
from nets.models import mlp, seeded

X = torch.randn(20, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LABELS = torch.arange(20) % 3


def full(model=None):
    return inspect(model or seeded(mlp), (X, LABELS), "cross_entropy", weight_decay=0.1, initial=seeded(mlp, seed=9))


def test_compare_two_checkpoints():
    a, b = full(), full(seeded(mlp, seed=4))
    same, other = compare(a, a), compare(a, b)
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
    part = inspect(seeded(mlp), X, layers="0")
    assert "only in the second report: 2, 4" in compare(part, a).notes[0]
    with pytest.raises(ValueError, match="no layer in common"):
        compare(part, inspect(seeded(mlp), X, layers="2"))


def test_compare_with_a_kernel_machine():
    report = full()
    M = report.matrix("0", "nfm")
    machine = types.SimpleNamespace(feature_matrix_=3 * M)
    for pair in ((machine, report), (report, machine), (torch.from_numpy(3 * M), report)):
        row = compare(*pair).rows[0]
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
