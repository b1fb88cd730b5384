"""Random targets of rank 2: the networks differ in nothing else."""

import pytest
import torch

from gramian.experiments.c_deep_nfa import other_targets
from gramian.experiments.c_deep_nfa.other_targets import OtherTargets
from gramian.experiments.c_deep_nfa.setting import random_target

SPEC = OtherTargets(3, epochs=20, tail=2, targets=3, rows=64)


def test_equal_targets_have_equal_alignments(monkeypatch):
    one = random_target(2, torch.Generator().manual_seed(5))
    monkeypatch.setattr(other_targets, "random_target", lambda rank, rng: one)
    numbers = other_targets.other_targets(SPEC, 0).numbers
    assert numbers["L=3: mean distance of two targets"] == pytest.approx(0, abs=1e-6)


def test_numbers_are_those_of_the_alignments():
    result = other_targets.other_targets(SPEC, 0)
    a, b, c = result.arrays["L=3"]
    assert result.numbers["L=3: mean"] == pytest.approx((a + b + c) / 3)
    distance = (abs(a - b) + abs(a - c) + abs(b - c)) / 3
    assert result.numbers["L=3: mean distance of two targets"] == pytest.approx(distance)
    assert distance > 0
    assert 0 <= result.numbers["L=3: share at or above the printed"] <= 1
