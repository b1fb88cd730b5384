"""The summary of curves for Fig. 2, 7 and 8."""

import math

import pytest

from gramian.experiments.a_alignment import fig278


def test_the_summary_has_gains_ranges_and_minima():
    low = {"t": [0.0, 10.0, 20.0], "uc1": [0.1, 0.2, 0.9], "c1": [math.nan, 0.8, 0.9], "test": [2.0, 1.0, 0.5]}
    high = {"t": [0.0, 10.0, 20.0], "uc1": [0.1, 0.4, 0.3], "c1": [math.nan, 0.7, 0.6], "test": [4.0, 2.0, 1.5]}
    found = {s: curves | {"uc2": curves["uc1"], "c2": curves["c1"]} for s, curves in ((0.1, low), (1.0, high))}
    numbers = fig278.summary(found)
    assert numbers["test_gain"] == pytest.approx(0.25)
    assert numbers["uc1_rise"] == pytest.approx(0.8)
    assert numbers["uc1_range"] == pytest.approx(0.6)
    assert (numbers["c1_early"], numbers["c1_low"]) == (0.7, 0.6)
    assert numbers["robust1"] == pytest.approx(((0.2 - 0.1) + (0.6 - 0.3)) / 2)


def test_the_gain_of_untrained_networks_is_no_gain():
    curves = {"0.01": {"test": [1.0, 1.0]}, "1": {"test": [2.0, 2.0]}}
    numbers = {"test_gain": 0.5} | {
        f"{key}{layer}_{when}": 0.5 for key in ("c", "uc") for layer in "12" for when in ("early", "low", "start")
    }
    record = {"spec": {"both_layers": False}, "numbers": numbers, "arrays": {"curves": curves}}
    assert fig278.derive([record])["test_gain_learned"] == 0.0
