"""Columns of the tables: no result without learning passes, and what two of our own targets say about each other."""

import math

import numpy as np
import pytest

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa.columns import (
    SELECTING,
    UNTRAINED,
    cell_name,
    column_claims,
    comparable_targets,
    compare_columns,
    distance_key,
    distance_null,
    first_distance_key,
    judged_by,
    pattern_key,
    pattern_null,
    printed_column,
    repeats,
    unexplained,
)
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.c_deep_nfa.setting import DEPTHS, LAST_EPOCHS, PAPER_EPOCHS
from gramian.experiments.estimates import Estimate
from gramian.experiments.verdict import compare, judge

KEYS = {distance_key: distance_null, pattern_key: pattern_null}


def printed(depth, value):
    return value


def lost(depths):
    return lambda depth, value: math.nan if depth in depths else value


def target(rank, seed=0, gd=printed, gdm=printed):
    """The records of the two columns that say if a target is comparable."""
    return [column_of(rank, "gd", gd, seed), column_of(rank, "gdm", gdm, seed)]


def column_of(rank, optimiser, change, seed=0):
    """The record of a column whose cells are functions of depth and printed value."""
    numbers = {
        cell_name(*cell): change(cell[1], value) for cell, value in PRINTED[rank].items() if cell[0] == optimiser
    }
    head = {"seed": seed, "error": None, "missing": False, "arrays": {}}
    spec = {"rank": rank, "optimiser": optimiser, "depths": DEPTHS, "epochs": PAPER_EPOCHS + LAST_EPOCHS}
    return head | {"spec": spec, "numbers": numbers}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("rank", [2, 5, 20])
@pytest.mark.parametrize("optimiser", COLUMNS)
def test_neither_a_constant_nor_untrained_networks_pass_a_column(key, rank, optimiser):
    claim = next(claim for claim in column_claims(rank) if claim.key == key(optimiser))
    changes = [
        lambda depth, value: 1.0,
        lambda depth, value: UNTRAINED[depth],
        lambda depth, value: 0.97,
        lambda depth, value: 1.9 - value,  # every effect reversed
    ]
    for change in changes:
        found = compare_columns([column_of(rank, optimiser, change)])[claim.key]
        assert found >= KEYS[key](rank, optimiser).value - 1e-12
        assert compare(claim, Estimate.of([found] * 3)) == "differs"
    print_itself = compare_columns([column_of(rank, optimiser, printed)])[claim.key]
    assert compare(claim, Estimate.of([print_itself] * 3)) == "reproduced"


@pytest.mark.parametrize("rank", [2, 5, 20])
@pytest.mark.parametrize("optimiser", [name for name in COLUMNS if name != SELECTING])
def test_the_printed_column_of_gradient_descent_does_not_pass_another_one(rank, optimiser):
    """Comparable targets are near to it."""
    gd = {cell_name(optimiser, *cell[1:]): value for cell, value in PRINTED[rank].items() if cell[0] == SELECTING}
    record = column_of(rank, optimiser, printed) | {"numbers": gd}
    claim = next(claim for claim in column_claims(rank) if claim.key == distance_key(optimiser))
    found = compare_columns([record])[claim.key]
    assert found >= claim.null.value - 1e-12
    assert compare(claim, Estimate.of([found] * 3)) == "differs"


def test_a_column_with_missing_cells_is_not_compared():
    record = column_of(5, "gdm", lambda depth, value: value)
    del record["numbers"][cell_name("gdm", 3, 1e-3, 0.0)]
    assert compare_columns([record]) == {}
    assert repeats([record]) == {}


def test_a_column_is_compared_with_naive_formulas():
    noise = np.random.default_rng(0).normal(scale=0.01, size=100).tolist()
    record = column_of(2, "sgdm", lambda depth, value: value + noise.pop())
    ours = np.array(list(record["numbers"].values()))
    paper = np.array([value for cell, value in PRINTED[2].items() if cell[0] == "sgdm"])
    found = compare_columns([record])
    assert found[distance_key("sgdm")] == pytest.approx(np.abs(ours - paper).mean())
    slope, offset = np.polyfit(ours, paper, 1)
    left = ((paper - slope * ours - offset) ** 2).sum() / ((paper - paper.mean()) ** 2).sum()
    assert found[pattern_key("sgdm")] == pytest.approx(left)


def test_an_offset_changes_the_distance_and_not_the_pattern():
    found = compare_columns([column_of(5, "gd", lambda depth, value: value - 0.05)])
    assert found[distance_key("gd")] == pytest.approx(0.05)
    assert found[pattern_key("gd")] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("factor", [0, 1, 2])
def test_the_printed_effect_of_one_factor_does_not_pass_the_pattern(factor):
    """The best function of L, λ or σ alone, with the printed numbers in hindsight: the means of its groups."""
    for rank in (2, 5, 20):
        for optimiser in COLUMNS:
            column = printed_column(rank, optimiser)
            groups = {}
            for cell, value in column.items():
                groups.setdefault(cell[factor], []).append(value)
            alone = [np.mean(groups[cell[factor]]) for cell in column]
            assert unexplained(alone, [*column.values()]) >= pattern_null(rank, optimiser).value - 1e-9


@pytest.mark.parametrize(("rank", "depth"), [(20, 2), (20, 4), (20, 5), (5, 4)])
def test_a_target_on_which_momentum_diverges_where_the_print_has_a_number_is_not_comparable(rank, depth):
    diverged = target(rank, 1, gdm=lost({depth}))
    assert comparable_targets([*target(rank, 0), *diverged]) == {0}


@pytest.mark.parametrize("cell", printed_column(20, "gdm"))
def test_one_cell_that_diverges_is_enough(cell):
    gd, gdm = target(20)
    gdm["numbers"][cell_name("gdm", *cell)] = math.nan
    assert comparable_targets([gd, gdm]) == set()


def test_momentum_must_diverge_in_some_cell_of_a_table_that_has_such_cells():
    gd, gdm = target(20)
    nans = [name for name, value in gdm["numbers"].items() if math.isnan(value)]
    assert len(nans) == 5
    gdm["numbers"] |= dict.fromkeys(nans[1:], 0.9)
    assert comparable_targets([gd, gdm]) == {0}
    gdm["numbers"][nans[0]] = 0.9
    assert comparable_targets([gd, gdm]) == set()


@pytest.mark.parametrize("rank", [2, 5, 20])
@pytest.mark.parametrize(("share", "comparable"), [(0.0, True), (0.9, True), (1.1, False), (math.nan, False)])
def test_a_target_is_comparable_if_its_column_of_gradient_descent_would_be_close(rank, share, comparable):
    off = share * distance_null(rank, SELECTING).value
    records = target(rank, gd=lambda _, value: value + off)
    assert bool(comparable_targets(records)) == comparable
    found = compare_columns(records)[distance_key(SELECTING)]
    claim = next(claim for claim in column_claims(rank) if claim.key == distance_key(SELECTING))
    assert (compare(claim, Estimate.of([found])) == "close") == comparable


@pytest.mark.parametrize("optimiser", ["gd", "gdm"])
def test_a_target_is_not_comparable_while_cells_of_a_selecting_column_have_not_run(optimiser):
    records = [*target(20), column_of(20, "sgd", printed)]
    assert comparable_targets(records) == {0}
    chosen = next(record for record in records if record["spec"]["optimiser"] == optimiser)
    chosen["numbers"].pop(f"{optimiser} L=3 λ=1e-3 σ=0")
    assert comparable_targets(records) == set()


@pytest.mark.parametrize("optimiser", COLUMNS)
def test_comparable_targets_judge_cells_and_distances_and_the_first_ones_all_else(optimiser):
    """Of the targets 0, 1, 5 and 6 of rank 20 momentum converges as in print on 1 and 6."""
    records = [record for seed in (1, 6) for record in target(20, seed)]
    records += [record for seed in (0, 5) for record in target(20, seed, gdm=lost({4}))]
    counts = judged_by(records)

    def of(key):
        return {seed for seed in (0, 1, 5, 6) if counts(key, seed)}

    first = {0, 1} if optimiser in ("gd", "gdm", "sgd") else {0}
    level = first if optimiser == SELECTING else {1, 6}
    assert of(distance_key(optimiser)) == of(cell_name(optimiser, 3, 1e-3, 1.0)) == level
    for key in (first_distance_key(optimiser), pattern_key(optimiser), f"{optimiser}: deep minus shallow, least decay"):
        assert of(key) == first


def test_a_column_without_first_targets_is_judged_by_all_and_smaller_scales_as_well():
    assert judged_by(target(2))(pattern_key("adam"), 3)
    assert not judged_by(target(2))(pattern_key("sgd"), 5)
    small = [record | {"spec": record["spec"] | {"epochs": 120}} for record in target(2)]
    assert judged_by(small)(pattern_key("sgd"), 5)
    assert judged_by(small)(cell_name("sgd", 2, 1e-3, 0.0), 5)


def test_a_verdict_is_that_of_comparable_targets_and_says_so_where_none_has_run():
    table = papers.find("c/table3")

    def verdicts(records):
        return {verdict.claim.key: verdict for verdict in judge(table, "paper", records)}

    far = [*target(20, 0, gdm=lost({4})), column_of(20, "sgd", lambda _, value: value - 0.05, seed=0)]
    alone = verdicts(far)
    assert alone[distance_key("sgd")].outcome == "not run"
    for key in (distance_key("sgd"), cell_name("sgd", 5, 1e-2, 0.0)):
        assert alone[key].outcome == "not run"
        assert "can be compared with the paper's" in alone[key].why
    assert alone[distance_key("adam")].why == "no record contains this number"
    assert alone[first_distance_key("sgd")].outcome == "differs"
    assert alone[first_distance_key("sgd")].claim.kind == "side condition"
    part = column_of(20, "sgd", printed, seed=6)
    part["numbers"] = {name: value for name, value in part["numbers"].items() if "L=5" in name}
    some = verdicts([*far, *target(20, 6), part])[cell_name("sgd", 5, 1e-2, 0.0)]
    assert (some.outcome, some.why) == (
        "not judged at this scale",
        "judged with its column, of which other cells have not run",
    )
    both = verdicts([*far, *target(20, 6), column_of(20, "sgd", printed, seed=6)])
    assert both[distance_key("sgd")].outcome == "close"
    assert both[distance_key("sgd")].claim.kind == "printed number"
    assert both[cell_name("sgd", 5, 1e-5, 0.0)].ours.values == (PRINTED[20]["sgd", 5, 1e-5, 0.0],)
    assert both[first_distance_key("sgd")].ours.mean == pytest.approx(0.05)


def test_only_comparable_targets_take_the_place_of_the_paper_s_for_the_distance():
    def seed(k, shift, gdm=printed):
        return [*target(20, k, gdm=gdm), column_of(20, "sgd", lambda _, value: value - shift, seed=k)]

    found = repeats([*seed(0, 0.5, gdm=lost({4})), *seed(1, 0.0), *seed(5, 0.01)])
    assert found[distance_key("sgd")] == pytest.approx([0.01, 0.01], abs=1e-3)
    assert max(found[first_distance_key("sgd")]) > 0.2
    assert (
        len(found[first_distance_key("sgd")]) == len(found[pattern_key("sgd")]) == len(found[distance_key("gd")]) == 2
    )
    assert repeats([]) == {}


def test_each_seed_takes_the_place_of_the_paper_s_rounded():
    offsets = (0.0, 0.012, 0.03)
    records = [column_of(5, "gd", lambda depth, value, by=by: value + by, seed) for seed, by in enumerate(offsets)]
    found = repeats(records)
    columns = [np.array([*printed_column(5, "gd").values()]) + by for by in offsets]
    naive = [np.mean([np.abs(x - p.round(2)).mean() for x in columns if x is not p]) for p in columns]
    assert found[distance_key("gd")] == pytest.approx(naive)
    assert found[pattern_key("gd")] == pytest.approx([0.0] * 3, abs=1e-12)
    assert repeats(records[:1]) == {}
    one = column_of(5, "adam", printed)
    assert not any("adam" in key for key in repeats([*records, one]))


def test_cells_that_diverge_for_every_seed_are_left_out_and_others_are_infinitely_far():
    same = [column_of(5, "gd", lost({5}), seed) for seed in (0, 1)]
    assert all(map(math.isfinite, repeats(same)[distance_key("gd")]))
    some = [column_of(5, "gd", lost({5} if seed else {}), seed) for seed in (0, 1)]
    first, second = repeats(some)[distance_key("gd")]
    assert math.isinf(first)
    assert math.isfinite(second)
    every = [column_of(5, "gd", lost({2, 3, 4, 5}), seed) for seed in (0, 1)]
    assert repeats(every)[distance_key("gd")] == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("spread", "off", "withheld"), [(0.0, 0.0, ""), (0.0, 0.03, ""), (0.012, 0.0, "close"), (0.02, 0.03, "differs")]
)
def test_a_column_is_decidable_if_our_own_seeds_agree(spread, off, withheld):
    """Good verdicts are withheld as well as bad ones."""
    table = papers.find("c/table2")
    records = [
        column_of(5, "gd", lambda depth, value, by=by: value - off + by * spread * (-1) ** depth, seed)
        for seed, by in enumerate((-0.5, 0.5))
    ]
    verdicts = {verdict.claim.key: verdict for verdict in judge(table, "paper", records)}
    column, cell = verdicts[distance_key("gd")], verdicts[cell_name("gd", 3, 1e-2, 0.0)]
    assert column.withheld == cell.withheld == withheld
    assert (column.outcome == "not decidable") == (cell.outcome == "not decidable") == bool(withheld)
    if not withheld:
        assert column.outcome == ("differs" if off else "reproduced")
        assert cell.outcome == "judged in its column"


def test_divergence_of_all_seeds_in_the_same_cells_differs():
    records = [column_of(5, "gd", lost({4, 5}), seed) for seed in (0, 1)]
    verdicts = {verdict.claim.key: verdict for verdict in judge(papers.find("c/table2"), "paper", records)}
    assert verdicts[distance_key("gd")].outcome == verdicts[pattern_key("gd")].outcome == "differs"
