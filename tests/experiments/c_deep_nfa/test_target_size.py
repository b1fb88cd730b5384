"""Targets of several sizes: the same target scaled, and networks that differ in nothing else."""

from pathlib import Path

import pytest
import torch

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa import target_size
from gramian.experiments.c_deep_nfa.columns import cell_name
from gramian.experiments.c_deep_nfa.other_targets import random_targets
from gramian.experiments.c_deep_nfa.setting import StackTraining, alignments, data, network
from gramian.experiments.c_deep_nfa.target_size import SizedTargets, rise_to_ten, scaled, sized_targets
from gramian.experiments.c_deep_nfa.target_size import SizedTargetsBySGD as BySGD
from gramian.experiments.estimates import estimates
from gramian.experiments.stacked import Descent
from gramian.experiments.store import ExperimentStore

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


def test_stochastic_training_sees_the_rows_in_batches():
    found = sized_targets(BySGD(3, sizes=(2.0, 4.0), rate=0.02, epochs=4, tail=1, rows=128), 0).arrays["L=3"]
    X, Y = random_targets(20, 2, 128, seed=0)
    training = StackTraining(20, "sgd", 3, 0.02, 4, (1e-5,) * 4, tail=1, rows=128)
    stack, order = network(training, 0), torch.Generator().manual_seed(0)
    start = alignments(stack, 1 / 3)
    Y, descent = scaled(Y, (2.0, 4.0)), Descent(0.02, (1e-5,) * 4)
    for epoch in range(4):
        descent.scale = 0.1 if epoch == 3 else 1.0
        rows = torch.randperm(128, generator=order)
        for batch in rows.split(64):
            descent.step(stack.values, stack.descent(X[batch], Y[:, batch]), stack.decayed)
    assert [value for row in found for value in row] == pytest.approx(alignments(stack, 1 / 3), abs=1e-6)
    assert min(abs(a - b) for a, b in zip(start, alignments(stack, 1 / 3), strict=True)) > 1e-5


@pytest.mark.parametrize(("table", "optimiser"), [("c/table1", "gdm"), ("c/table3", "sgd")])
def test_the_null_is_our_cell_of_the_table(table, optimiser):
    records = ExperimentStore(Path(__file__).parents[3] / "reproduction").of(papers.find(table), "paper")
    ours = estimates([record for record in records if record["seed"] < 3])
    for depth, value in target_size._OURS[optimiser].items():
        cell = ours[cell_name(optimiser, depth, 1e-5, 0.0)]
        assert cell.mean == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize(
    ("rank", "quantiles", "sizes"),
    [
        (2, [2.3, 10.0, 23.0], [6.8, 1.3, 5.35, 5.56, 18.15]),
        (20, [29.0, 41.0, 59.0], [51.25, 46.83, 45.13, 35.59, 37.59]),
    ],
)
def test_the_sizes_of_random_targets_are_those_of_the_docstring(rank, quantiles, sizes):
    _, Y = random_targets(rank, count=400, rows=512, seed=0)
    found = Y.std((1, 2)).quantile(torch.tensor([0.05, 0.5, 0.95]))
    torch.testing.assert_close(found, torch.tensor(quantiles), rtol=0.2, atol=0)
    ours = [data(StackTraining(rank, "gd", 2, 1e-3, 1), seed)[1][0].std().item() for seed in range(5)]
    assert ours == pytest.approx(sizes, abs=0.06)
