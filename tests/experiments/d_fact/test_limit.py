"""Theorem 3.4 in the limit: the closed form against a search for the minimum."""

import pytest

from gramian.experiments.d_fact.limit import Limit, limit_cosines, vanishing


def test_the_correlation_vanishes_with_the_order_of_the_proof():
    fine, coarse = limit_cosines(1e-3), limit_cosines(2e-3)
    for power, order in ((0.25, 0.5), (0.5, 1), (1.0, 2), (2.0, 2)):
        assert coarse[power] / fine[power] == pytest.approx(2**order, rel=0.05)


def test_descent_finds_the_network_of_the_closed_form():
    assert vanishing(Limit(starts=2), 1).numbers["descent"] < 0.01
