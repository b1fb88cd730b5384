"""Reliability: bins, shares and intervals, by equality with a loop over rows."""

import numpy as np
import pytest
from scipy.stats import binomtest

from gramian import RFMClassifier
from gramian.rfm.uncertainty.calibration import probability_losses
from gramian.rfm.uncertainty.reliability import reliability

RNG = np.random.default_rng(0)
P = RNG.dirichlet([1.0, 1.0, 1.0], size=400)
LABELS = np.array([RNG.choice(3, p=p) for p in P])


def test_it_equals_a_loop_over_rows():
    found = reliability(P, LABELS, np.ones(400), bins=5)
    bins: dict[int, list[tuple[float, bool]]] = {}
    for p, label in zip(P, LABELS, strict=True):
        bins.setdefault(min(int(p.max() * 5), 4), []).append((p.max(), p.argmax() == label))
    for at, key in enumerate(sorted(bins)):
        sure, right = zip(*bins[key], strict=True)
        assert found.confidence[at] == pytest.approx(np.mean(sure))
        assert found.accuracy[at] == pytest.approx(np.mean(right))
        assert found.count[at] == pytest.approx(len(right))
        interval = binomtest(sum(right), len(right)).proportion_ci(0.9, "wilson")
        assert (found.low[at], found.high[at]) == pytest.approx((interval.low, interval.high))


def test_the_error_equals_that_of_the_losses():
    weights = RNG.uniform(0.5, 2, size=400)
    losses = probability_losses(np.log(P), LABELS, weights, bins=10)
    assert reliability(P, LABELS, weights, bins=10).error == pytest.approx(losses["calibration_error"])


def test_weights_have_no_unit():
    weights = RNG.uniform(0.5, 2, size=400)
    one, two = (reliability(P, LABELS, scale * weights) for scale in (1, 1000))
    for name in ("confidence", "accuracy", "low", "high", "count"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name))


def test_a_row_of_several_copies_is_as_many_rows():
    p, labels, counts = RNG.dirichlet(np.ones(3), size=40), RNG.integers(0, 3, size=40), RNG.integers(1, 6, size=40)
    one = reliability(p, labels, 0.5 * counts, copies=counts.astype(float))
    other = reliability(p.repeat(counts, axis=0), labels.repeat(counts), np.ones(counts.sum()))
    for name in ("confidence", "accuracy", "low", "high", "count"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12)


def test_correct_predictions_alone_leave_an_interval():
    p = np.array([[0.9, 0.1]] * 4)
    found = reliability(p, np.zeros(4, dtype=int), np.ones(4))
    assert found.accuracy.tolist() == [1.0]
    assert found.high.tolist() == [1.0]
    assert found.low[0] < 0.8


def test_certain_rows_belong_to_the_last_bin():
    found = reliability(np.array([[1.0, 0.0], [0.95, 0.05]]), np.array([0, 0]), np.ones(2))
    assert len(found.count) == 1


@pytest.fixture(scope="module")
def model():
    X = RNG.normal(size=(150, 3))
    return RFMClassifier(preset="fast", n_rounds=1).fit(X, np.where(X[:, 0] + RNG.normal(size=150) > 0, "b", "a"))


def test_held_out_rows_are_those_of_the_losses(model):
    found = model.reliability()
    assert found.source == "folds"
    assert found.error == pytest.approx(model.held_out_losses_["calibration_error"])


def test_new_rows_are_scored_with_their_labels(model):
    X = RNG.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "b", "a")
    found = model.reliability(X, y, bins=1)
    assert found.source == "new rows"
    assert found.accuracy[0] == pytest.approx(model.score(X, y))
    assert "calibration error" in str(found)
    assert len(found.to_pandas()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"X": np.zeros((2, 3))}, "X and y must be given"),
        ({"bins": 0}, "bins must"),
        ({"level": 1.0}, "level"),
    ],
)
def test_bad_arguments_are_named(model, arguments, words):
    with pytest.raises(ValueError, match=words):
        model.reliability(**arguments)


def test_rows_and_labels_of_unequal_lengths_are_refused(model):
    with pytest.raises(ValueError, match="X and y must have as many rows, got 3 and 2"):
        model.reliability(np.ones((3, 3)), ["a", "b"])
