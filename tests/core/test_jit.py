"""Compiled loops equal the Python they are compiled from."""

import sys

import numpy as np
import pytest

from gramian.core.jit import compiled, in_threads


def _add_squares(x, out):
    for i in range(len(x)):
        out[0] += x[i] * x[i]


@pytest.mark.parametrize("reorder", [False, True])
def test_a_compiled_loop_gives_the_numbers_of_the_function(reorder):
    pytest.importorskip("numba", reason="loops are compiled by numba, an optional extra")
    x, fast, slow = np.random.default_rng(0).normal(size=1000), np.zeros(1), np.zeros(1)
    compiled(_add_squares, reorder=reorder)(x, fast)
    _add_squares(x, slow)
    np.testing.assert_allclose(fast, slow, rtol=1e-13 if reorder else 0)


def test_without_numba_there_is_no_compiled_loop(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled.__wrapped__(_add_squares) is None


def test_every_part_is_processed_and_errors_are_raised():
    done = []
    in_threads(done.append, [1, 2, 3])
    assert sorted(done) == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda part: 1 / part, [1, 0])
