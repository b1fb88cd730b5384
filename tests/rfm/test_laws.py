"""Laws of recursive feature machines, by equality with known special cases."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise

from gramian import RFMClassifier, RFMRegressor
from gramian.features import Agop, Fact
from gramian.kernels import Gaussian, Laplace, Lp, Polynomial
from gramian.rfm.training.thresholded import select_columns
from gramian.rfm.training.tuning import RIDGES

N = 160
FIXED = {"ridge": 1e-2, "select_round": "last", "standardize": False, "dtype": "float64"}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, Xt = rng.normal(size=(80, 5)), rng.normal(size=(40, 5))
    f = lambda X: X[:, 0] * X[:, 1] + np.sin(X[:, 2])  # noqa: E731
    return X, f(X), Xt, f(Xt)


@pytest.mark.parametrize(
    ("kernel", "matrix"),
    [
        (Laplace(2.0), lambda X, Z: np.exp(-pairwise.euclidean_distances(X, Z) / 2)),
        (Gaussian(2.0), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=1 / 8)),
        (Lp(2.0), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=1 / 2)),
        (Polynomial(3, 1.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=1, coef0=1)),
    ],
    ids=["laplace", "gaussian", "l1", "cubic"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_rounds_is_kernel_ridge_regression(data, kernel, matrix, weighted):
    X, y, Xt, _ = data
    weights = np.linspace(0.5, 2, len(X)) if weighted else None
    mean = np.average(y, weights=weights)
    ours = RFMRegressor(kernel=kernel, n_rounds=0, **FIXED).fit(X, y, sample_weight=weights).predict(Xt)
    theirs = KernelRidge(kernel="precomputed", alpha=1e-2).fit(matrix(X, X), y - mean, sample_weight=weights)
    np.testing.assert_allclose(ours, theirs.predict(matrix(Xt, X)) + mean, rtol=1e-8, atol=1e-8)
    plain = RFMRegressor(kernel=kernel, n_rounds=0, fit_intercept=False, **FIXED).fit(X, y, sample_weight=weights)
    theirs = KernelRidge(kernel="precomputed", alpha=1e-2).fit(matrix(X, X), y, sample_weight=weights)
    np.testing.assert_allclose(plain.predict(Xt), theirs.predict(matrix(Xt, X)), rtol=1e-8, atol=1e-8)


def test_linear_kernel_is_linear_ridge(data):
    X, y, Xt, _ = data
    ours = RFMRegressor(kernel=Polynomial(1), n_rounds=0, fit_intercept=False, **FIXED).fit(X, y)
    theirs = Ridge(alpha=1e-2, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.predict(Xt), theirs.predict(Xt), rtol=1e-7)
    np.testing.assert_allclose(ours.gradients(Xt)[:, 0], np.tile(theirs.coef_, (40, 1)), rtol=1e-6)


def test_a_ridge_per_row_is_the_ridge_times_the_number_of_rows(data):
    X, y, Xt, _ = data
    per_row = RFMRegressor(kernel=Laplace(2.0), n_rounds=2, update="agop", **FIXED | {"ridge": 1e-3})
    total = RFMRegressor(kernel=Laplace(2.0), n_rounds=2, update="agop", **FIXED | {"ridge": 80 * 1e-3})
    per_row.set_params(ridge_scaling="n")
    np.testing.assert_allclose(per_row.fit(X, y).predict(Xt), total.fit(X, y).predict(Xt), rtol=1e-10)


@pytest.mark.parametrize("update", [Agop(), Agop(power=0.5, center=True), Fact(), Fact(geometric=True)], ids=str)
def test_rotation_covariance_of_a_full_matrix(data, update):
    """Rotated data gives the rotated M and the same predictions."""
    X, y, Xt, _ = data
    Q, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))
    update = update.with_params(scale="trace")  # the largest entry is not the same in another basis
    model = RFMRegressor(kernel=Gaussian(2.0), update=update, n_rounds=3, **FIXED)
    plain = model.fit(X, y)
    M = plain.feature_matrix_
    turned = model.fit(X @ Q.T, y)
    cosine = np.sum(turned.feature_matrix_ * (Q @ M @ Q.T)) / np.linalg.norm(M) / np.linalg.norm(turned.feature_matrix_)
    assert cosine == pytest.approx(1, abs=1e-8)
    scaleless = RFMRegressor(kernel=Gaussian("median"), update=update, n_rounds=3, **FIXED)
    np.testing.assert_allclose(
        scaleless.fit(X, y).predict(Xt), scaleless.fit(X @ Q.T, y).predict(Xt @ Q.T), rtol=1e-5, atol=1e-6
    )


def test_the_order_of_rows_changes_nothing(data):
    X, y, Xt, _ = data
    order = np.random.default_rng(2).permutation(len(X))
    a, b = RFMRegressor(preset="fast").fit(X, y), RFMRegressor(preset="fast").fit(X[order], y[order])
    assert np.array_equal(a.predict(Xt), b.predict(Xt))
    assert a.best_round_ == b.best_round_


class TestNames:
    """Classes and groups are the rows that belong to them: what they are called has no effect."""

    @staticmethod
    def rows(n, levels, d=3):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(n, d)) if levels is None else rng.integers(0, levels, size=(n, d)).astype(float)
        return X, rng

    @pytest.mark.parametrize("levels", [None, 3], ids=["distinct rows", "repeated rows"])
    @pytest.mark.parametrize(("preset", "rows"), [("fast", 120), ("default", 120), ("fast", 620)])
    def test_of_two_classes(self, preset, rows, levels):
        X, rng = self.rows(rows, levels)
        y = np.where(X[:, 0] + rng.normal(size=rows) > 0.3, 1, 0)
        one, other = (RFMClassifier(preset=preset).fit(X, labels) for labels in (y, 1 - y))
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, ::-1], rtol=1e-9)
        assert one.ridge_ == pytest.approx(other.ridge_)

    @pytest.mark.parametrize("sizes", [[33, 33, 33, 21], [61, 32, 19, 8]])
    def test_of_several_classes(self, sizes):
        X, _ = self.rows(120, None)
        y, names = np.repeat(np.arange(4), sizes), np.array([2, 0, 3, 1])
        one, other = (RFMClassifier(preset="fast").fit(X + y[:, None] / 2, labels) for labels in (y, names[y]))
        np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X)[:, names], rtol=1e-9)

    @pytest.mark.parametrize("levels", [None, 3], ids=["distinct rows", "repeated rows"])
    def test_of_groups(self, levels):
        X, rng = self.rows(120, levels, d=2)
        y = np.round(X[:, 0] + rng.normal(size=120))
        groups, names = rng.integers(0, 12, size=120), rng.permutation(12)
        one, other = (RFMRegressor(preset="fast").fit(X, y, groups=by) for by in (groups, names[groups]))
        np.testing.assert_allclose(one.predict_interval(X), other.predict_interval(X), rtol=1e-9, atol=1e-12)


def test_a_weight_of_two_is_a_repeated_row(data):
    X, y, Xt, _ = data
    twice = RFMRegressor(preset="fast").fit(np.vstack([X, X[:20]]), np.append(y, y[:20]))
    weights = np.ones(len(X))
    weights[:20] = 2
    weighted = RFMRegressor(preset="fast").fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(twice.predict(Xt), weighted.predict(Xt), rtol=1e-10)
    weights[-1] = 0
    without = RFMRegressor(preset="fast").fit(np.vstack([X[:-1], X[:20]]), np.append(y[:-1], y[:20]))
    np.testing.assert_allclose(
        RFMRegressor(preset="fast").fit(X, y, sample_weight=weights).predict(Xt), without.predict(Xt), rtol=1e-10
    )


@pytest.mark.parametrize("classes", [0, 3], ids=["regression", "classification"])
@pytest.mark.parametrize("preset", ["fast", "default"])
def test_a_table_with_every_row_doubled_is_one_with_weights_of_two(data, classes, preset):
    """Splits, leave-one-out and refits see the user's rows: how they are written down makes no difference."""
    X, y, Xt, _ = data
    counts = np.arange(len(X)) % 3 + 1  # rows that were there several times before
    X, y = X.repeat(counts, axis=0), y.repeat(counts)
    if classes:
        y = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    estimator, method = (RFMClassifier, "predict_proba") if classes else (RFMRegressor, "predict")
    doubled = estimator(preset=preset).fit(np.vstack([X, X]), np.concatenate([y, y]))
    weighted = estimator(preset=preset).fit(X, y, sample_weight=np.full(len(X), 2.0))
    one, other = (getattr(model, method)(Xt) for model in (doubled, weighted))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_leave_one_out_is_over_the_rows_of_the_users_table(data):
    """The error of the record by brute force: each row of the table is left out alone, and its copies stay."""
    X, y, _, _ = data
    counts = np.arange(len(X)) % 4 + 1
    y = y + 0.5 * np.random.default_rng(1).normal(size=len(y))
    X, y = X.repeat(counts, axis=0), y.repeat(counts)
    options = {"kernel": Laplace(2.0), "n_rounds": 0, "standardize": False, "dtype": "float64"}
    model = RFMRegressor(**options).fit(X, y)
    K = np.exp(-pairwise.euclidean_distances(X) / 2)
    target = model.model_.target_scaler.transform(y[:, None])[:, 0]

    def error(ridge):
        inverse = np.linalg.inv(K + ridge * np.eye(len(K)))
        return np.mean((inverse @ target / np.diag(inverse)) ** 2)

    record = model.rounds_[0]
    assert record.loo == pytest.approx(error(record.ridge), rel=1e-4)
    assert error(record.ridge) <= 1.01 * min(error(ridge) for ridge in RIDGES)


def test_the_offset_and_the_scale_of_the_target_change_nothing(data):
    X, y, Xt, _ = data
    plain, moved = RFMRegressor(preset="fast").fit(X, y), RFMRegressor(preset="fast").fit(X, 1e6 + 1e3 * y)
    np.testing.assert_allclose(moved.predict(Xt), 1e6 + 1e3 * plain.predict(Xt), rtol=1e-9)


def test_the_scale_of_a_column_changes_nothing(data):
    X, y, Xt, _ = data
    scale = np.array([1e6, 1, 1e-6, 1, 1e20])
    plain, scaled = RFMRegressor(preset="fast").fit(X, y), RFMRegressor(preset="fast").fit(X * scale, y)
    np.testing.assert_allclose(scaled.predict(Xt * scale), plain.predict(Xt), rtol=1e-6, atol=1e-7)


def test_several_outputs_share_m_and_equal_a_joint_problem(data):
    X, y, Xt, _ = data
    Y = np.column_stack([y, -2 * y + 3])
    both = RFMRegressor(preset="fast", update="agop").fit(X, Y).predict(Xt)
    assert both.shape == (40, 2)
    np.testing.assert_allclose(both[:, 1], -2 * both[:, 0] + 3, rtol=1e-6, atol=1e-8)


def test_gradients_are_those_of_predict(data):
    X, y, Xt, _ = data
    model = RFMRegressor(n_rounds=2, kernel="gaussian", ridge=1e-2).fit(3 * X + 1, y)
    step = 1e-4
    for k in range(5):
        ahead, behind = Xt.copy(), Xt.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        slope = (model.predict(ahead) - model.predict(behind)) / (2 * step)
        np.testing.assert_allclose(model.gradients(Xt)[:, 0, k], slope, rtol=1e-4, atol=1e-5)


def test_transform_keeps_the_distances_of_the_kernel(data):
    X, y, Xt, _ = data
    model = RFMRegressor(preset="fast", update="agop", select_round="last").fit(X, y)
    Z = model.transform(Xt)
    scaled = (Xt - X.mean(0)) / X.std(0)
    delta = scaled[:1] - scaled[1:]
    expected = np.einsum("nd,de,ne->n", delta, model.feature_matrix_, delta)
    np.testing.assert_allclose(((Z[:1] - Z[1:]) ** 2).sum(1), expected, rtol=1e-8)
    assert len(model.get_feature_names_out()) == Z.shape[1]
    assert (np.diff(model.eigenvalues_) <= 0).all()


def test_automatic_numbers_have_the_smallest_leave_one_out_error(data):
    """The chosen ridge beats its neighbours on the grid when everything else is held fixed."""
    X, y, _, _ = data
    model = RFMRegressor(kernel=Laplace("median"), n_rounds=0).fit(X, y)
    z = (X - X.mean(0)) / X.std(0)
    K = np.exp(-pairwise.euclidean_distances(z, z) / model.kernel_.length)
    t = (y - y.mean()) / y.std()

    def loo(ridge):
        inverse = np.linalg.inv(K + ridge * np.eye(len(K)))
        return np.mean((inverse @ t / np.diag(inverse)) ** 2)

    errors = {ridge: loo(ridge) for ridge in RIDGES}
    assert model.ridge_ == pytest.approx(min(errors, key=errors.get))
    assert model.rounds_[0].loo == pytest.approx(min(errors.values()), rel=1e-6)


def test_a_thresholded_refit_is_ridge_regression_on_the_selected_columns(data):
    X, y, Xt, _ = data
    options = {"kernel": Laplace(2.0), "n_rounds": 2, "update": "agop", **FIXED}
    model = RFMRegressor(feature_threshold=0.05, **options).fit(X, y)
    diagonal = np.diag(model.feature_matrix_)
    scaled = (diagonal - diagonal.min()) / (diagonal.max() - diagonal.min())
    assert np.array_equal(model.support_, scaled > 0.05)
    assert 0 < model.support_.sum() < 5
    plain = RFMRegressor(**options | {"n_rounds": 0}).fit(X[:, model.support_], y)
    np.testing.assert_allclose(model.predict(Xt), plain.predict(Xt[:, model.support_]), rtol=1e-10)
    assert (model.gradients(Xt)[:, :, ~model.support_] == 0).all()
    assert bool(select_columns(torch.ones(3), 0.5).all())


def test_prediction_does_not_depend_on_the_batch(data):
    X, y, Xt, _ = data
    for dtype in ("float32", "float64"):
        model = RFMClassifier(preset="fast", n_rounds=1, dtype=dtype).fit(X, np.digitize(y, [-1, 0, 1]))
        whole = model.decision_function(Xt)
        assert np.array_equal(np.vstack([model.decision_function(x[None]) for x in Xt]), whole)


def test_prediction_of_many_models_does_not_depend_on_the_batch(data):
    """A sum of several models is added in the same order for one row and for many."""
    X, y, _, _ = data
    model = RFMRegressor(preset="best", n_rounds=2).fit(X, y)
    assert len(model.ensemble_.machines) >= 5
    new = np.random.default_rng(5).normal(size=(100, X.shape[1]))
    assert np.array_equal(np.concatenate([model.predict(x[None]) for x in new]), model.predict(new))


@pytest.mark.parametrize("rows", [1, 7, 130])
def test_prediction_does_not_depend_on_the_batch_beyond_one_block(data, rows):
    """A block of 128 rows has another layout in memory than rows that were filled up to a block."""
    X, y, _, _ = data
    new = np.random.default_rng(5).normal(size=(260, X.shape[1]))
    for model in (RFMRegressor(preset="fast", n_rounds=1), RFMRegressor(preset="fast", n_rounds=0, dtype="float32")):
        whole = model.fit(X, y).predict(new)
        parts = [model.predict(new[start : start + rows]) for start in range(0, len(new), rows)]
        assert np.array_equal(np.concatenate(parts), whole)
        assert np.array_equal(model.predict(np.asfortranarray(new)), whole)


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_solvers_and_formats_agree(data, solver, dtype):
    X, y, Xt, _ = data
    options = {"kernel": Laplace(2.0), "n_rounds": 3, "update": "agop", **FIXED}
    reference = RFMRegressor(**options).fit(X, y).predict(Xt)
    model = RFMRegressor(**options | {"solver": solver, "dtype": dtype}).fit(X, y)
    np.testing.assert_allclose(model.predict(Xt), reference, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("weight", [1e-12, 1e-4, 1e6])
def test_the_common_size_of_all_weights_changes_nothing(data, weight):
    X, y, Xt, _ = data
    plain = RFMRegressor(preset="fast", n_rounds=1).fit(X, y).predict(Xt)
    scaled = RFMRegressor(preset="fast", n_rounds=1).fit(X, y, sample_weight=np.full(len(X), weight)).predict(Xt)
    np.testing.assert_allclose(scaled, plain, rtol=1e-6, atol=1e-8)


def test_the_bandwidth_search_finds_more_than_the_nearest_local_minimum():
    """The leave-one-out error of a wavy target also falls towards flat kernels, where it ends at the mean."""
    rng = np.random.default_rng(0)
    X, Xt = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
    wave = lambda X: np.sin(3 * X[:, 0])  # noqa: E731
    y = wave(X) + 0.3 * rng.normal(size=300)
    model = RFMRegressor(kernel="gaussian", ridge=1e-3, n_rounds=0).fit(X, y)
    assert model.score(Xt, wave(Xt)) > 0.3


def test_a_ridge_too_small_for_float32_is_tried_in_float64():
    """A smooth target without noise is best fitted with the smallest ridge, for which float32 has no factor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, 4))
    model = RFMRegressor(kernel="matern", update="agop", n_rounds=1, select_round="last").fit(X, np.sin(X[:, 0]))
    assert all(record.ridge <= 1e-4 for record in model.rounds_)
    assert all(np.isfinite(record.loo) for record in model.rounds_)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(N, 2))
    frame = pd.DataFrame({"size": numbers[:, 0], "weight": numbers[:, 1]})
    frame["shop"] = rng.choice(["east", "north", "west"], N)
    frame["rating"] = np.where(rng.random(N) < 0.2, np.nan, rng.integers(1, 6, N))
    frame["open"] = rng.random(N) < 0.5
    y = 2 * frame["size"] + (frame["shop"] == "west") + 0.1 * rng.normal(size=N)
    return frame, y.to_numpy()


def test_the_offset_of_the_target_and_the_scale_of_a_column_of_a_frame_change_nothing(frame):
    X, y = frame
    plain = RFMRegressor(preset="fast").fit(X[:120], y[:120]).predict(X[120:])
    far = RFMRegressor(preset="fast").fit(X[:120], y[:120] + 1e6).predict(X[120:])
    np.testing.assert_allclose(far - 1e6, plain, atol=1e-6)
    wide = X.assign(weight=X["weight"] * 1e6)
    np.testing.assert_allclose(
        RFMRegressor(preset="fast").fit(wide[:120], y[:120]).predict(wide[120:]), plain, atol=1e-8
    )


@pytest.mark.parametrize("task", ["numbers", "labels"])
def test_pandas_polars_and_numpy_give_the_same_predictions(frame, task):
    polars = pytest.importorskip("polars")
    X, y = frame
    model = RFMRegressor(preset="fast") if task == "numbers" else RFMClassifier(preset="fast")
    if task == "labels":
        y = np.where(y > 0, "high", "low")
    expected = model.fit(X[:120], y[:120]).predict(X[120:])
    other = polars.DataFrame({name: X[name].tolist() for name in X}, nan_to_null=True)
    assert (model.fit(other[:120], polars.Series(y[:120].tolist())).predict(other[120:]) == expected).all()
    objects = X.astype(object).to_numpy()
    assert (model.fit(objects[:120], y[:120]).predict(objects[120:]) == expected).all()


def test_scores_differ_little_between_seeds():
    X, y = load_diabetes(return_X_y=True)
    models = [RFMRegressor(preset="fast", random_state=seed).fit(X[:150], y[:150]) for seed in range(5)]
    scores = [model.score(X[150:], y[150:]) for model in models]
    assert np.ptp(scores) < 0.06
    assert np.mean(scores) > 0.4


def test_the_number_of_jobs_changes_nothing(frame):
    X, y = frame
    one = RFMRegressor(preset="fast").fit(X, y)
    two = RFMRegressor(preset="fast", n_jobs=2).fit(X, y)
    assert (one.predict(X) == two.predict(X)).all()


def test_shrinking_keeps_the_trace_and_mixes_in_the_identity(frame):
    X, y = frame
    options = {"kernel": "laplace", "n_rounds": 1, "select_round": "last", "ridge": 1e-2}
    sharp = RFMRegressor(update=Agop(scale="trace"), **options).fit(X, y).feature_matrix_
    soft = RFMRegressor(update=Agop(scale="trace", shrink=0.5), **options).fit(X, y).feature_matrix_
    np.testing.assert_allclose(soft, 0.5 * sharp + 0.5 * np.eye(len(sharp)) / len(sharp), atol=1e-12)
