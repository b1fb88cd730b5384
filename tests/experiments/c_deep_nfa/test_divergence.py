"""Targets that diverge: none at a tiny rate, all at a huge one."""

from types import SimpleNamespace

import pytest
import torch

from gramian.experiments.c_deep_nfa.divergence import (
    Divergence,
    PrintedDivergence,
    converges_as_printed,
    divergence,
    less_at_lower_rate,
)
from gramian.experiments.c_deep_nfa.setting import StackTraining, data


@pytest.mark.parametrize(("rate", "share"), [(1e-9, 0.0), (10.0, 1.0)])
def test_the_rate_decides_at_its_extremes(rate, share):
    found = divergence(Divergence(3, (rate,), steps=40, targets=3, rows=64), 0).numbers
    assert list(found.values()) == [share]


def test_no_step_at_all_is_no_effect_of_the_rate():
    spec = {"depth": 4, "rates": [1e-3, 3e-4]}
    still = {f"L=4 rate={rate:g}: share that diverges": 0.0 for rate in spec["rates"]}
    (found,) = less_at_lower_rate([{"spec": spec, "numbers": still}]).values()
    assert found == 0.0


@pytest.mark.parametrize(("rate", "converges"), [(1e-9, 1.0), (10.0, 0.0)])
def test_a_target_converges_as_printed_at_a_tiny_rate_only_and_has_the_size_of_the_table_s(rate, converges):
    found = converges_as_printed(PrintedDivergence((3, 2), rate, steps=40, rows=64), 7).numbers
    _, Y = data(StackTraining(20, "gdm", 3, rate, 40, rows=64), 7)
    assert found["converges wherever the print has a number"] == converges
    assert found["standard deviation"] == pytest.approx(Y.std(correction=0).item())
    assert ("standard deviation, converges wherever the print has a number" in found) == bool(converges)


def test_cells_that_diverge_in_print_do_not_count(monkeypatch):
    """With five layers only three of eight cells have numbers in print, all of them with a decay of 1e-3 or more."""
    lost = torch.nan
    course = SimpleNamespace(Y=torch.zeros(8, 4, 1), final=[lost, lost, 0.9, 0.9, lost, lost, lost, 0.9])
    monkeypatch.setattr("gramian.experiments.c_deep_nfa.divergence.fit", lambda training, seed: course)
    assert converges_as_printed(PrintedDivergence((5,)), 0).numbers["converges wherever the print has a number"] == 1
    assert converges_as_printed(PrintedDivergence((5, 4)), 0).numbers["converges wherever the print has a number"] == 0
    assert PrintedDivergence().depths == (5, 4)
    course.final[2] = lost
    assert converges_as_printed(PrintedDivergence((5,)), 0).numbers["converges wherever the print has a number"] == 0


def test_a_depth_that_diverges_is_not_forgotten_when_the_next_one_converges(monkeypatch):
    def fit(training, seed):
        return SimpleNamespace(Y=torch.zeros(8, 4, 1), final=[torch.nan if training.depth == 5 else 0.9] * 8)

    monkeypatch.setattr("gramian.experiments.c_deep_nfa.divergence.fit", fit)
    assert converges_as_printed(PrintedDivergence((5, 4)), 0).numbers["converges wherever the print has a number"] == 0
    assert converges_as_printed(PrintedDivergence((4, 5)), 0).numbers["converges wherever the print has a number"] == 0
