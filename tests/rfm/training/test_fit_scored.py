"""Columns with long tails: the kernel of normal scores competes by default, and only there."""

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor, load
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import ScoredLp
from gramian.rfm.options import preset
from gramian.rfm.training.fit import fit_kernels


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = np.exp(2 * rng.normal(size=(n, 3)))
    return X, np.log(X[:, 0]) + np.sin(np.log(X[:, 1]))


@pytest.fixture(scope="module")
def fitted():
    return RFMRegressor(preset="default", n_rounds=1).fit(*table(150, 0))


def kernels(model):
    return [type(machine.kernel) for machine in model.model_.ensemble.machines]


def test_the_default_selects_scores_for_long_tails(fitted):
    assert ScoredLp in kernels(fitted)
    X, y = table(100, 1)
    plain = RFMRegressor(kernel="laplace", n_rounds=1).fit(*table(150, 0))
    assert 1 - fitted.score(X, y) < 0.5 * (1 - plain.score(X, y))


def test_a_table_without_long_tails_has_the_other_candidates_only():
    X = torch.randn(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    others = preset("default").kernels[:3]
    found = {
        name: fit_kernels(preset("default").kernels, MemoryRows(Rows(rows, X)), 0)
        for name, rows in (("even", X), ("long", X.exp()))
    }
    assert found["even"] == others
    assert [type(kernel) for kernel in found["long"]] == [*map(type, others), ScoredLp]


def test_a_saved_model_predicts_and_explains_the_same(fitted, tmp_path):
    X, _ = table(20, 2)
    fitted.save(tmp_path / "model.gramian")
    again = load(tmp_path / "model.gramian")
    assert np.array_equal(again.predict(X), fitted.predict(X))
    explanation = again.explain(X[:1])
    assert abs(explanation.gap) < 0.01 * abs(explanation.contributions).max()


def test_scores_of_some_rows_do_not_depend_on_the_unit(fitted):
    X, y = table(150, 0)
    other = RFMRegressor(preset="default", n_rounds=1).fit(X * np.array([1e3, 1e-3, 7.0]), y)
    new, _ = table(30, 3)
    np.testing.assert_allclose(other.predict(new * np.array([1e3, 1e-3, 7.0])), fitted.predict(new), rtol=1e-5)


def test_the_kernel_can_be_asked_for_by_name():
    X, y = table(80, 0)
    model = RFMClassifier(kernel="scored-lp", n_rounds=1).fit(X, y > 0)
    assert kernels(model) == [ScoredLp]
    assert model.score(X, y > 0) > 0.9
