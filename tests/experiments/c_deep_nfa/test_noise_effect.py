"""The effect of label noise by the size of the target: networks that differ in nothing else."""

import pytest
import torch

from gramian.experiments.c_deep_nfa.noise_effect import NoiseBySize, noise_by_size
from gramian.experiments.c_deep_nfa.other_targets import random_targets, train_on
from gramian.experiments.c_deep_nfa.setting import StackTraining
from gramian.experiments.c_deep_nfa.target_size import scaled

SPEC = NoiseBySize(depth=3, sizes=(1.0, 4.0), epochs=300, tail=10, rows=128)


def test_numbers_are_those_of_networks_that_are_trained_alone():
    result = noise_by_size(SPEC, 1)
    X, Y = random_targets(2, 2, 128, seed=1)
    noise = torch.randn(128, 1, generator=torch.Generator().manual_seed(3001))
    training = StackTraining(2, "sgdm", 3, 1e-4, 300, (1e-5,), tail=10, rows=128)
    alone = {
        (name, k, size): train_on(training, X, scaled(Y[k : k + 1], (size,)) + shift, 1)[0]
        for name, shift in (("clean", 0.0), ("noisy", noise))
        for k in (0, 1)
        for size in (1.0, 4.0)
    }
    for name in ("clean", "noisy"):
        for k in (0, 1):
            assert result.arrays[name][k] == pytest.approx([alone[name, k, size] for size in (1.0, 4.0)], abs=1e-5)
    effects = {size: sum(alone["noisy", k, size] - alone["clean", k, size] for k in (0, 1)) / 2 for size in (1.0, 4.0)}
    for size in effects:
        assert result.numbers[f"size {size:g}: with noise minus without"] == pytest.approx(effects[size], abs=1e-5)
    assert result.numbers["fall with the size"] == pytest.approx(effects[1.0] - effects[4.0], abs=1e-5)
    assert abs(effects[1.0]) > 1e-4, "noise must have an effect"
