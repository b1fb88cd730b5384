"""Stages are tested on few rows, for which a second thread costs more than it saves."""

import pytest

from gramian.core import threads


@pytest.fixture(autouse=True)
def one_thread(nothing_global):
    with threads(1):
        yield
