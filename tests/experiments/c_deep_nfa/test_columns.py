"""Columns of the tables: no result without learning passes, and what two of our own targets say about each other."""

import math

import numpy as np
import pytest

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa.columns import (
    UNTRAINED,
    cell_name,
    column_claims,
    compare_columns,
    distance_key,
    distance_null,
    pattern_key,
    pattern_null,
    printed_column,
    repeats,
)
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.verdict import Estimate, compare, judge

KEYS = {distance_key: distance_null, pattern_key: pattern_null}


def column_of(rank, optimiser, change, seed=0):
    """The record of a column whose cells are functions of depth and printed value."""
    numbers = {
        cell_name(*cell): change(cell[1], value) for cell, value in PRINTED[rank].items() if cell[0] == optimiser
    }
    head = {"seed": seed, "error": None, "missing": False, "arrays": {}}
    return head | {"spec": {"rank": rank, "optimiser": optimiser}, "numbers": numbers}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("rank", [2, 5, 20])
@pytest.mark.parametrize("optimiser", COLUMNS)
def test_neither_a_constant_nor_untrained_networks_pass_a_column(key, rank, optimiser):
    claim = next(claim for claim in column_claims(rank) if claim.key == key(optimiser))
    changes = [lambda depth, value: 1.0, lambda depth, value: UNTRAINED[depth], lambda depth, value: 0.97]
    for change in changes:
        found = compare_columns([column_of(rank, optimiser, change)])[claim.key]
        assert found >= KEYS[key](rank, optimiser).value - 1e-12
        assert compare(claim, Estimate.of([found] * 3)) == "differs"
    print_itself = compare_columns([column_of(rank, optimiser, lambda depth, value: value)])[claim.key]
    assert compare(claim, Estimate.of([print_itself] * 3)) == "reproduced"


def test_a_column_with_missing_cells_is_not_compared():
    record = column_of(5, "gdm", lambda depth, value: value)
    del record["numbers"][cell_name("gdm", 3, 1e-3, 0.0)]
    assert compare_columns([record]) == {}
    assert repeats([record]) == {}


def test_a_column_is_compared_with_naive_formulas():
    noise = np.random.default_rng(0).normal(scale=0.01, size=100).tolist()
    record = column_of(2, "sgdm", lambda depth, value: value + noise.pop())
    ours = np.array(list(record["numbers"].values()))
    printed = np.array([value for cell, value in PRINTED[2].items() if cell[0] == "sgdm"])
    found = compare_columns([record])
    assert found[distance_key("sgdm")] == pytest.approx(np.abs(ours - printed).mean())
    slope, offset = np.polyfit(ours, printed, 1)
    left = ((printed - slope * ours - offset) ** 2).sum() / ((printed - printed.mean()) ** 2).sum()
    assert found[pattern_key("sgdm")] == pytest.approx(left)


def test_an_offset_changes_the_distance_and_not_the_pattern():
    found = compare_columns([column_of(5, "gd", lambda depth, value: value - 0.05)])
    assert found[distance_key("gd")] == pytest.approx(0.05)
    assert found[pattern_key("gd")] == pytest.approx(0.0, abs=1e-12)


def test_a_repeat_is_the_mean_over_pairs_of_seeds_of_which_one_is_rounded():
    offsets = (0.0, 0.012, 0.03)
    records = [column_of(5, "gdm", lambda depth, value, by=by: value + by, seed) for seed, by in enumerate(offsets)]
    found = repeats(records)
    columns = [np.array([*printed_column(5, "gdm").values()]) + by for by in offsets]
    naive = [np.abs(x - p.round(2)).mean() for x in columns for p in columns if p is not x]
    assert found[distance_key("gdm")] == pytest.approx(np.mean(naive))
    assert found[pattern_key("gdm")] == pytest.approx(0.0, abs=1e-12)
    assert repeats(records[:1]) == {}


def test_optimisers_with_one_seed_use_the_pairs_of_gradient_descent():
    pairs = [column_of(2, "gd", lambda depth, value, by=by: value + by, by) for by in (0, 1)]
    found = repeats([*pairs, column_of(2, "sgd", lambda depth, value: value)])
    assert found[distance_key("sgd")] == pytest.approx(found[distance_key("gd")]) == pytest.approx(1.0)
    assert distance_key("sgdm") not in found


@pytest.mark.parametrize(("by", "outcome"), [(0.0, "reproduced"), (0.01, "not decidable"), (math.nan, "not decidable")])
def test_a_column_is_decidable_if_our_own_targets_agree(by, outcome):
    """Both good and bad verdicts are withheld where a second target of ours would fail."""
    table = papers.find("c/table2")
    records = [column_of(5, "gd", lambda depth, value, s=s: value - s * by, s) for s in (-1, 0, 1)]
    verdicts = {verdict.claim.key: verdict for verdict in judge(table, "paper", records)}
    assert verdicts[distance_key("gd")].outcome == outcome
    cell = verdicts[cell_name("gd", 3, 1e-2, 0.0)]
    assert cell.outcome == ("judged in its column" if outcome == "reproduced" else outcome)
    assert verdicts[pattern_key("gd")].outcome == ("not decidable" if math.isnan(by) else "reproduced")
