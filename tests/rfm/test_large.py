"""Fits to more rows than a kernel matrix has room for: the same estimator, its machine on some of the rows."""

import itertools
import sys
import warnings

import numpy as np
import pytest
import torch
from gramian.rfm.large import growing

from gramian import RFMClassifier, RFMRegressor, load
from gramian.core.rows import MemoryRows, Rows
from gramian.kernels import Laplace
from gramian.rfm import large
from gramian.solvers import EigenPro, Nystrom


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=1500)


def options(**more):
    return {"kernel": Laplace(), "update": "agop", "n_rounds": 1, "solver": Nystrom(centers=150)} | more


@pytest.mark.parametrize("solver", [Nystrom(centers=500), EigenPro(epochs=6)], ids=str)
def test_features_and_scores_are_those_of_an_exact_fit(table, solver, monkeypatch):
    monkeypatch.setattr("gramian.rfm.settings.LARGE_ROWS", 1000)
    X, y = table
    exact = RFMRegressor(**options(solver="direct")).fit(X[:900], y[:900])
    many = RFMRegressor(**options(solver=solver)).fit(X[:1200], y[:1200])
    assert many.score(X[1200:], y[1200:]) > exact.score(X[1200:], y[1200:]) - 0.05
    np.testing.assert_allclose(many.feature_importances_, exact.feature_importances_, atol=0.1)
    assert many.machine_.n == (500 if isinstance(solver, Nystrom) else 1080)


def test_the_machine_stands_on_rows_of_the_users_table(table):
    X, y = table
    model = RFMRegressor(**options(standardize=False)).fit(X, y)
    assert len(model.row_index_) == 150
    kept = model.machine_.X.double().numpy() + model._scaler.center
    np.testing.assert_allclose(kept, X[model.row_index_], atol=1e-5)


def test_rows_kept_out_say_how_good_it_is(table):
    X, y = table
    model = RFMRegressor(**options()).fit(X, y)
    judged = model._judged()
    assert len(judged.targets) == 150
    error = float(np.mean((judged.outputs - judged.targets) ** 2))
    assert model.rounds_[model.best_round_].score * np.var(y) == pytest.approx(error, rel=0.1)
    low, high = model.predict_interval(X, 0.9).T
    assert 0.85 < np.mean((low <= y) & (y <= high)) < 0.97


def test_a_fit_is_the_same_twice_and_in_any_order_of_rows(table):
    X, y = table
    order = np.random.default_rng(1).permutation(len(X))
    models = [RFMRegressor(**options()).fit(X[rows], y[rows]) for rows in (slice(None), slice(None), order)]
    first, again, shuffled = (model.predict(X[:50]) for model in models)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, shuffled)


def test_an_evaluation_set_judges_and_no_row_is_kept_out(table):
    X, y = table
    model = RFMRegressor(**options(solver=EigenPro(epochs=2))).fit(X[:1000], y[:1000])
    assert model.machine_.n == 1000  # so few rows are all used, whatever the solver
    judged = RFMRegressor(**options()).fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))._judged()
    assert judged.how == "evaluation set"
    assert len(judged.targets) == 500


def test_a_classifier_has_probabilities_sets_and_a_file(table, tmp_path):
    X, y = table
    labels = np.digitize(y, [0.0, 1.0])
    model = RFMClassifier(**options()).fit(X[:1200], labels[:1200], np.ones(1200))
    assert model.score(X[1200:], labels[1200:]) > 0.7
    assert model.held_out_losses_["log_loss"] < 0.8
    model.save(tmp_path / "m.gramian")
    same = load(tmp_path / "m.gramian")
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
    assert same.solver == Nystrom(centers=150)


def test_one_row_is_explained_by_rows_the_machine_stands_on(table):
    X, y = table
    model = RFMRegressor(**options()).fit(X, y)
    parts = model._row_parts_at(model._scaled(X[:3]))
    assert parts.shape == (3, 150, 1)
    np.testing.assert_allclose(parts.sum(axis=1) + model._target_scaler.center, model._outputs(X[:3]), rtol=1e-6)


def test_weights_count_as_repeated_rows(table):
    X, y = table
    weights = np.where(X[:, 0] > 0, 5.0, 1.0)
    heavy = RFMRegressor(**options(ridge=1.0, n_rounds=0)).fit(X, y, weights)
    plain = RFMRegressor(**options(ridge=1.0, n_rounds=0)).fit(X, y)
    where = X[:, 0] > 0
    assert np.mean((heavy.predict(X) - y)[where] ** 2) < np.mean((plain.predict(X) - y)[where] ** 2)


def test_the_ridge_per_row_grows_with_the_rows(table):
    X, y = table
    model = RFMRegressor(**options(ridge=1e-4, ridge_scaling="n", n_rounds=1)).fit(X, y)
    assert model.ridge_ == pytest.approx(1e-4 * 1350)


def test_too_little_memory_takes_another_solver_and_says_so(table, monkeypatch):
    monkeypatch.setattr(sys.modules["gramian.solvers.choose"], "_BARE_ROWS", 1000)
    X, y = table
    with pytest.warns(UserWarning, match=r"1500 rows: Nyström regression on 500 centers: a kernel matrix needs .* MB"):
        model = RFMRegressor(kernel=Laplace(), n_rounds=0, max_memory="26MB").fit(X, y)
    assert "500 centers for 1,350 rows" in model.rounds_[0].status


def test_time_that_runs_out_still_gives_a_model(table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RFMRegressor(preset="fast", solver=Nystrom(centers=100), time_limit=0.5).fit(X, y)
    assert model.score(X, y) > 0.2


def test_rounds_grow():
    assert growing(0, 20_000) == []
    sizes = growing(5, 20_000)
    assert sizes[0] == 4000
    assert sizes[-1] == 20_000
    assert all(b > a for a, b in itertools.pairwise(sizes))


def test_a_source_of_rows_is_enough(table):
    """What is fitted to need not be in memory: everything goes through the three things a source can do."""
    X, y = table

    class Counting(MemoryRows):
        taken = 0

        def take(self, indices):
            Counting.taken = max(Counting.taken, len(indices))
            return super().take(indices)

    model = RFMRegressor(**options(solver=Nystrom(centers=150, tol=1e-6)))
    settings, data, _ = model._on_torch(model._ready(X, y))
    source = Counting(Rows(data.X, data.Y), 100)
    fitted = large.fit_large(settings, source)
    assert Counting.taken < 1500
    reference = large.fit_large(settings, MemoryRows(Rows(data.X, data.Y)))
    torch.testing.assert_close(fitted.blend.predict(data.X), reference.blend.predict(data.X), rtol=0, atol=1e-3)


def test_a_threshold_leaves_the_columns_that_matter(table):
    X, y = table
    model = RFMRegressor(**options(threshold=0.05)).fit(X[:1200], y[:1200])
    assert model.support_.tolist() == [True, True, False, False, False]
    assert model.machine_.X.shape == (150, 2)
    assert model.score(X[1200:], y[1200:]) > 0.8
    judged = RFMRegressor(**options(threshold=0.05)).fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))._judged()
    assert len(judged.outputs) == 500
