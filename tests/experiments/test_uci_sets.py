"""Lists of the UCI data sets by size, and the built-in stand-in."""

import numpy as np
import pytest

from gramian.datasets import uci_names
from gramian.experiments.uci_sets import BUILT_IN, LARGE_SETS, SMALL_SETS, UCI_SETS, read_uci


def test_small_and_large_sets_are_disjoint_parts_of_the_list():
    assert len(set(UCI_SETS)) == len(UCI_SETS) == 120
    assert not set(SMALL_SETS) & set(LARGE_SETS)
    assert set(SMALL_SETS) | set(LARGE_SETS) < set(UCI_SETS)


def test_the_list_is_that_of_the_data():
    try:
        names = uci_names()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert set(UCI_SETS) == set(names)


def test_the_built_in_set_has_disjoint_training_and_test_rows():
    data = read_uci(BUILT_IN)
    assert data.tuning is not None
    assert len(data.splits) == 4
    for split in (data.tuning, *data.splits):
        assert not np.intersect1d(split.train, split.test).size
