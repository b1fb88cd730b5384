"""Models shared by the tests of figures."""

import numpy as np
import pytest

from gramian import RFMRegressor


@pytest.fixture(scope="session")
def model():
    """A regressor of a product of two of six columns."""
    X = np.random.default_rng(0).normal(size=(120, 6))
    return RFMRegressor(kernel="laplace", n_rounds=2, update="agop").fit(X, X[:, 1] * X[:, 4])


@pytest.fixture(scope="session")
def encoded_model():
    """A regressor of a frame with fewer columns than its matrix has."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"size": rng.normal(size=60), "town": rng.choice(["Bonn", "Rome", "Oslo"], 60)})
    return RFMRegressor(preset="fast", n_rounds=1, update="agop").fit(X, X["size"] + (X["town"] == "Rome"))


@pytest.fixture(scope="session")
def additive_data():
    X = np.random.default_rng(0).normal(size=(80, 6))
    return X, X[:, 1] - 2 * X[:, 4]


@pytest.fixture(scope="session")
def additive_model(additive_data):
    return RFMRegressor(preset="fast", n_rounds=1, update="agop", ridge=1e-2).fit(*additive_data)
