"""A target as numbers."""

import numpy as np

from gramian.tables.raw_target import RawTarget


def test_a_regression_has_neither_classes_nor_weights_of_them():
    raw = RawTarget(np.arange(3.0))
    assert raw.classes is None
    assert raw.factors is None
