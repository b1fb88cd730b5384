"""Normal scores against columns of unit variance, and the rank correlations of Table 2."""

import numpy as np
import pytest

from gramian.experiments.b_rfm import tables_why as w
from gramian.experiments.b_rfm.grinsztajn_sets import TabularTask, search
from gramian.experiments.b_rfm.printed_tables import table
from gramian.experiments.b_rfm.tables import AT_HAND


def test_scaled_columns_do_not_depend_on_units_and_normal_scores_hardly_on_monotone_maps():
    """Values between two quantiles are interpolated, so that normal scores depend on such maps a little."""
    X = np.random.default_rng(0).normal(size=(160, 3))
    y = X[:, 0] * X[:, 1]
    plain, units, cubes = (TabularTask(Z, y, True) for Z in (X, 5 * X - 2, X**3))
    scaled = [search(task, 80, 1, 0, normal_scores=False).rfm for task in (plain, units, cubes)]
    assert scaled[0] == pytest.approx(scaled[1], abs=1e-6)
    change = abs(search(plain, 80, 1, 0).rfm - search(cubes, 80, 1, 0).rfm)
    assert change < 0.1 * abs(scaled[0] - scaled[2])


def test_columns_that_are_mostly_one_value_are_better_without_normal_scores():
    numbers = w.scaled_columns(w.MadeColumns("made", (40, 80), 1), 0).numbers
    assert numbers["gain"] == numbers["scaled/80"] - numbers["normal/80"] > 0


def test_rank_correlations_of_the_printed_column_itself_and_of_one_set_moved_last():
    printed = {name: value for (_, name), value in zip(table(2).rows, table(2).of("RFM"), strict=True)}
    records = []
    for name in AT_HAND[2]:
        low = 0.0 if name == "pol" else printed[name]
        numbers = {"normal/5": -printed[name], "normal/9": low, "scaled/9": printed[name], "gain": printed[name] - low}
        records.append({"spec": {"name": name, "sizes": [5, 9]}, "numbers": numbers})
    found = w.rank_correlations(records)
    n = len(AT_HAND[2])
    moved = 1 - 6 * ((n - 1) ** 2 + n - 1) / (n * (n**2 - 1))  # pol is printed first
    assert found["rank/normal/5"] == pytest.approx(-1)
    assert found["rank/scaled/9"] == found["rank/without pol"] == pytest.approx(1)
    assert found["rank/normal/9"] == pytest.approx(moved)
    assert found["rank/gain"] == pytest.approx(1 - moved)
    assert w.rank_correlations(records[1:]) == {}
