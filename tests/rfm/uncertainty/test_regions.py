"""Sets and intervals from outputs: a naive conformal quantile, row by row."""

import math

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.rfm.uncertainty.regions import class_sets, interval_reach
from quick_models import QUICK


def naive_quantile(scores, coverage):
    place = math.ceil((len(scores) + 1) * coverage - 1e-9)
    return sorted(scores)[place - 1] if place <= len(scores) else math.inf


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, X[:, 0] + 0.5 * rng.normal(size=80)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.999])
def test_the_reach_is_the_quantile_of_errors_on_held_out_rows(rows, coverage):
    X, y = rows
    model = RFMRegressor(**QUICK).fit(X, y).fitted()
    pairs = zip(model.holdout.outputs[:, 0], model.holdout.targets[:, 0], strict=True)
    errors = [abs(float(a) - float(b)) for a, b in pairs]
    assert interval_reach(model, coverage) == pytest.approx([naive_quantile(errors, coverage)])


@pytest.mark.parametrize("coverage", [0.5, 0.8])
def test_a_set_holds_the_classes_that_are_likely_enough(rows, coverage):
    X, y = rows
    estimator = RFMClassifier(**QUICK).fit(X, np.digitize(y, [-0.5, 0.5]))
    model, shares = estimator.fitted(), estimator.predict_proba(X[:9])
    held = np.exp(model.log_probabilities(model.holdout.outputs))
    true = model.holdout.targets.argmax(axis=1)
    limit = naive_quantile([1 - held[i, k] for i, k in enumerate(true)], coverage)
    expected = [[bool(1 - p <= limit) for p in row] for row in shares]
    assert class_sets(model, shares, coverage).tolist() == expected


def test_a_coverage_must_be_a_share(rows):
    X, y = rows
    model = RFMRegressor(**QUICK).fit(X, y).fitted()
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        interval_reach(model, 1.0)
