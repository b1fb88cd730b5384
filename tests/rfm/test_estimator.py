"""scikit-learn's contract in full, nested parameters, evaluation sets and the records of a fit."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import gramian
from gramian import RFMClassifier, RFMRegressor
from gramian.features import Agop
from gramian.kernels import Gaussian, Laplace
from gramian.rfm.options import TreePartition
from gramian.rfm.tree import TreeMachine
from gramian.solvers import EigenPro, Nystrom

FIXED = {"kernel": Laplace(3.0), "update": "agop", "n_rounds": 1, "ridge": 1e-2}

SELECTION = {
    "check_class_weight_classifiers",
    "check_classifiers_train",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
}
"""Checks whose outcome depends on the selection of kernel, ridge and round: these run with the selection too."""


def sklearn_checks():
    """Every check with one candidate and nothing to select, and those of SELECTION with the preset as well."""
    for estimator in (RFMRegressor, RFMClassifier):
        for model, check in estimator_checks_generator(estimator(**FIXED, select_round="last")):
            yield pytest.param(model, check, id=f"{estimator.__name__}-{check_name(check)}")
        for model, check in estimator_checks_generator(estimator(preset="fast", n_rounds=1)):
            if check.func.__name__ in SELECTION and not check.keywords:
                yield pytest.param(model, check, id=f"{estimator.__name__}-selection-{check_name(check)}")


def check_name(check):
    return "-".join([check.func.__name__, *(f"{key}={value}" for key, value in check.keywords.items())])


def test_every_check_with_a_selection_exists():
    assert {param.values[1].func.__name__ for param in sklearn_checks() if "-selection-" in param.id} == SELECTION


@pytest.mark.parametrize(("estimator", "check"), list(sklearn_checks()))
def test_sklearn_check(estimator, check):
    """No expected failures."""
    check(estimator)


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(n_samples=150, random_state=0)


class TestParameters:
    def test_nested_parameters_reach_kernel_update_and_solver(self):
        model = RFMRegressor().set_params(kernel__bandwidth=3.0, update="agop", update__power=0.5, solver="cg")
        model.set_params(solver__tol=1e-3)
        assert model.kernel == Laplace(3.0)
        assert model.update == Agop(power=0.5)
        assert model.solver.tol == 1e-3
        assert model.get_params()["kernel__bandwidth"] == 3.0
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        # Options of one owner are set together: each alone would not be a kernel.
        assert RFMRegressor(kernel="lp").set_params(kernel__exponent=1.5, kernel__p=1.5).kernel.exponent == 1.5
        assert RFMRegressor().set_params(update__power=0.5).update == Agop(power=0.5)
        assert RFMRegressor().set_params(solver__tol=1e-8).solver.tol == 1e-8
        with pytest.raises(ValueError, match="no option 'width'"):
            model.set_params(kernel__width=1)
        with pytest.raises(ValueError, match="have options of their own"):
            model.set_params(ridge__x=1)

    def test_grid_search_over_nested_parameters(self, friedman):
        X, y = friedman
        grid = {"kernel__bandwidth": [1.0, 5.0], "update__diagonal": [False, True], "ridge": [1e-3, 1e-1]}
        model = RFMRegressor(kernel="gaussian", update="agop", n_rounds=1, select_round="last")
        search = GridSearchCV(model, grid, cv=2).fit(X, y)
        assert isinstance(search.best_estimator_.kernel, Gaussian)
        assert search.best_estimator_.kernel.bandwidth == search.best_params_["kernel__bandwidth"]

    def test_the_constructor_stores_and_nothing_else(self):
        kernel = Laplace(3.0)
        model = RFMRegressor(kernel=kernel, ridge=-1.0, preset="no such preset")
        assert model.kernel is kernel
        assert vars(model) == model.get_params(deep=False)


def test_pipelines_scores_and_frames_out(friedman):
    X, y = friedman
    chain = make_pipeline(MinMaxScaler(), RFMRegressor(preset="fast", n_rounds=1))
    assert cross_val_score(chain, X, y, cv=2).mean() > 0.6
    out = RFMRegressor(**FIXED, select_round="last").set_output(transform="pandas").fit(X, y).transform(X)
    assert list(out.columns)[:2] == ["rfmregressor0", "rfmregressor1"]


@pytest.mark.parametrize("threshold", [None, 0.05])
def test_pickles_predict_the_same_and_stay_small(friedman, threshold):
    X, y = friedman
    model = RFMRegressor(n_rounds=1, feature_threshold=threshold).fit(X, y)
    payload = pickle.dumps(model)
    assert np.array_equal(pickle.loads(payload).predict(X), model.predict(X))
    assert len(payload) < 20 * X.nbytes


def test_nothing_global_is_touched(friedman):
    X, y = friedman
    np.random.seed(3)  # noqa: NPY002
    before_numpy, before_torch = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    RFMRegressor(preset="fast", n_rounds=1, n_threads=1, update=Agop(max_rows=20)).fit(X, y).predict(X)
    assert np.array_equal(np.random.get_state()[1], before_numpy)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before_torch)


def test_the_same_seed_gives_the_same_model(friedman):
    X, y = friedman
    options = FIXED | {"update": Agop(max_rows=30), "select_round": "last"}
    a, b, c = (RFMRegressor(random_state=seed, **options).fit(X, y).predict(X) for seed in (1, 1, 2))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    RFMRegressor(random_state=np.random.RandomState(0), **options).fit(X, y)


class TestEvaluationSet:
    @pytest.mark.parametrize("select", ["best", "last"])
    def test_it_selects_the_round(self, friedman, select):
        X, y = friedman
        model = RFMRegressor(kernel="laplace", update="agop", n_rounds=3, select_round=select).fit(
            X[:100], y[:100], eval_set=(X[100:], y[100:])
        )
        scores = [r.score for r in model.rounds_]
        if select == "best":  # the earliest that is as good as the best
            assert model.best_round_ <= int(np.argmin(scores))
            assert scores[model.best_round_] < 1.2 * min(scores) < scores[0]
        else:
            assert model.best_round_ == 3
        error = np.mean((model.predict(X[100:]) - y[100:]) ** 2) / y[:100].var()
        assert scores[model.best_round_] == pytest.approx(error, rel=1e-6)

    def test_labels_may_be_a_column(self, friedman):
        X, y = friedman
        labels = y > y.mean()
        model = RFMClassifier(preset="fast", n_rounds=1)
        flat = clone(model).fit(X[:100], labels[:100], eval_set=(X[100:], labels[100:]))
        assert flat.score(X[100:], labels[100:]) > 0.7
        column = clone(model).fit(X[:100], labels[:100], eval_set=(X[100:], labels[100:, None]))
        assert column.best_round_ == flat.best_round_

    def test_targets_that_do_not_fit_are_refused(self, friedman):
        X, y = friedman
        with pytest.raises(ValueError, match=r"eval_set has a target of shape \(50, 2\), and y has 1 column"):
            RFMRegressor().fit(X[:100], y[:100], eval_set=(X[100:], np.column_stack([y, y])[100:]))
        labels = (y > y.mean()).astype(int)
        with pytest.raises(ValueError, match=r"eval_set: y holds the label 7, which no training row has"):
            RFMClassifier().fit(X[:100], labels[:100], eval_set=(X[100:], np.full(50, 7)))


def test_records_describe_every_round(friedman):
    X, y = friedman
    model = RFMRegressor(preset="fast", n_rounds=3).fit(X, y)
    assert [r.index for r in model.rounds_] == list(range(len(model.rounds_)))
    for record in model.rounds_:
        assert record.residual < 1e-6
        assert record.bytes > 0
        assert record.seconds > 0
        assert record.score > 0
        assert record.loo > 0 or record.index >= 3, "ridge and bandwidth are not selected again from round 3 on"
        assert "float64" in record.status
    assert model.ridge_ == model.rounds_[model.best_round_].ridge
    assert model.kernel_.length == pytest.approx(model.rounds_[model.best_round_].bandwidth)
    with pytest.raises(AttributeError):
        model.rounds_[0].ridge = 1.0


def test_beyond_the_budget_the_solver_changes_with_a_warning():
    X, y = make_friedman1(n_samples=1200, random_state=0)
    options = FIXED | {"select_round": "last"}
    reference = RFMRegressor(**options).fit(X, y)
    with pytest.warns(UserWarning, match="conjugate gradients: a direct solve needs"):
        model = RFMRegressor(max_memory="14MB", **options).fit(X, y)
    assert "converged" in model.rounds_[0].status
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-3)


def test_too_little_memory_for_a_tree_means_centres_with_a_warning(monkeypatch):
    monkeypatch.setattr("gramian.rfm.training.solver_choice._NO_MATRIX_ROWS", 1000)
    X, y = make_friedman1(n_samples=1900, n_features=5, random_state=0)
    with pytest.warns(UserWarning, match=r"1900 rows: Nyström regression on 500 centers: a kernel matrix needs .* MB"):
        model = RFMRegressor(kernel=Laplace(), n_rounds=0, max_memory="26MB").fit(X, y)
    assert "500 centers for 1,710 rows" in model.rounds_[0].status


def test_the_automatic_kernel_is_one_of_two_norms():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 6))
    y = np.abs(X[:, 0]) + np.sign(X[:, 1])
    model = RFMRegressor(kernel="auto", n_rounds=1).fit(X, y)
    assert type(model.kernel_).__name__ in ("Laplace", "Lp")
    assert sorted(np.argsort(model.feature_importances_)[-2:]) == [0, 1]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=400)


class TestManyRows:
    """Solvers for many rows, on few: the same estimator, on some of the rows or in parts."""

    @pytest.mark.parametrize("solver", [Nystrom(centers=60), TreePartition(leaf_rows=120)], ids=str)
    def test_the_order_of_rows_changes_nothing(self, table, solver):
        X, y = table
        order = np.random.default_rng(1).permutation(len(X))
        models = [RFMRegressor(solver=solver, **FIXED).fit(X[rows], y[rows]) for rows in (slice(None), order)]
        np.testing.assert_array_equal(*(model.predict(X[:50]) for model in models))

    @pytest.mark.parametrize(
        ("solver", "n"), [(Nystrom(centers=150), 150), (EigenPro(epochs=6), 300), (TreePartition(leaf_rows=120), 270)]
    )
    def test_features_and_scores_are_nearly_those_of_an_exact_fit(self, table, solver, n):
        X, y = table
        exact = RFMRegressor(solver="direct", **FIXED).fit(X[:300], y[:300])
        many = RFMRegressor(solver=solver, **FIXED).fit(X[:300], y[:300])
        assert many.machine_.n == n
        assert many.score(X[300:], y[300:]) > exact.score(X[300:], y[300:]) - 0.1
        np.testing.assert_allclose(many.feature_importances_, exact.feature_importances_, atol=0.1)

    @pytest.mark.parametrize("solver", [Nystrom(centers=100), TreePartition(leaf_rows=120)], ids=str)
    def test_the_error_on_held_out_rows_describes_the_model(self, table, solver):
        X, y = table
        model = RFMRegressor(solver=solver, target_transform=None, **FIXED).fit(X, y)
        held = model.model_.holdout
        assert len(held.targets) == 40
        error = float(np.mean((held.outputs - held.targets) ** 2))
        assert model.rounds_[model.best_round_].score * np.var(y) == pytest.approx(error, rel=0.1)
        low, high = model.predict_interval(X, 0.9).T
        assert 0.8 < np.mean((low <= y) & (y <= high)) < 0.995

    @pytest.mark.parametrize("solver", [Nystrom(centers=60), TreePartition(leaf_rows=120)], ids=str)
    def test_a_classifier_has_probabilities_weights_and_a_file(self, table, solver, tmp_path):
        X, y = table
        labels = np.digitize(y, [0.0, 1.0])
        model = RFMClassifier(solver=solver, **FIXED).fit(X[:300], labels[:300], np.linspace(0.5, 2, 300))
        assert model.score(X[300:], labels[300:]) > 0.6
        np.testing.assert_allclose(model.predict_proba(X[:9]).sum(axis=1), 1)
        assert model.held_out_losses_["log_loss"] < 1.0
        model.save(tmp_path / "m.gramian")
        same = gramian.load(tmp_path / "m.gramian")
        np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))
        assert same.solver == solver

    def test_a_tree_does_everything_an_estimator_does(self, table, tmp_path):
        X, y = table
        model = RFMRegressor(solver=TreePartition(leaf_rows=120), **FIXED | {"kernel": "gaussian"}).fit(X, y)
        assert isinstance(model.machine_, TreeMachine)
        assert model.score(X, y) > 0.9
        model.save(tmp_path / "m.gramian")
        assert np.array_equal(gramian.load(tmp_path / "m.gramian").predict(X), model.predict(X))
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
        assert np.array_equal(model.predict(X[7:8]), model.predict(X)[7:8])
        assert set(model.importances().order[:2]) == {0, 1}
        assert abs(model.explain(X[:1]).gap) < 0.2
        assert len(model.row_index_) == model.machine_.n
        with pytest.raises(ValueError, match="nystrom"):
            model.compressed(100)

    def test_jobs_change_nothing(self, table):
        X, y = table
        one, two = (
            RFMRegressor(solver=TreePartition(leaf_rows=120), n_jobs=jobs, **FIXED).fit(X, y) for jobs in (None, 2)
        )
        np.testing.assert_allclose(two.predict(X[:50]), one.predict(X[:50]), rtol=1e-6)

    def test_a_time_limit_still_gives_a_model(self, table):
        X, y = table
        with pytest.warns(UserWarning, match="time limit of 0.001 s was too short"):
            model = RFMRegressor(preset="fast", solver=Nystrom(centers=60), time_limit=1e-3).fit(X, y)
        assert model.score(X, y) > 0.2

    def test_the_rows_of_a_tree_or_of_centres_are_in_the_table_of_the_user(self, table):
        X, y = table
        for solver in (Nystrom(centers=60), TreePartition(leaf_rows=120)):
            model = RFMRegressor(solver=solver, standardize=False, **FIXED).fit(X, y)
            rows = model.machine_.X.double().numpy() + model.model_.preprocessing.scaler.center
            np.testing.assert_allclose(rows, X[model.row_index_], atol=1e-5)
