"""Behaviour of the classifier alone: classes and their weights, probabilities, prediction sets."""

import re
import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris, make_friedman1

from gramian import RFMClassifier
from gramian.kernels import Laplace
from gramian.solvers import Direct

QUICK = {"preset": "fast", "n_rounds": 1}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
LABELS = (X[:, 0] + 0.5 * RNG.normal(size=400) > 0).astype(int)


def test_one_class_is_refused():
    labels = np.where(LABELS[:60], "yes", "no")
    with pytest.raises(ValueError, match="one class only"):
        RFMClassifier().fit(X[:60], np.zeros(60))
    with pytest.raises(ValueError, match="one class only"):
        RFMClassifier().fit(X[:60], labels, sample_weight=labels == "yes")


def test_a_failed_fit_leaves_the_classes_as_they_were():
    model = RFMClassifier(preset="fast", n_rounds=1).fit(X[:60], LABELS[:60])
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X[:60], np.zeros(60))
    assert len(model.predict(X[60:65])) == 5


def test_balanced_weights_raise_the_rare_class():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(300, 2))
    rare = (rows[:, 0] + rng.normal(size=300) > 1.8).astype(int)
    plain = RFMClassifier(preset="fast").fit(rows, rare)
    balanced = RFMClassifier(preset="fast", class_weight="balanced").fit(rows, rare)
    assert balanced.predict(rows).mean() > plain.predict(rows).mean()
    with pytest.raises(ValueError, match="class_weight must be"):
        RFMClassifier(class_weight="fair").fit(rows, rare)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1, 0, "2", None])
def test_class_weights_are_positive_numbers(weight):
    y = np.arange(40) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=re.escape(f"class_weight[0] must be a positive number, got {weight!r}")):
            RFMClassifier(class_weight={0: weight, 1: 1}).fit(np.arange(40.0)[:, None], y)


def test_prediction_sets_cover_and_shrink_with_less_coverage():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(500, 2))
    y = rng.binomial(1, 1 / (1 + np.exp(-2 * rows[:, 0])))
    model = RFMClassifier(preset="fast").fit(rows[:250], y[:250])
    wide, narrow = (model.predict_set(rows[250:], coverage) for coverage in (0.95, 0.7))
    assert (narrow <= wide).all()
    assert wide[np.arange(250), y[250:]].mean() > 0.9
    assert 0.6 < narrow[np.arange(250), y[250:]].mean() < 0.8
    losses = model.held_out_losses_
    assert losses["log_loss"] < np.log(2)
    assert losses["calibration_error"] < 0.15
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        model.predict_set(rows, 95)


def test_class_weights_do_not_change_the_coverage_of_sets():
    model = RFMClassifier(preset="fast", class_weight={0: 1, 1: 50}).fit(X[:200], LABELS[:200])
    sets = model.predict_set(X[200:], coverage=0.8)
    assert 0.7 < sets[np.arange(200), LABELS[200:]].mean() <= 0.95


def test_the_unit_of_weights_does_not_change_the_link():
    plain = RFMClassifier(preset="fast").fit(X[:100], LABELS[:100])
    small = RFMClassifier(preset="fast").fit(X[:100], LABELS[:100], sample_weight=np.full(100, 0.01))
    np.testing.assert_allclose(small.predict_proba(X[100:]), plain.predict_proba(X[100:]), atol=0.02)


def test_labels_of_any_type():
    A, y = load_iris(return_X_y=True)
    reference = RFMClassifier(**QUICK).fit(A, y)
    assert reference.classes_.tolist() == [0, 1, 2]
    for labels in (np.array(["z", "a", "m"])[y], y + 7, y.astype(float) - 1, np.array([True, False, False])[y]):
        model = RFMClassifier(**QUICK).fit(A, labels)
        assert set(model.predict(A)) == set(labels)
        assert model.score(A, labels) > 0.9
    with pytest.raises(ValueError, match=r"Unknown label type|continuous"):
        RFMClassifier().fit(A, y + 0.5)


def test_probabilities_sum_to_1_and_agree_with_predictions():
    A, y = load_iris(return_X_y=True)
    for labels in (y, y == 1):
        model = RFMClassifier(**QUICK).fit(A[::2], labels[::2])
        p = model.predict_proba(A[1::2])
        np.testing.assert_allclose(p.sum(1), 1)
        np.testing.assert_allclose(np.log(p), model.predict_log_proba(A[1::2]))
        assert (model.classes_[p.argmax(1)] == model.predict(A[1::2])).all()
        decision = model.decision_function(A[1::2])
        assert decision.shape == ((75,) if len(model.classes_) == 2 else (75, 3))
        truth = labels[1::2].astype(int)
        log_loss = -np.log(p[np.arange(75), truth]).mean()
        assert log_loss < 0.3  # a coin or die has 0.69 and 1.10
        scores = decision[:, None] if len(model.classes_) == 2 else decision
        np.testing.assert_allclose(model.link_.log_probabilities(scores), np.log(p), rtol=1e-6, atol=1e-9)


def test_probabilities_of_few_rows_are_not_extreme():
    A = np.linspace(-1, 1, 12)[:, None]
    p = RFMClassifier(n_rounds=0).fit(A, A[:, 0] > 0).predict_proba(A)
    assert 0.6 < p.max() < 0.999


def test_calibration_keeps_to_the_budget_and_the_threads(monkeypatch):
    A, y = make_friedman1(n_samples=1200, random_state=0)
    seen = []
    real = Direct.loo

    def watched(self, operator, *args, **kwargs):
        seen.append((self.bytes_needed(operator.n, operator.dtype), operator.max_bytes, torch.get_num_threads()))
        return real(self, operator, *args, **kwargs)

    monkeypatch.setattr(Direct, "loo", watched)
    model = RFMClassifier(kernel=Laplace(3.0), ridge=1e-2, n_rounds=0, max_memory="14MB", n_threads=1)
    with pytest.warns(UserWarning, match="conjugate gradients"):
        model.fit(A, y > y.mean())
    ((needed, allowed, threads),) = seen
    assert needed <= allowed
    assert threads == 1
    assert model.score(A, y > y.mean()) > 0.8
