"""Few rows with many columns: thin factors give the model of the dense matrices, and nothing of size d × d is made."""

import numpy as np
import pytest
import torch

from gramian import RFMRegressor, load
from gramian.features import Agop, Factored
from gramian.kernels import Diagonal, Full, Gaussian, Identity, KernelOperator, Laplace, LowRank, Lp, as_metric
from gramian.rfm import machine as machines
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.rounds import metric_of

N, D = 12, 300


@pytest.fixture
def machine(rng):
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    metric = LowRank(draw(D, 5))
    weights = torch.rand(N, generator=rng, dtype=torch.float64) + 0.5
    return KernelMachine(KernelOperator(Laplace(30.0), draw(N, D), metric), draw(N, 2), weights)


UPDATES = [
    Agop(),
    Agop(power=0.5, center=True),
    Agop(scale=None, max_rows=7),
    Agop(scale="trace"),
    Agop(diagonal=True),
    Agop(diagonal=True, power=0.5, shrink=0.3, scale="mean"),
]


@pytest.mark.parametrize("update", UPDATES, ids=str)
def test_updates_of_few_rows_equal_those_of_moments(machine, update, monkeypatch):
    rng = lambda: torch.Generator().manual_seed(0)  # noqa: E731
    thin = update(machine, rng())
    assert isinstance(thin, Factored) != update.diagonal
    monkeypatch.setattr(machines, "_WIDE_COLUMNS", 10**9)
    dense = update(machine, rng())
    # The square root of rounding errors in the null space of a dense matrix is 1e-8.
    atol = 1e-12 if update.power == 1 else 1e-6
    torch.testing.assert_close(metric_of(thin).matrix(), as_metric(dense).matrix(), rtol=1e-8, atol=atol)


def test_a_mixture_with_the_identity_has_no_thin_factor(machine):
    assert isinstance(Agop(shrink=0.2)(machine, torch.Generator()), torch.Tensor)


def test_a_constant_predictor_has_a_zero_factor(machine):
    still = KernelMachine(machine.operator, torch.zeros(N, 1, dtype=torch.float64))
    assert metric_of(Agop()(still, torch.Generator())) is None


def test_parts_of_metrics_equal_those_of_their_matrices(rng):
    F = torch.randn(6, 2, generator=rng, dtype=torch.float64)
    w = torch.rand(6, generator=rng, dtype=torch.float64)
    metrics = [Identity(6), Diagonal(w), LowRank(F), Full.of(F @ F.mT)]
    at = torch.tensor([4, 1])
    for one in metrics:
        torch.testing.assert_close(one.diagonal(), one.matrix().diagonal())
        torch.testing.assert_close(one.block(at), one.matrix()[at][:, at])
        for other in metrics:
            assert one.inner(other) == pytest.approx(float((one.matrix() * other.matrix()).sum()))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 600))
    return X, X[:, 3] + 0.5 * X[:, 7] * X[:, 3]


@pytest.mark.parametrize("kernel", [Gaussian(), Lp()])
def test_a_fit_is_that_of_the_dense_matrices(table, kernel, monkeypatch):
    X, y = table
    options = {"kernel": kernel, "update": Agop(), "n_rounds": 2, "select_round": "last", "dtype": "float64"}
    thin = RFMRegressor(**options).fit(X, y)
    monkeypatch.setattr(machines, "_WIDE_COLUMNS", 10**9)
    dense = RFMRegressor(**options).fit(X, y)
    np.testing.assert_allclose(thin.predict(X[:9]), dense.predict(X[:9]), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(thin.feature_matrix_, dense.feature_matrix_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(thin.eigenvalues_[:5], dense.eigenvalues_[:5], rtol=1e-5)
    np.testing.assert_allclose(thin.feature_importances_, dense.feature_importances_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(thin.evolution_.diagonals, dense.evolution_.diagonals, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(thin.evolution_.cosines, dense.evolution_.cosines, rtol=1e-4)


def test_no_matrix_of_all_columns_is_made(table, tmp_path, monkeypatch):
    """The matrix of a metric is never asked for in a fit, a prediction, a summary or a file."""
    X, y = table

    def refused(self):
        raise AssertionError("a matrix (d, d) was asked for")

    for metric in (LowRank, Identity, Diagonal):
        monkeypatch.setattr(metric, "matrix", refused)
    model = RFMRegressor(preset="fast").fit(X, y)
    model.save(tmp_path / "wide.gramian")
    assert (tmp_path / "wide.gramian").stat().st_size < 600 * 600 * 8
    again = load(tmp_path / "wide.gramian")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert "training rows" in str(model.summary())
    assert model.feature_importances_.shape == (600,)
    assert np.argmax(model.feature_importances_) == 3
