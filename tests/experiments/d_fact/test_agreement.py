"""The features of both methods on a table that comes with scikit-learn."""

from gramian.experiments.d_fact.agreement import SharedTable, agreement
from gramian.experiments.uci_sets import BUILT_IN


def test_without_rounds_both_have_the_identity():
    numbers = agreement(SharedTable(BUILT_IN, rounds=0), 0).numbers
    assert abs(numbers["correlation"] - 1) < 1e-12
    assert abs(numbers["above untrained"]) < 1e-12
