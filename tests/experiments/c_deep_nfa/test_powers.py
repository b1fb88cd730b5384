"""Powers of the AGOP: how much nearer to the theorem's power the best one is with weight decay."""

import pytest

from gramian.experiments.c_deep_nfa.powers import Powers, nearer, run

KEY = "unbalanced: distance of the best power from 1, least minus most decay"


def record(balanced, least, most):
    start = "balanced" if balanced else "unbalanced"
    numbers = {
        f"{start} λ=1e-05: distance of the best power from 1": least,
        f"{start} λ=0.001: distance of the best power from 1": 9.0,
        f"{start} λ=0.01: distance of the best power from 1": most,
    }
    return {"spec": {"balanced": balanced, "decays": [1e-3, 1e-2, 1e-5]}, "numbers": numbers}


def test_the_distances_of_the_extreme_decays_are_compared_for_unbalanced_starts_only():
    assert nearer([record(True, 0.7, 0.1), record(False, 0.3, 0.1)]) == pytest.approx({KEY: 0.2})
    assert nearer([record(True, 0.7, 0.1)]) == {}


def test_networks_that_are_not_trained_show_no_effect_of_weight_decay():
    """The distance itself is small for them, as if the theorem's power were the best."""
    spec = Powers("sgd", 0.0, 2, balanced=False, decays=(1e-5, 1e-2), depths=(2, 3), tail=1)
    numbers = run(spec, 0).numbers
    assert numbers["unbalanced λ=0.01: distance of the best power from 1"] <= 0.2
    assert nearer([{"spec": vars(spec), "numbers": numbers}]) == {KEY: 0.0}
