"""Alignment during training."""

import pytest

from gramian.experiments.c_deep_nfa.curves import Curves
from gramian.experiments.c_deep_nfa.curves import run as curves


def test_the_gain_by_momentum_is_a_mean_over_depths():
    spec = Curves(("gd", "gdm"), (1e-3, 1e-3), (20, 20), (1e-3, 1e-2), (2, 3), tail=2, rows=128)
    result = curves(spec, 0)
    gains = [
        result.numbers[f"relu gdm λ=0.01 L={L} mean"] - result.numbers[f"relu gd λ=0.01 L={L} mean"] for L in (2, 3)
    ]
    assert result.numbers["relu gd: gain by momentum, mean over training"] == pytest.approx(sum(gains) / 2)
    assert len(result.arrays) == 8
