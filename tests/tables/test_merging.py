"""Distinct rows in canonical order."""

import numpy as np

from gramian.tables.merging import merge_rows


def test_rows_come_in_lexicographic_order():
    messy = np.round(np.random.default_rng(0).normal(size=(200, 2)), 1) * np.array([1.0, -1.0])
    messy[:5] = [[0.0, -0.0], [-0.0, 0.0], [1e300, -1e300], [-1e-300, 1e-300], [-1e300, 0]]
    rows = merge_rows(messy, np.zeros(200), None)
    expected = np.unique(messy + 0.0, axis=0)
    assert np.array_equal(rows.X + 0.0, expected)
    assert rows.weights.sum() == 200
