"""A table, and models of it."""

import numpy as np
import pytest

from gramian import RFMClassifier
from gramian.kernels import Laplace
from rfm.explain.models import QUICK, quick


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)) * [1, 2, 30, 0.1, 1] + [0, 5, 100, 0, -3]
    y = 50 + 3 * X[:, 0] * X[:, 4] + np.sin(X[:, 1]) + 0.1 * X[:, 2]
    return X[:100], y[:100], X[100:]


@pytest.fixture(scope="module")
def model(data):
    X, y, _ = data
    return quick(Laplace(3.0)).fit(X, y)


@pytest.fixture(scope="module")
def classifiers(data):
    X, y, _ = data
    three = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
    two = np.where(y > np.median(y), "yes", "no")
    return RFMClassifier(**QUICK).fit(X, two), RFMClassifier(**QUICK).fit(X, three)
