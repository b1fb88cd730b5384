"""Targets of several sizes: the same target scaled, and networks that differ in nothing else."""

from pathlib import Path

import pytest
import torch

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa import target_size
from gramian.experiments.c_deep_nfa.columns import cell_name
from gramian.experiments.c_deep_nfa.other_targets import random_targets
from gramian.experiments.c_deep_nfa.setting import StackTraining, data
from gramian.experiments.c_deep_nfa.target_size import SizedTargets, rise_to_ten, scaled, sized_targets
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import estimates

SPEC = SizedTargets(3, sizes=(1.0, 4.0), epochs=20, tail=2, rows=64)


def test_every_target_has_every_size_in_the_order_of_the_numbers():
    Y = torch.randn(2, 50, 1, generator=torch.Generator().manual_seed(0)) * torch.tensor([[[3.0]], [[0.1]]]) + 5
    made = scaled(Y, (1.0, 4.0))
    assert made.std((1, 2), correction=0).tolist() == pytest.approx([1.0, 4.0, 1.0, 4.0], rel=1e-5)
    torch.testing.assert_close(made[1], 4 * made[0])
    torch.testing.assert_close(made[2] / made[2].mean(), Y[1] / Y[1].mean())


def test_numbers_are_those_of_the_alignments():
    result = sized_targets(SPEC, 0)
    (a, b), (c, d) = result.arrays["L=3"]
    assert result.numbers["L=3: size 1"] == pytest.approx((a + c) / 2)
    assert result.numbers["L=3: size 4"] == pytest.approx((b + d) / 2)
    assert result.numbers["L=3: rise"] == pytest.approx((b - a + d - c) / 2)


def test_the_rise_to_ten_needs_no_larger_size():
    numbers = {"L=5: size 1.3": 0.8, "L=5: size 10": 0.95, "L=5: size 20": float("nan")}
    assert rise_to_ten([{"spec": {"depth": 5}, "numbers": numbers}]) == {"L=5: rise to size 10": pytest.approx(0.15)}


def test_equal_sizes_have_equal_alignments():
    result = sized_targets(SizedTargets(3, sizes=(2.0, 2.0), epochs=20, tail=2, rows=64), 1)
    assert result.numbers["L=3: rise"] == pytest.approx(0, abs=1e-6)


def test_the_null_is_our_cell_of_table_1():
    table = papers.find("c/table1")
    records = ExperimentStore(Path(__file__).parents[3] / "reproduction").of(table, "paper")
    ours = estimates([record for record in records if record["seed"] < 3])
    for depth, value in target_size._OURS.items():
        cell = ours[cell_name("gdm", depth, 1e-5, 0.0)]
        assert cell.mean == pytest.approx(value, abs=5e-4)


def test_the_sizes_of_random_targets_are_those_of_the_docstring():
    _, Y = random_targets(2, count=400, rows=512, seed=0)
    sizes = Y.std((1, 2)).quantile(torch.tensor([0.05, 0.5, 0.95]))
    torch.testing.assert_close(sizes, torch.tensor([2.3, 10.0, 23.0]), rtol=0.2, atol=0)
    ours = [data(StackTraining(2, "gd", 2, 1e-3, 1), seed)[1][0].std().item() for seed in range(5)]
    assert ours == pytest.approx([6.8, 1.3, 5.35, 5.56, 18.15], abs=0.06)
