"""The columns of FACT in pieces agree with the whole matrices."""

import pytest
import torch
from torch import nn

from gramian.core import cosine, pearson
from gramian.nets import inspect
from gramian.nets.chance import Invariants, random_eigenvectors
from gramian.nets.decompositions import Decompositions
from gramian.nets.fact_columns import fact_columns
from gramian.nets.feature_matrix import Unavailable
from nets.models import INPUTS, LABELS, cnn, mlp, seeded


def grouped():
    model = cnn()
    X = torch.randn(20, 4, 6, 7, generator=torch.Generator().manual_seed(1))
    model(X)
    return model


CASES = {
    "mlp": (mlp, INPUTS),
    "grouped": (grouped, torch.randn(20, 4, 6, 7, generator=torch.Generator().manual_seed(1)).double()),
    "wide": (lambda: nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 3)), INPUTS),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("piece", [1, 8, 2**22])
def test_columns_agree_with_the_matrices(monkeypatch, name, piece):
    monkeypatch.setattr("gramian.nets.fact_columns.PIECE", piece)
    build, X = CASES[name]
    report = inspect(seeded(build), (X, LABELS), "cross_entropy", weight_decay=0.1)
    for layer in report.layers:
        record = report.record(layer)
        found = fact_columns(Decompositions(record.sums))
        S, F = record.blocks("nfm"), record.blocks("fact")
        chance = random_eigenvectors([Invariants.of(one) for one in S], [Invariants.of(one) for one in F])
        R = record.W + record.sums.gradient / 0.1
        expected = {
            "fact_cos": cosine(S, F),
            "fact_pearson": pearson(torch.block_diag(*S), torch.block_diag(*F)),
            "fact_residual": float((S - F).norm() / S.norm()),
            "stationarity": float(R.norm() / record.W.norm()),
            "fact_chance": chance.mean,
            "fact_chance_sd": chance.sd,
        }
        assert found == pytest.approx(expected, abs=1e-10, rel=1e-8)


def test_a_stationary_point_has_a_residual_of_rounding_errors():
    """Where ∇L = −λW exactly, products of W and X would cancel to 1e-8 only."""
    model = seeded(lambda: nn.Linear(9, 4, bias=False))
    record = inspect(model, (INPUTS.repeat(1, 2)[:, :9], LABELS), "cross_entropy", weight_decay=0.1).record("model")
    object.__setattr__(record.sums, "stationary_gradient", -0.1 * record.W)
    assert fact_columns(Decompositions(record.sums))["fact_residual"] < 1e-14


def test_without_weight_decay_there_are_none():
    record = inspect(seeded(mlp), (INPUTS, LABELS), "cross_entropy").record("0")
    with pytest.raises(Unavailable, match="no weight_decay"):
        fact_columns(Decompositions(record.sums))


@pytest.mark.parametrize("factor", [1e-12, 1e-4, 1.0, 1e6])
def test_gradients_of_any_size_have_an_exact_norm(factor):
    """FACT of a layer with more inputs than outputs, where X = −∇L/λ is far smaller or larger than W."""
    model = seeded(lambda: nn.Linear(5, 3, bias=False))
    record = inspect(model, (INPUTS, LABELS), "cross_entropy", weight_decay=0.1).record("model")
    object.__setattr__(record.sums, "stationary_gradient", factor * record.sums.gradient)
    expected = cosine(record.blocks("nfm"), record.blocks("fact"))
    assert fact_columns(Decompositions(record.sums))["fact_cos"] == pytest.approx(expected, abs=1e-9)
