"""Fixtures of the network tests."""

import warnings

import pytest

from nets.models import CASES, seeded


@pytest.fixture(params=CASES)
def case(request):
    """(model, X) in float64 for every architecture of the contract."""
    build, data = CASES[request.param]
    X = data()

    def make():
        model = build()
        model(X.float() if X.is_floating_point() else X)  # lazy layers take their shape here
        return model

    return seeded(make), X


@pytest.fixture(autouse=True)
def few_samples():
    """Most tests use a handful of samples on purpose; the warning about them has a test of its own."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*say little")
        yield
