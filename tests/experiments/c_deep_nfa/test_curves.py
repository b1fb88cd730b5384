"""Alignment during training."""

import pytest

from gramian.experiments import papers
from gramian.experiments.c_deep_nfa.curves import Curves, derive
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


def test_targets_that_are_not_learned_are_not_near_each_other():
    def records(end):
        return [
            {
                "spec": {"optimisers": ["sgd"], "decays": [1e-2], "depths": [2, 5], "link": link},
                "arrays": {f"{link} sgd λ=0.01 L={L}": {"alignment": [0.9, end, end]} for L in (2, 5)},
            }
            for link in ("identity", "relu")
        ]

    claim = next(c for c in papers.find("c/fig7").claims if c.key == "closed share, distance of the targets")
    assert not claim.admits(derive(records(0.9))[claim.key])
    assert claim.admits(derive(records(1.0))[claim.key])
