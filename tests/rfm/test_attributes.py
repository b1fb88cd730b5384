"""Attributes of an estimator: functions of its fitted model that do not exist before a fit."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge

from gramian import RFMClassifier, RFMRegressor, load
from gramian.kernels import Gaussian
from gramian.rfm.attributes import FittedAttribute
from gramian.rfm.options import TreePartition
from gramian.solvers import Nystrom

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] * X[:, 1]
OPTIONS = {"kernel": Gaussian(2.0), "update": "agop", "n_rounds": 1, "ridge": 1e-2}
ESTIMATORS = pytest.mark.parametrize("estimator", [RFMRegressor, RFMClassifier])


def attributes(estimator):
    return [name for name, value in inspect.getmembers(estimator) if isinstance(value, FittedAttribute)]


@ESTIMATORS
def test_no_attribute_exists_before_a_fit(estimator):
    names = attributes(estimator)
    assert len(names) > 20
    model = estimator()
    for name in names:
        assert not hasattr(model, name)
        with pytest.raises(NotFittedError, match=f"This {estimator.__name__} instance is not fitted yet"):
            getattr(model, name)


@ESTIMATORS
def test_every_attribute_can_be_read_after_a_fit_and_is_documented(estimator):
    fitted = estimator(**OPTIONS).fit(X, Y > 0 if estimator is RFMClassifier else Y)
    missing = {"feature_names_in_", "compression_"}
    for name in attributes(estimator):
        assert hasattr(fitted, name) == (name not in missing), name
        assert getattr(estimator, name).__doc__
        if name != "compression_":
            assert f"\n    {name} : " in estimator.__doc__, name


def test_an_attribute_cannot_be_written():
    fitted = RFMRegressor(**OPTIONS).fit(X, Y)
    assert [name for name in vars(fitted) if name.endswith("_")] == ["model_"]


class TestDualCoef:
    """As in scikit-learn's KernelRidge."""

    @pytest.mark.parametrize("outputs", [1, 2])
    def test_coefficients_are_those_of_kernel_ridge_regression(self, outputs):
        y = Y if outputs == 1 else np.column_stack([Y, X[:, 2]])
        options = OPTIONS | {"n_rounds": 0, "standardize": False, "fit_intercept": False, "target_transform": None}
        ours = RFMRegressor(**options).fit(X, y)
        theirs = KernelRidge(alpha=1e-2, kernel="rbf", gamma=1 / 8).fit(ours.X_fit_, y[ours.row_index_])
        scale = ours.model_.target_scaler.scale
        assert ours.dual_coef_.shape == theirs.dual_coef_.shape
        np.testing.assert_allclose(
            ours.dual_coef_ * (scale[0] if outputs == 1 else scale), theirs.dual_coef_, rtol=1e-6
        )

    def test_the_rows_are_the_standardised_training_rows(self):
        model = RFMRegressor(**OPTIONS).fit(X, Y)
        expected = (X - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_allclose(model.X_fit_, expected[model.row_index_])
        K = model.kernel_.block(*(model.machine_.operator.prepare(model.machine_.X),) * 2).numpy()
        outputs = K @ model.dual_coef_ * model.model_.target_scaler.scale + model.model_.target_scaler.center
        np.testing.assert_allclose(outputs, model.predict(X[model.row_index_]), rtol=1e-8)

    @pytest.mark.parametrize(
        "options",
        [{"solver": TreePartition(leaf_rows=20)}, {"bagging": True}],
        ids=["tree", "ensemble"],
    )
    def test_they_exist_only_where_a_single_machine_predicts(self, options):
        model = RFMRegressor(**OPTIONS | options).fit(X, Y)
        assert not hasattr(model, "dual_coef_")
        with pytest.raises(AttributeError, match="dual_coef_ and X_fit_ exist where a single kernel machine predicts"):
            model.X_fit_  # noqa: B018

    def test_a_machine_on_some_rows_has_the_coefficients_of_its_centres(self):
        model = RFMRegressor(**OPTIONS, solver=Nystrom(centers=20)).fit(X, Y)
        assert model.dual_coef_.shape == (20,)
        assert model.X_fit_.shape == (20, 3)
        assert len(model.row_index_) == 20


def test_names_exist_where_the_table_had_them():
    pandas = pytest.importorskip("pandas")
    plain = RFMRegressor(**OPTIONS).fit(X, Y)
    with pytest.raises(AttributeError, match="the training table had no column names"):
        plain.feature_names_in_  # noqa: B018
    named = RFMRegressor(**OPTIONS).fit(pandas.DataFrame(X, columns=["a", "b", "c"]), Y)
    assert list(named.feature_names_in_) == ["a", "b", "c"]
    assert named.n_features_in_ == plain.n_features_in_ == 3


def test_importances_are_shares_of_the_agop_diagonal():
    model = RFMRegressor(**OPTIONS).fit(X, Y)
    diagonal = np.diag(model.agop_)
    np.testing.assert_allclose(model.feature_importances_, diagonal / diagonal.sum())


def test_the_attributes_of_a_compressed_copy_are_those_of_its_model():
    model = RFMRegressor(**OPTIONS).fit(X, Y)
    small = model.compressed(10)
    assert small.compression_.n_centers == len(small.row_index_) <= 10
    with pytest.raises(AttributeError, match="the model is not compressed"):
        model.compression_  # noqa: B018


class TestFittedRows:
    """The number of rows for which the final model was solved, in rows of the user's table."""

    def rows(self, n, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        return X, X[:, 0] + 0.1 * rng.normal(size=n)

    def test_all_rows_count_where_the_refit_uses_all_of_them(self):
        X, y = self.rows(60)
        assert RFMRegressor(preset="fast", n_rounds=1).fit(X, y).fitted_rows_ == 60

    def test_equal_rows_count_each(self):
        X, y = self.rows(40)
        twice = RFMRegressor(preset="fast", n_rounds=1).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
        assert twice.fitted_rows_ == 80
        assert twice.machine_.n == 40

    def test_rows_that_a_large_fit_holds_out_do_not_count(self):
        X, y = self.rows(200)
        model = RFMRegressor(preset="fast", n_rounds=0, solver=Nystrom(centers=30)).fit(X, y)
        assert model.fitted_rows_ == 200 - model.plan_.holdout_rows
        assert model.machine_.n == 30

    def test_a_file_keeps_the_number(self, tmp_path):
        X, y = self.rows(50)
        model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
        model.save(tmp_path / "m.gramian")
        assert load(tmp_path / "m.gramian").fitted_rows_ == 50

    def test_a_record_without_the_number_stands_for_all_rows(self):
        X, y = self.rows(50)
        model = RFMRegressor(preset="fast", n_rounds=1).fit(X, y)
        model.model_ = replace(model.model_, history=replace(model.model_.history, fitted_rows=None))
        assert model.fitted_rows_ == 50
