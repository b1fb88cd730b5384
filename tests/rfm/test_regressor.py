"""Behaviour of the regressor alone: the scale of targets, and intervals."""

import warnings

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.kernels import Polynomial

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + 0.5 * RNG.normal(size=400)


def test_a_constant_target_is_predicted_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RFMRegressor().fit(X[:60], np.full(60, 7.0))
    np.testing.assert_allclose(model.predict(X[:60]), 7.0)
    assert len(model.rounds_) == 1


def test_skewed_targets_are_fitted_on_another_scale_only_where_it_helps():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 3))
    y = np.exp(2 * rows[:, 0] + 0.3 * rng.normal(size=300))
    model = RFMRegressor(preset="fast").fit(rows[:200], y[:200])
    plain = RFMRegressor(preset="fast", target_transform=None).fit(rows[:200], y[:200])
    assert model.target_transform_.name == "shifted-log"
    assert plain.target_transform_.name == "none"

    def typical_error(fitted):
        return np.median(np.abs(np.log(np.maximum(fitted.predict(rows[200:]), 1e-3) / y[200:])))

    assert typical_error(model) < typical_error(plain)
    low, high = model.predict_interval(rows[200:], coverage=0.9).T
    assert 0.8 < np.mean((low <= y[200:]) & (y[200:] <= high)) <= 1
    assert RFMRegressor(preset="fast").fit(rows[:200], rows[:200, 0]).target_transform_.name == "none"
    with pytest.raises(ValueError, match="needs a positive target"):
        RFMRegressor(target_transform="log").fit(rows, rows[:, 0])


def test_targets_that_cannot_be_transformed_are_refused_in_words():
    two = np.column_stack([np.exp(Y), np.exp(-Y)])
    with pytest.raises(ValueError, match="takes a single target"):
        RFMRegressor(target_transform="shifted-log").fit(X, two)
    made = RFMRegressor(target_transform="log", preset="fast").fit(X[:60], two[:60])
    assert (made.predict(X[:5]) > 0).all()
    with pytest.raises(ValueError, match="fitted as a logarithm"):
        RFMRegressor(target_transform="log").fit(X[:60], two[:60, 0], eval_set=(X[60:70], -two[60:70, 0]))


def test_a_time_limit_ends_the_fit_with_what_is_finished():
    with pytest.warns(
        UserWarning, match=r"time limit of 1e-09 s was too short: 1 of 25 rounds of 5 candidates were screened"
    ):
        model = RFMRegressor(time_limit=1e-9).fit(X[:160], Y[:160])
    assert len(model.rounds_) == 1
    assert np.isfinite(model.predict(X)).all()


def test_a_selected_ridge_is_the_one_that_was_added(monkeypatch):
    monkeypatch.setattr("gramian.rfm.training.plan.FIVE_FOLD_ROWS", 100)
    monkeypatch.setattr("gramian.rfm.training.plan.SPLIT_ROWS", 40)
    options = {"kernel": "laplace", "update": "agop", "n_rounds": 1, "ridge": 0.01, "ridge_scaling": "n"}
    model = RFMRegressor(**options).fit(X[:120], Y[:120])
    assert (model.plan_.validation, model.plan_.refit) == ("splits", "all rows")
    machine, scaler = model.machine_, model.model_.target_scaler
    left = scaler.transform(Y[model.row_index_][:, None]) - machine.operator.matmul(machine.coef).numpy()
    np.testing.assert_allclose(left, model.ridge_ * machine.coef.numpy(), atol=1e-8)
    assert model.ridge_ == pytest.approx(1.2)


def test_bagging_averages_the_machines_of_the_folds_too():
    target = 2 * X[:160, 0] + (X[:160, 1] > 0) + 0.1 * np.random.default_rng(1).normal(size=160)
    model = RFMRegressor(preset="fast", kernel="laplace", update="agop", bagging=True).fit(X[:120], target[:120])
    assert len(model.ensemble_.machines) == 6
    assert model.score(X[120:160], target[120:]) > 0.9
    of_a_fold = model.ensemble_.machines[1]
    assert int((of_a_fold.coef == 0).all(dim=1).sum()) == 24, "a fifth of the rows was held out"


class TestHuberLoss:
    """Heavy-tailed noise: the fit follows the bulk of the rows, and intervals still describe the noise."""

    rng = np.random.default_rng(3)
    rows, new = rng.normal(size=(200, 4)), rng.normal(size=(400, 4))
    noise, later = rng.standard_cauchy(size=200), rng.standard_cauchy(size=400)

    @staticmethod
    def f(X):
        return X[:, 0] + X[:, 1] ** 2

    def error(self, model):
        return np.median(np.abs(model.predict(self.new) - self.f(self.new)))

    def test_it_is_taken_for_cauchy_noise_and_beats_the_median(self):
        y = self.f(self.rows) + self.noise
        model = RFMRegressor(preset="fast").fit(self.rows, y)
        assert model.loss_ == "huber"
        assert ("loss", "Huber's: rows far from their prediction count linearly") in model.plan_.facts()
        squared = RFMRegressor(preset="fast", loss="squared").fit(self.rows, y)
        assert squared.loss_ == "squared"
        assert "loss" not in dict(squared.plan_.facts())
        median = np.median(np.abs(np.median(y) - self.f(self.new)))
        assert self.error(model) < 0.7 * min(median, self.error(squared))
        low, high = model.predict_interval(self.new, 0.8).T
        truth = self.f(self.new) + self.later
        assert 0.7 < np.mean((low <= truth) & (truth <= high)) < 0.9

    def test_normal_noise_keeps_the_squared_loss(self):
        y = self.f(self.rows) + 0.3 * self.rng.normal(size=200)
        model = RFMRegressor(preset="fast").fit(self.rows, y)
        assert model.loss_ == "squared"
        asked = RFMRegressor(preset="fast", loss="huber").fit(self.rows, y)
        assert asked.loss_ == "huber"
        assert self.error(asked) < 2 * self.error(model)

    @pytest.mark.parametrize("options", [{"n_rounds": 1}, {"n_rounds": 0}], ids=["folds", "leave-one-out"])
    def test_errors_of_held_out_rows_are_those_of_the_targets_themselves(self, options):
        y = self.f(self.rows) + self.noise
        model = RFMRegressor(kernel="laplace", update="agop", loss="huber", **options).fit(self.rows, y)
        targets = model.model_.holdout.targets[:, 0]
        assert model.model_.holdout.source == ("folds" if options["n_rounds"] else "leave-one-out")
        np.testing.assert_allclose(np.sort(targets), np.sort(y))

    def test_an_evaluation_set_with_tails_is_compared_by_absolute_errors(self):
        y = self.f(self.rows) + self.noise
        truth = self.f(self.new) + self.later
        model = RFMRegressor(preset="fast", n_rounds=1).fit(self.rows, y, eval_set=(self.new, truth))
        expected = np.abs(model.predict(self.new) - truth).mean()
        assert model.rounds_[model.best_round_].score == pytest.approx(expected, rel=0.05)

    def test_what_it_cannot_do_is_refused_in_words(self):
        with pytest.raises(ValueError, match='loss must be "auto", "squared" or "huber", got \'mae\''):
            RFMRegressor(loss="mae").fit(X[:40], Y[:40])
        with pytest.raises(ValueError, match='loss="huber" takes a single target, and y has 2'):
            RFMRegressor(loss="huber").fit(X[:40], np.column_stack([Y, Y])[:40])


class TestClippedPredictions:
    """A straight line beyond its data: outputs go on, predictions end at half the range beyond the targets."""

    @pytest.fixture(scope="class")
    def line(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (200, 2))
        options = {"kernel": Polynomial(degree=1), "ridge": 1e-6, "n_rounds": 0}
        return X, RFMRegressor(**options).fit(X, X[:, 0]), options

    def test_scores_judge_the_predictions(self, line):
        X, model, _ = line
        rows = np.vstack([X[:50], [[30, 0], [-30, 0]]])
        y = np.r_[X[:50, 0], 1.5, -1.5]
        found = model.permutation_importances(rows, y)
        assert found.score == pytest.approx(model.score(rows, y), abs=1e-9)

    def test_an_explanation_says_that_the_prediction_is_clipped(self, line):
        _, model, _ = line
        far, near = model.explain([[40.0, 0.0], [0.5, 0.0]])
        assert far.prediction == model.predict([[40.0, 0.0]])[0] < 3
        assert far.score == pytest.approx(40, rel=1e-2)
        assert "prediction before it is clipped" in str(far)
        assert "clipped" not in str(near)
        assert far.contributions.sum() + far.gap == pytest.approx(far.score - far.reference_score)

    @pytest.mark.parametrize("metric", ["mae", "rmse"])
    def test_targets_of_an_evaluation_set_are_not_clipped(self, line, metric):
        X, _, options = line
        rows = np.random.default_rng(1).uniform(-1, 1, (100, 2))
        y = rows[:, 0] + 10
        model = RFMRegressor(**options, metric=metric).fit(X, X[:, 0], eval_set=(rows, y))
        np.testing.assert_allclose(model.model_.scored_holdout().y, y, rtol=1e-9)
        error = np.abs(model.predict(rows) - y)
        expected = error.mean() if metric == "mae" else (error**2).mean()  # rounds have the square
        assert model.rounds_[0].score == pytest.approx(expected, rel=1e-4)

    def test_intervals_cover_the_evaluation_set_that_they_were_made_from(self, line):
        X, _, options = line
        rows = np.random.default_rng(1).uniform(2.5, 4, (100, 2))
        model = RFMRegressor(**options).fit(X, X[:, 0], eval_set=(rows, rows[:, 0]))
        low, high = model.predict_interval(rows, 0.9).T
        assert np.mean((low <= rows[:, 0]) & (rows[:, 0] <= high)) >= 0.9
