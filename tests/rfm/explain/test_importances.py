"""Importances with intervals: shares of the AGOP, refitted or resampled over rows, folded to the user's columns."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from jaxtyping import config

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian, Laplace, Polynomial
from gramian.rfm.explain import feature_importances, importances, squared_gradients, top_columns
from gramian.rfm.explain.permutation import permuted_columns
from gramian.rfm.explain.refits import refit_on_parts
from gramian.rfm.model import Ensemble

QUICK = {"preset": "fast", "n_rounds": 1, "select_round": "last", "update": "agop", "ridge": 1e-2, "dtype": "float64"}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, 2 * X[:, 1] + np.sin(2 * X[:, 3]), rng.integers(1, 4, size=90).astype(float)


@pytest.fixture(scope="module")
def model(data):
    X, y, weights = data
    return RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X, y, sample_weight=weights)


def test_shares_are_the_diagonal_of_the_agop(data, model):
    X, y, _ = data
    three = RFMClassifier(kernel=Laplace(3.0), **QUICK).fit(X, np.digitize(y, [-1, 1]))
    many = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X, np.stack([y, 100 * X[:, 0]], axis=1))
    for fitted in (model, three, many):
        np.testing.assert_allclose(fitted.importances().shares, fitted.feature_importances_, rtol=1e-9)


def test_an_ensemble_has_shares_of_its_own_agop(data):
    X, y, _ = data
    one, other = (RFMRegressor(kernel=kernel, **QUICK).fit(X, y).model_ for kernel in (Laplace(3.0), Gaussian(3.0)))
    average = replace(one, ensemble=Ensemble((one.machine, other.machine), (0.5, 0.5)))
    np.testing.assert_allclose(importances(average).shares, feature_importances(average), rtol=1e-9)


def test_intervals_given_this_fit_equal_a_naive_bootstrap(model):
    found = model.importances("given this fit", n_resamples=4000, level=0.8)
    squares = squared_gradients(model.model_)
    rng = np.random.default_rng(1)
    naive = []
    for _ in range(4000):
        total = squares[rng.integers(len(squares), size=len(squares))].sum(axis=0)
        naive.append(total / total.sum())
    low, high = np.quantile(naive, [0.1, 0.9], axis=0)
    width = (high - low).max()
    np.testing.assert_allclose(found.low, low, atol=0.06 * width)
    np.testing.assert_allclose(found.high, high, atol=0.06 * width)


def test_a_wider_level_contains_a_narrower_one_and_the_seed_fixes_both(model):
    narrow, wide = model.importances(level=0.5), model.importances(level=0.95)
    assert (wide.low <= narrow.low).all()
    assert (narrow.high <= wide.high).all()
    assert wide.shares.sum() == pytest.approx(1)
    np.testing.assert_array_equal(model.importances().low, model.importances().low)
    assert (model.importances(random_state=1).low != model.importances().low).any()


def test_a_constant_gradient_has_no_uncertainty(data):
    X, y, _ = data
    model = RFMRegressor(kernel=Polynomial(1), **QUICK | {"n_rounds": 0}).fit(X, y)
    given = model.importances("given this fit")
    np.testing.assert_allclose(given.high - given.low, 0, atol=1e-12)
    refitted = model.importances("refits")
    assert (refitted.high[given.shares > 0.1] - refitted.low[given.shares > 0.1] > 0.01).all()  # another fit differs


def test_columns_are_ordered_and_named(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    model = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(pd.DataFrame(X, columns=list("abcd")), y)
    found = model.importances()
    table = found.to_pandas()
    assert table.index.tolist()[:2] == ["b", "d"]
    assert table["share"].is_monotonic_decreasing
    assert (table["low"] <= table["high"]).all()
    text = str(found)
    assert text.index("\nb ") < text.index("\nd ")
    assert "share of sensitivity" in text


def test_a_constant_function_has_equal_shares(data):
    X, _, _ = data
    found = (
        RFMRegressor(preset="fast", kernel=Laplace(3.0), n_rounds=0, ridge=1.0).fit(X, np.ones(len(X))).importances()
    )
    np.testing.assert_allclose(found.shares, 0.25)
    assert "25.0%" in str(found)


def test_columns_below_the_feature_threshold_have_no_share(data):
    X, y, _ = data
    model = RFMRegressor(kernel=Laplace(3.0), feature_threshold=0.2, **QUICK).fit(X, y)
    assert 0 < model.support_.sum() < 4
    found = model.importances()
    assert not found.shares[~model.support_].any()
    assert not found.high[~model.support_].any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_resamples": 1}, "n_resamples must be an integer of at least 2, got 1"),
        ({"level": 90}, "level must be between 0 and 1"),
        ({"interval": "bootstrap"}, 'interval must be "auto", "refits" or "given this fit", got'),
    ],
)
def test_bad_arguments_are_named(model, options, words, monkeypatch):
    monkeypatch.setattr(config, "jaxtyping_disable", True)  # wrong types reach our own check, as outside the tests
    with pytest.raises(ValueError, match=words):
        model.importances(**options)


class TestRefits:
    def test_the_result_says_which_interval_it_has(self, model):
        assert model.importances().interval == "refits"
        assert "90% of refits" in str(model.importances())
        given = model.importances("given this fit")
        assert given.interval == "given this fit"
        assert "given this fit" in str(given)
        assert given.permutation is None

    def test_they_are_wider_than_those_given_the_fit(self, model):
        refits, given = model.importances(), model.importances("given this fit")
        important = refits.shares > 0.05
        assert ((refits.high - refits.low) > (given.high - given.low))[important].all()
        assert (refits.low <= refits.shares).all()
        assert (refits.shares <= refits.high).all()

    def test_the_interval_is_the_formula_of_the_docstring(self, model):
        found = model.importances(n_resamples=6, level=0.8)
        refits = refit_on_parts(model.model_, 6, permuted_columns(model.model_), found.groups, 0)
        m, n = refits.fitted_rows, refits.n_rows
        sigma = np.mean((np.sqrt(refits.shares) - np.sqrt(refits.member_shares[0])) ** 2, axis=0)
        tau = (np.sqrt(refits.member_shares[0]) - np.sqrt(found.shares)) ** 2
        half = scipy.stats.t.ppf(0.9, 5) * np.sqrt(sigma * 2 * m / (n - m) + tau)
        np.testing.assert_allclose(found.low, np.maximum(np.sqrt(found.shares) - half, 0) ** 2)
        np.testing.assert_allclose(found.high, np.minimum((np.sqrt(found.shares) + half) ** 2, 1))

    def test_a_model_that_cannot_be_refitted_says_why(self, model):
        small = model.compressed(30)
        found = small.importances()
        assert found.interval == "given this fit"
        assert "since the model was compressed" in str(found).replace("\n", " ")
        with pytest.raises(ValueError, match="the model cannot be refitted, since the model was compressed"):
            small.importances("refits")

    def test_fits_to_other_rows_are_within_the_interval_in_most_cases(self):
        """Coverage on fresh rows, of a procedure without a choice of kernels: nominal 90 %, and 7 for a fixed fit."""
        rng = np.random.default_rng(0)

        def fit():
            X = rng.normal(size=(120, 5))
            y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=120)
            return RFMRegressor(preset="fast", kernel=Laplace(), update="agop", n_rounds=2).fit(X, y)

        models = [fit() for _ in range(8)]
        inside = {"refits": [], "given this fit": []}
        for one, other in itertools.pairwise(models):
            for kind, found in inside.items():
                result, share = one.importances(kind), other.feature_importances_
                found += ((result.low <= share) & (share <= result.high))[result.shares > 0.02].tolist()
        assert np.mean(inside["refits"]) > 0.8
        assert np.mean(inside["given this fit"]) < 0.5


@pytest.fixture(scope="module")
def found():
    """Importances of a table in which c is a function of a."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.exp(X[:, 0]), "d": X[:, 2]})
    return RFMRegressor(preset="fast", n_rounds=1).fit(frame, X[:, 0] + 0.3 * X[:, 1]).importances()


class TestGroups:
    def test_correlated_columns_are_one_group_with_the_sum_of_their_shares(self, found):
        assert found.groups == ((0, 2),)
        assert found.group_shares[0] == pytest.approx(found.shares[0] + found.shares[2])
        assert found.group_low[0] <= found.group_shares[0] <= found.group_high[0]
        table = found.groups_to_pandas()
        assert table["columns"][0] == ("a", "c")
        assert table["permutation"][0] == found.permutation.group_drop[0]

    def test_permuting_a_group_loses_more_than_permuting_one_of_its_columns(self, found):
        assert found.permutation.group_drop[0] > max(found.permutation.drop[0], found.permutation.drop[2])

    def test_they_are_displayed(self, found):
        assert "correlated columns together" in str(found)
        assert "a, c" in str(found)
        assert len(repr(found).splitlines()) <= 10


class TestTopColumns:
    def test_they_are_in_the_order_of_the_table(self, model):
        assert [sorted(model.importances().order[:k]) for k in (1, 2, 3, 4)] == [
            top_columns(model.model_, k) for k in (1, 2, 3, 4)
        ]

    def test_a_refit_uses_the_most_important_columns(self, data, model):
        X, y, _ = data
        small = model.refit_on_top_columns(X, y, k=2)
        assert small.selected_columns_ == ("x1", "x3")
        expected = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X[:, [1, 3]], y)
        np.testing.assert_array_equal(small.predict(X[:5, [1, 3]]), expected.predict(X[:5, [1, 3]]))

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_keep_their_column_names(self, data, library):
        frames = pytest.importorskip(library)
        X, y, _ = data
        frame = frames.DataFrame({name: X[:, j] for j, name in enumerate("abcd")})
        small = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(frame, y).refit_on_top_columns(frame, y, k=2)
        assert small.selected_columns_ == ("b", "d")
        assert small.feature_names_in_.tolist() == ["b", "d"]

    def test_weights_reach_the_fit(self, data, model):
        X, y, weights = data
        weighted, plain = (
            model.refit_on_top_columns(X, y, 2, sample_weight=weights),
            model.refit_on_top_columns(X, y, 2),
        )
        assert weighted.machine_.weights is not None
        assert plain.machine_.weights is None

    def test_k_is_checked(self, data, model):
        X, y, _ = data
        for k in (0, 5):
            with pytest.raises(ValueError, match=f"k must be a number of columns, 1 to 4, got {k}"):
                model.refit_on_top_columns(X, y, k=k)
