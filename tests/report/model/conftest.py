"""Pages without the slowest of their pictures, for tests of other sections."""

import pytest

from gramian.report.model import learned


@pytest.fixture
def without_curves(monkeypatch):
    """Leave out the curves along directions: drawing them takes half of the time of a page."""
    monkeypatch.setattr(learned, "_dependence", lambda *args: "")
