"""The explanations of paper C's differences, on small networks."""

import math

import pytest

from gramian.experiments.c_deep_nfa.explanations import Collapse, Fluctuation, collapse, fluctuation, stationary


def test_under_heavy_decay_the_network_vanishes_and_costs_the_variance():
    numbers = collapse(Collapse(2, ((1.0, 1.0),), 600, rows=64, moments=2), 0).numbers
    assert numbers["L=2 λ=1 target×1: first layer"] < 1e-3
    assert numbers["L=2 λ=1 target×1: objective over that of the vanished"] == pytest.approx(1, abs=1e-3)


def test_the_factor_scales_the_target():
    numbers = collapse(Collapse(2, ((1e-2, 1.0), (1e-2, 0.5)), 2, rows=64, moments=2), 0).numbers
    whole, half = (numbers[f"L=2 λ=0.01 target×{factor}: variance of the target"] for factor in ("1", "0.5"))
    assert half == pytest.approx(whole / 4)


def test_equal_decays_differ_by_nothing():
    numbers = fluctuation(Fluctuation(20, (1e-2, 1e-2), rows=64, every=10), 0).numbers
    assert all(math.isclose(value, 0, abs_tol=1e-12) for value in numbers.values())


def test_frozen_weights_are_not_stationary_below_the_zero_network():
    head = "L=2 λ=0.01 target×1:"
    numbers = {f"{head} first layer, change over the second half": 0.0}
    ratio = f"{head} objective over that of the vanished"
    found = [stationary([{"numbers": numbers | {ratio: value}}]) for value in (1.4, 0.8)]
    assert [list(values.values()) for values in found] == [[math.inf], [0.0]]
    assert stationary([{"numbers": {}}]) == {}
