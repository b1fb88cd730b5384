"""The printed tables and their claims."""

import math

import pytest

from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.c_deep_nfa.setting import DECAYS, DEPTHS, StackTraining, alignments, network
from gramian.experiments.c_deep_nfa.tables import (
    NOISES,
    UNTRAINED,
    cell_name,
    claims,
    column_null,
    derive,
    specs,
)
from gramian.experiments.verdict import Estimate, compare


def test_every_printed_cell_is_claimed_and_has_a_spec():
    for rank, cells in PRINTED.items():
        assert len(cells) == len(COLUMNS) * len(DEPTHS) * len(DECAYS) * len(NOISES)
        made = [
            cell_name(spec.optimiser, depth, decay, noise)
            for spec in specs(rank)["paper"]
            for depth in spec.depths
            for decay in spec.decays
            for noise in spec.noises
        ]
        assert len(made) == len(set(made))
        assert {claim.key for claim in claims(rank) if claim.paper is not None and " L=" in claim.key} == set(made)
    failed = {(rank, cell) for rank, cells in PRINTED.items() for cell, value in cells.items() if math.isnan(value)}
    assert {(rank, cell[:2]) for rank, cell in failed} == {(20, ("gdm", 5))}
    assert len(failed) == 5


def column_of(rank, optimiser, change):
    """The records of a column whose cells are functions of depth and printed value."""
    numbers = {
        cell_name(*cell): change(cell[1], value) for cell, value in PRINTED[rank].items() if cell[0] == optimiser
    }
    return [{"spec": {"rank": rank, "optimiser": optimiser}, "numbers": numbers}]


@pytest.mark.parametrize("rank", [2, 5, 20])
@pytest.mark.parametrize("optimiser", COLUMNS)
def test_neither_a_constant_nor_untrained_networks_pass_a_column(rank, optimiser):
    claim = next(c for c in claims(rank) if c.key.startswith(f"{optimiser}: mean distance"))
    changes = [lambda depth, value: 1.0, lambda depth, value: UNTRAINED[depth], lambda depth, value: 0.97]
    for change in changes:
        distance = derive(column_of(rank, optimiser, change))[claim.key]
        assert distance >= column_null(rank, optimiser).value - 1e-12
        assert compare(claim, Estimate.of([distance] * 3)) == "differs"
    print_itself = derive(column_of(rank, optimiser, lambda depth, value: value))[claim.key]
    assert compare(claim, Estimate.of([print_itself] * 3)) == "reproduced"


def test_a_column_with_missing_cells_is_not_judged():
    (record,) = column_of(5, "gdm", lambda depth, value: value)
    del record["numbers"][cell_name("gdm", 3, 1e-3, 0.0)]
    assert derive([record]) == {}


@pytest.mark.parametrize("depth", DEPTHS)
def test_untrained_networks_have_the_alignment_of_the_null(depth):
    training = StackTraining(5, "gd", depth, 1e-3, 10, (1e-3,))
    found = [alignments(network(training, seed), 1 / depth)[0] for seed in range(12)]
    assert sum(found) / 12 == pytest.approx(UNTRAINED[depth], abs=1e-3)
