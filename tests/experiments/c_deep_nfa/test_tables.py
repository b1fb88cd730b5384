"""The printed tables and their claims."""

import math
from pathlib import Path

import pytest

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa.columns import FIRST_TARGETS, UNTRAINED, cell_name, comparable_targets
from gramian.experiments.c_deep_nfa.printed_tables import COLUMNS, PRINTED
from gramian.experiments.c_deep_nfa.setting import DECAYS, DEPTHS, StackTraining, alignments, network
from gramian.experiments.c_deep_nfa.tables import NOISES, claims, derive, specs, start_alignment
from gramian.experiments.cell import cells
from gramian.experiments.store import ExperimentStore

STORE = ExperimentStore(Path(__file__).parents[3] / "reproduction")


def test_every_printed_cell_is_claimed_and_has_a_spec():
    for rank, table in PRINTED.items():
        assert len(table) == len(COLUMNS) * len(DEPTHS) * len(DECAYS) * len(NOISES)
        made = [
            cell_name(spec.optimiser, depth, decay, noise)
            for spec in specs(rank)["paper"]
            for depth in spec.depths
            for decay in spec.decays
            for noise in spec.noises
        ]
        assert len(made) == len(set(made))
        assert {claim.key for claim in claims(rank) if claim.paper is not None and " L=" in claim.key} == set(made)
    failed = {(rank, cell) for rank, table in PRINTED.items() for cell, value in table.items() if math.isnan(value)}
    assert {(rank, cell[:2]) for rank, cell in failed} == {(20, ("gdm", 5))}
    assert len(failed) == 5


@pytest.mark.parametrize(("number", "rank"), [(1, 2), (2, 5), (3, 20)])
def test_the_first_targets_and_a_comparable_one_are_declared_at_the_paper_s_size(number, rank):
    experiment = papers.find(f"c/table{number}")
    seeds = {}
    for cell in cells(experiment, "paper"):
        seeds.setdefault((cell.spec.optimiser, cell.spec.depths), []).append(cell.seed)
    assert set(seeds) == {(name, (depth,)) for name in COLUMNS for depth in DEPTHS}
    comparable = comparable_targets(STORE.of(experiment, "paper"))
    assert comparable
    for (name, _), found in seeds.items():
        first = FIRST_TARGETS[rank].get(name, 0)
        assert found[:first] == list(range(first))
        assert min(comparable) in found
    assert len(cells(experiment, "small")) == 5 * len(COLUMNS)
    assert len(cells(experiment, "smoke")) == len(COLUMNS)


def test_comparable_targets_are_the_first_ones_that_are():
    """Of Table 1 all of 3 to 9 were tried, and five are comparable; of Table 3 all to 10, and one is."""
    one, three = (comparable_targets(STORE.of(papers.find(f"c/table{number}"), "paper")) for number in (1, 3))
    assert one == {3, 4, 6, 7, 9}
    assert three == {10}
    screened = STORE.of(papers.find("c/table3-targets-why"), "paper")
    key = "converges wherever the print has a number"
    assert {record["seed"] for record in screened if record["numbers"][key]} == {10, 17}
    assert len(screened) == 40


@pytest.mark.parametrize("depth", DEPTHS)
def test_untrained_networks_have_the_alignment_of_the_null(depth):
    training = StackTraining(5, "gd", depth, 1e-3, 10, (1e-3,))
    found = [alignments(network(training, seed), 1 / depth)[0] for seed in range(12)]
    assert sum(found) / 12 == pytest.approx(UNTRAINED[depth], abs=1e-3)


def test_effects_at_the_paper_s_size_are_those_of_all_cells_of_a_seed():
    """There a record has one depth; the alignment is 1 − L/100 + λ + σ/100 here."""

    def record(depth):
        numbers = {
            cell_name("gd", depth, decay, noise): 1 - 0.01 * depth + decay + noise / 100
            for decay in DECAYS
            for noise in NOISES
        }
        return {"spec": {"rank": 5, "depths": [depth]}, "seed": 0, "numbers": numbers}

    found = derive([record(depth) for depth in DEPTHS])
    assert found["gd: deep minus shallow, least decay"] == pytest.approx(-0.03)
    assert found["gd: most minus least decay, deep net"] == pytest.approx(max(DECAYS) - min(DECAYS))
    assert found["gd: shallow net, mean alignment"] == pytest.approx(0.985 + (max(DECAYS) + min(DECAYS)) / 2)
    assert not any("minus" in key for key in derive([record(2), record(3)]))


def test_the_effect_of_depth_of_untrained_networks_is_zero():
    starts = {depth: start_alignment(depth, 7) for depth in DEPTHS}
    numbers = {cell_name("gd", L, decay, noise): starts[L] for L in DEPTHS for decay in DECAYS for noise in NOISES}
    records = [{"spec": {"rank": 5, "depths": [L]}, "seed": 7, "numbers": numbers if L == 2 else {}} for L in DEPTHS]
    found = derive(records)
    assert found["gd: deep minus shallow, least decay"] < -0.01
    assert found["gd: deep minus shallow, least decay, beyond the start"] == pytest.approx(0.0, abs=1e-9)
