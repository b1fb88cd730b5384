"""Comparisons of rates: the closed share, and two equal trainings."""

import pytest

from gramian.experiments.c_deep_nfa.rates import RateComparison, closed_share, compare_rates
from gramian.experiments.c_deep_nfa.setting import StackTraining


def test_the_closed_share_does_not_depend_on_the_start():
    assert closed_share([0.5, 1.0]) == pytest.approx(closed_share([0.9, 1.0])) == 0.5
    assert closed_share([0.9, 0.8]) < 0


def test_equal_trainings_have_no_difference():
    training = StackTraining(5, "gdm", 2, 1e-3, 20, (1e-3,), tail=2, rows=64)
    numbers = compare_rates(RateComparison("same", training, training, (2,)), 0).numbers
    assert numbers["same: faster minus slower"] == 0
