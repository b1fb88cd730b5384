"""Fixtures of the network tests."""

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
