"""Predictions for held-out rows are those of models that were not fitted to these rows."""

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor, load
from gramian.kernels import Gaussian
from gramian.rfm.uncertainty.holdout import leave_one_out
from gramian.tables.scaling import Scaler
from small_training import exact_machine, make_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + 0.5 * RNG.normal(size=400)


def test_intervals_of_a_thresholded_machine_are_its_own():
    options = {"kernel": "laplace", "update": "agop", "n_rounds": 1}
    model = RFMRegressor(feature_threshold=0.3, **options).fit(X[:80], Y[:80])
    assert model.model_.holdout.source == "leave-one-out"
    low, high = model.predict_interval(X[80:], coverage=0.9).T
    assert 0.8 < np.mean((low <= Y[80:]) & (Y[80:] <= high)) < 0.98


def test_a_threshold_works_where_no_features_were_learned():
    model = RFMRegressor(kernel="laplace", n_rounds=0, feature_threshold=0.3).fit(X[:80], Y[:80])
    assert model.support_.tolist() == [True, False, False, False]


def test_left_out_outputs_are_those_of_a_fit_without_the_row():
    options = {"kernel": "laplace", "n_rounds": 0, "ridge": 0.1, "standardize": False, "fit_intercept": False}
    model = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(X[:30], Y[:30])
    held_out = leave_one_out(model.machine_, model.ridge_, model.model_.target_scaler)
    brute = {}
    for i in range(30):
        keep = np.arange(30) != i
        fitted = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(X[:30][keep], Y[:30][keep])
        brute[round(Y[i], 9)] = float(fitted.predict(X[i : i + 1])[0])
    for target, output in zip(held_out.targets[:, 0], held_out.outputs[:, 0], strict=True):
        assert output == pytest.approx(brute[round(target, 9)], abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_a_machine_is_a_machine_without_the_row(weighted):
    data = make_rows(25, weighted=weighted)
    machine, _ = exact_machine(data, Gaussian(1.5), 0.1)
    found = leave_one_out(machine, 0.1, Scaler(np.zeros(1), np.ones(1)))
    assert found.source == "leave-one-out"
    for target, output, weight in zip(found.targets[:, 0], found.outputs[:, 0], found.weights, strict=True):
        at = int((data.Y[:, 0] - target).abs().argmin())
        rest = torch.arange(25) != at
        alone, _ = exact_machine(data[rest], Gaussian(1.5), 0.1)
        assert output == pytest.approx(float(alone.predict(data.X[at : at + 1])), abs=1e-8)
        assert weight == pytest.approx(1.0 if data.weights is None else float(data.weights[at]))


def test_leave_one_out_of_many_rows_uses_a_part_that_fits_into_memory(monkeypatch):
    monkeypatch.setattr("gramian.rfm.uncertainty.holdout._LEFT_OUT_ROWS", 10)
    monkeypatch.setattr("gramian.rfm.uncertainty.holdout._SYSTEM_ROWS", 40)
    data = make_rows(60)
    machine, _ = exact_machine(data, Gaussian(1.5), 0.1)
    found = leave_one_out(machine, 0.1, Scaler(np.zeros(1), np.ones(1)))
    assert len(found.outputs) == 10
    assert set(np.round(found.targets[:, 0], 8)) <= set(np.round(data.Y[:, 0].numpy(), 8))


@pytest.mark.parametrize(("n_rounds", "source"), [(1, "folds"), (0, "leave-one-out")])
def test_the_weights_are_those_of_rows_as_they_occur(n_rounds, source):
    """Class weights change the fit, and not the rows that coverage and losses refer to."""
    options = {"kernel": Gaussian(2.0), "update": "agop", "ridge": 0.1, "n_rounds": n_rounds}
    model = RFMClassifier(class_weight={0: 1.0, 1: 50.0}, **options).fit(X[:60], (Y[:60] > 0).astype(int)).model_
    assert model.holdout.source == source
    np.testing.assert_allclose(model.holdout.weights, np.ones(60))


class TestCopies:
    """Rows that are in the table several times: one copy is left out, and the others stay."""

    counts = np.arange(12) % 4 + 1
    owner = np.repeat(np.arange(12), counts)

    @pytest.mark.parametrize("weight", [1.0, 0.5, 20.0])
    def test_left_out_outputs_are_those_of_a_fit_without_one_copy(self, weight):
        options = {"kernel": "laplace", "ridge": 0.1 * weight, "standardize": False, "fit_intercept": False}
        rows, targets = X[self.owner], Y[self.owner]
        model = RFMRegressor(n_rounds=0, **options).set_params(kernel__bandwidth=2.0)
        model.fit(rows, targets, sample_weight=np.full(len(rows), weight))
        held_out = model.model_.holdout
        assert held_out.source == "leave-one-out"
        assert sorted(held_out.copies) == sorted(self.counts)
        scale = float(model.model_.target_scaler.scale[0])
        K = np.exp(-np.linalg.norm(rows[:, None] - rows[None], axis=2) / 2)
        for target, output, copies in zip(held_out.targets[:, 0], held_out.outputs[:, 0], held_out.copies, strict=True):
            (first, *others) = np.flatnonzero(np.isclose(targets, target))
            assert copies == 1 + len(others)
            rest = np.arange(len(rows)) != first
            coef = np.linalg.solve(K[np.ix_(rest, rest)] + 0.1 * np.eye(len(rows) - 1), targets[rest] / scale)
            assert output == pytest.approx(float(K[first, rest] @ coef) * scale, abs=1e-8)

    def test_copies_of_different_importance_are_left_out_with_their_mean(self):
        """The output is between those of a fit without the least and without the most important copy."""
        rows, targets = X[self.owner], Y[self.owner]
        weights = np.random.default_rng(5).uniform(0.5, 1.5, size=len(rows))
        options = {"kernel": "laplace", "ridge": 0.1, "standardize": False, "fit_intercept": False, "n_rounds": 0}
        model = RFMRegressor(**options).set_params(kernel__bandwidth=2.0).fit(rows, targets, sample_weight=weights)
        K = np.exp(-np.linalg.norm(rows[:, None] - rows[None], axis=2) / 2)
        held_out = model.model_.holdout
        for target, output in zip(held_out.targets[:, 0], held_out.outputs[:, 0], strict=True):
            naive = []
            for i in np.flatnonzero(np.isclose(targets, target)):
                rest = np.arange(len(rows)) != i
                A = K[np.ix_(rest, rest)] + 0.1 * np.diag(1 / weights[rest])
                naive.append(float(K[i, rest] @ np.linalg.solve(A, targets[rest])))
            assert min(naive) - 1e-9 <= output <= max(naive) + 1e-9

    @pytest.mark.parametrize("n_rounds", [0, 1])
    @pytest.mark.parametrize("weight", [None, 1.0, 0.5, 20.0])
    def test_probabilities_are_the_shares_of_the_cells(self, n_rounds, weight):
        rng = np.random.default_rng(3)
        cells = rng.integers(0, 2, size=(400, 1)).astype(float)
        labels = (rng.random(400) < 0.2 + 0.5 * cells[:, 0]).astype(int)
        weights = None if weight is None else np.full(400, weight)
        model = RFMClassifier(preset="fast", n_rounds=n_rounds).fit(cells, labels, sample_weight=weights)
        shares = [labels[cells[:, 0] == cell].mean() for cell in (0, 1)]
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], shares, atol=0.03)
        assert model.reliability().count.sum() == pytest.approx(400)
        assert model.reliability().error < 0.05

    @pytest.mark.parametrize("n_rounds", [0, 1])
    def test_a_common_weight_changes_nothing(self, n_rounds):
        rng = np.random.default_rng(4)
        cells = rng.integers(0, 3, size=(200, 2)).astype(float)
        target = cells[:, 0] + rng.integers(0, 2, size=200)
        one, *others = (
            RFMRegressor(preset="fast", n_rounds=n_rounds).fit(cells, target, sample_weight=weights)
            for weights in (None, np.full(200, 0.5), np.full(200, 20.0))
        )
        for other in others:
            np.testing.assert_allclose(other.predict_interval(cells), one.predict_interval(cells), rtol=1e-9)

    def test_constant_columns_leave_the_class_frequencies(self):
        labels = np.arange(40) % 4 == 0
        p = RFMClassifier().fit(np.ones((40, 2)), labels).predict_proba(np.ones((1, 2)))
        np.testing.assert_allclose(p, [[0.75, 0.25]], atol=0.02)

    def test_intervals_of_a_stored_model_leave_out_one_copy(self, tmp_path):
        rows, targets = X[self.owner], Y[self.owner] + 1e-9
        model = RFMRegressor(kernel="laplace", n_rounds=0, ridge=0.1).fit(rows, targets)
        model.save(tmp_path / "model.gramian")
        same = load(tmp_path / "model.gramian")
        assert np.array_equal(same.predict_interval(rows, 0.8), model.predict_interval(rows, 0.8))
        assert np.array_equal(same.model_.copies, model.model_.copies)

    def test_stages_know_the_copies(self):
        model = RFMRegressor(kernel="laplace", update="agop", n_rounds=1, ridge=0.1)
        last = list(model.stages(model.prepare(X[self.owner], Y[self.owner])))[-1]
        assert sorted(last.model_.holdout.copies) == sorted(self.counts)
