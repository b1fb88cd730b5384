"""Alignment during training."""

import pytest

from gramian.experiments.c_deep_nfa.curves import Curves, derive, gained
from gramian.experiments.c_deep_nfa.curves import run as curves


def test_the_gain_by_momentum_is_a_mean_over_depths():
    spec = Curves(("gd", "gdm"), (1e-3, 1e-3), (20, 20), (1e-3, 1e-2), (2, 3), tail=2, rows=128)
    result = curves(spec, 0)
    gains = [
        result.numbers[f"relu gdm λ=0.01 L={L} mean"] - result.numbers[f"relu gd λ=0.01 L={L} mean"] for L in (2, 3)
    ]
    assert result.numbers["relu gd: gain by momentum, mean over training"] == pytest.approx(sum(gains) / 2)
    assert len(result.arrays) == 8


def test_the_closed_share_of_untrained_networks_is_zero_at_every_depth():
    spec = {"optimisers": ["sgd"], "decays": [1e-2], "depths": [2, 5], "link": "relu"}
    flat = {f"relu sgd λ=0.01 L={L}": {"alignment": [rho] * 4} for L, rho in ((2, 0.94), (5, 0.91))}
    assert set(derive([{"spec": spec, "arrays": flat}]).values()) == {0.0}
    closed = {f"relu sgd λ=0.01 L={L}": {"alignment": [rho, 1.0]} for L, rho in ((2, 0.94), (5, 0.91))}
    found = derive([{"spec": spec, "arrays": closed}])
    assert found["relu sgd: closed share, shallow minus deep"] == pytest.approx(0.0)
    assert found["relu sgd: closed share"] == pytest.approx(0.5)


def test_the_share_explained_by_momentum_is_a_difference_and_zero_without_training():
    """The share without momentum alone is small for networks that are not trained at all."""
    names = [f"gauss {name} λ=0.001 L={depth} explained" for name in ("gd", "gdm") for depth in (2, 5)]
    found = gained([{"numbers": dict(zip(names[:2], (0.1, 0.2), strict=True))}, {"numbers": {names[2]: 0.8}}])
    assert found == pytest.approx({"gauss gd λ=0.001 L=2: explained by momentum": 0.7})
    spec = Curves(("gd", "gdm"), (0.0, 0.0), (4, 4), (1e-3,), (2, 5), link="gauss", tail=1)
    assert set(gained([{"numbers": curves(spec, 0).numbers}]).values()) == {0.0}
