"""The fitted value: an average of machines, learned features, and the function of a user's table."""

import dataclasses
import pickle

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer

from gramian import RFMClassifier, RFMRegressor
from gramian.core import psd_eigh
from gramian.kernels import Full, Gaussian, Identity, KernelOperator, Laplace, LowRank
from gramian.rfm.machine import KernelMachine, LearnedFeatures
from gramian.rfm.model import Ensemble, FittedRFM
from gramian.rfm.options import PRESETS
from small_training import make_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2]
OPTIONS = {"kernel": Laplace(2.0), "update": "agop", "n_rounds": 1, "ridge": 1e-2, "select_round": "last"}


@pytest.fixture(scope="module")
def model() -> FittedRFM:
    return RFMRegressor(**OPTIONS).fit(3 * X + 1, 10 * Y - 4).model_


@pytest.fixture(scope="module")
def thresholded() -> FittedRFM:
    return RFMRegressor(feature_threshold=0.05, **OPTIONS).fit(X, Y).model_


class TestEnsemble:
    @pytest.fixture
    def machines(self, rng):
        data = make_rows(40, weighted=True)
        return tuple(
            KernelMachine(KernelOperator(kernel, data.X), torch.randn(40, 2, generator=rng).double(), data.weights)
            for kernel in (Laplace(2.0), Gaussian(1.0))
        )

    def test_it_is_the_average_with_its_shares(self, machines):
        ensemble = Ensemble(machines, (0.3, 0.7))
        new = make_rows(10, seed=1).X
        one, other = machines
        torch.testing.assert_close(ensemble.predict(new), 0.3 * one.predict(new) + 0.7 * other.predict(new))
        torch.testing.assert_close(ensemble.gradient(new), 0.3 * one.gradient(new) + 0.7 * other.gradient(new))
        assert ensemble.best is one

    def test_its_agop_is_that_of_the_average_function(self, machines):
        ensemble = Ensemble(machines, (0.3, 0.7))
        G = ensemble.gradient(machines[0].X)
        weights = machines[0].weights
        torch.testing.assert_close(ensemble.agop, torch.einsum("n,ncd,nce->de", weights, G, G) / weights.sum())
        alone = Ensemble(machines[:1], (1.0,))
        assert torch.equal(alone.agop, machines[0].agop)

    def test_what_was_computed_on_the_way_is_no_part_of_a_pickle(self, machines):
        ensemble = Ensemble(machines, (0.3, 0.7))
        before = len(pickle.dumps(ensemble))
        _ = ensemble.agop
        assert len(pickle.dumps(ensemble)) == before


class TestFeatures:
    @pytest.mark.parametrize("form", [LowRank, lambda B: Full.of(B @ B.mT)])
    def test_eigenvectors_and_eigenvalues_rebuild_the_matrix(self, form):
        B = RNG.normal(size=(5, 2))
        metric = form(torch.from_numpy(B))
        features = LearnedFeatures.of(metric, None)
        values, vectors = features.eigen
        assert len(values) == 2
        assert (np.diff(values) <= 0).all()
        np.testing.assert_allclose(vectors.T @ np.diag(values) @ vectors, B @ B.T, atol=1e-12)
        np.testing.assert_allclose(values, psd_eigh(torch.from_numpy(B @ B.T))[0][:2])

    def test_values_are_put_at_the_columns_in_use(self):
        features = LearnedFeatures.of(Identity(3), torch.tensor([True, False, True]))
        assert features.expand(np.array([[1.0, 2.0]])).tolist() == [[1.0, 0.0, 2.0]]
        assert LearnedFeatures.of(Identity(2), None).support.tolist() == [True, True]


class TestFunction:
    def test_outputs_are_in_the_units_of_the_target(self, model):
        new = RNG.normal(size=(5, 4))
        Z = model.preprocessing.transform(new)
        scaled = model.ensemble.predict(torch.from_numpy(Z)).numpy()
        expected = scaled * model.target_scaler.scale + model.target_scaler.center
        np.testing.assert_allclose(model.outputs(new), expected)
        np.testing.assert_allclose(model.outputs_at(Z), expected)

    def test_gradients_are_those_of_the_outputs(self, model):
        Z = RNG.normal(size=(4, 4))
        step = 1e-5 * np.eye(4)
        numeric = np.stack([(model.outputs_at(Z + h) - model.outputs_at(Z - h)) / 2e-5 for h in step], axis=2)
        np.testing.assert_allclose(model.gradients_at(Z), numeric, rtol=1e-4, atol=1e-5)

    def test_the_mean_gradient_gives_the_difference_of_two_rows(self, model):
        start, end = RNG.normal(size=(2, 4))
        mean = model.mean_gradient(start, end, 0, 200)
        difference = (model.outputs_at(end[None]) - model.outputs_at(start[None]))[0, 0]
        assert mean @ (end - start) == pytest.approx(difference, rel=1e-2, abs=1e-2)

    def test_several_models_predict_together(self):
        A, y = load_breast_cancer(return_X_y=True)
        classifier = RFMClassifier(n_rounds=1).fit(A[:120], y[:120])
        ensemble = classifier.ensemble_
        assert sum(ensemble.shares) == pytest.approx(1)
        assert len(ensemble.machines) <= PRESETS["default"].max_members
        assert classifier.machine_ is ensemble.machines[0]
        model = classifier.model_
        Z = model.tensor(model.preprocessing.transform(A[200:203]))
        each = [share * machine.predict(Z) for machine, share in zip(ensemble.machines, ensemble.shares, strict=True)]
        outputs = sum(each).numpy() * model.target_scaler.scale + model.target_scaler.center
        np.testing.assert_allclose(outputs[:, 0], classifier.decision_function(A[200:203]), atol=1e-8)

    def test_the_similarity_of_a_centre_with_itself_is_1(self, model):
        z = model.machine.X[3].numpy()
        assert model.similarity(z, np.array([3]))[0] == pytest.approx(1)

    def test_columns_that_are_not_in_use_have_no_gradient(self, thresholded):
        unused = ~thresholded.features.support
        assert unused.any()
        assert not thresholded.gradients_at(RNG.normal(size=(3, 4)))[:, :, unused].any()
        assert not thresholded.agop[unused].any()
        assert thresholded.agop.shape == (4, 4)

    def test_centres_are_returned_with_all_columns(self, model, thresholded):
        Z, weights = model.center_rows()
        np.testing.assert_allclose(Z, model.machine.X.numpy())
        assert (weights == 1).all()
        few, _ = model.center_rows(10)
        assert few.shape == (10, 4)
        np.testing.assert_array_equal(few, model.center_rows(10)[0])
        assert not thresholded.center_rows()[0][:, ~thresholded.features.support].any()
        np.testing.assert_allclose(model.mean_row(), np.zeros(4), atol=1e-12)


class TestValue:
    def test_it_is_frozen(self, model):
        with pytest.raises(dataclasses.FrozenInstanceError):
            model.temperature = 1.0

    def test_a_pickle_predicts_the_same_bits_and_holds_nothing_that_was_computed_on_the_way(self, model):
        before = len(pickle.dumps(model))
        _ = model.agop, model.holdout, model.features.eigen
        payload = pickle.dumps(model)
        assert len(payload) == before
        assert np.array_equal(pickle.loads(payload).outputs(X), model.outputs(X))

    def test_holdout_predictions_are_scored_in_the_users_terms(self, model):
        scored = model.scored_holdout()
        np.testing.assert_allclose(np.sort(scored.y), np.sort(10 * Y - 4))
        assert scored.predicted.shape == (80,)
        assert scored.probabilities is None
        labels = np.where(Y > 0, "up", "down")
        classified = RFMClassifier(**OPTIONS | {"select_round": "best"}).fit(X, labels).model_.scored_holdout()
        assert set(classified.y) == set(classified.predicted) == {"up", "down"}
        np.testing.assert_allclose(classified.probabilities.sum(axis=1), 1)
        assert classified.source == "folds"

    def test_a_regression_has_no_classes_and_no_link(self, model):
        assert model.classes is None
        assert model.fitted_link is None

    @pytest.mark.parametrize("classes", [2, 3])
    def test_a_model_without_a_link_fits_it_to_its_holdout_predictions(self, classes):
        fitted = RFMClassifier(**OPTIONS).fit(X, np.digitize(Y, np.quantile(Y, np.arange(1, classes) / classes))).model_
        again = dataclasses.replace(fitted, fitted_link=None)
        assert fitted.fitted_link is not None
        assert again.link == fitted.link == fitted.fitted_link

    def test_a_large_table_is_predicted_in_batches(self, model, monkeypatch):
        whole = model.outputs(X)
        monkeypatch.setattr("gramian.rfm.model._BATCH_ROWS", 7)
        assert np.array_equal(model.outputs(X), whole)
