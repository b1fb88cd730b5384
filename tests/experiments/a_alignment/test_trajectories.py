"""Measurements during training against naive versions."""

import math

import pytest
import torch

from gramian.experiments.a_alignment.network import chain_task, descend, draw_weights, evaluate
from gramian.experiments.a_alignment.trajectories import ChainTraining, at, measure, spread, thin, train_all
from gramian.nets.alignment import centered_nfa, congruence, ptk_centered_nfa, uncentered_nfa


def start_weights(d=5, width=7, n=11, seed=0):
    rng = torch.Generator().manual_seed(seed)
    task = chain_task(n, d, 3, 0.0, rng, tests=4)
    return task, draw_weights(d, width, (0.3, 1.0, 1.0), rng)


@pytest.mark.parametrize("layer", [0, 1])
def test_measures_agree_with_the_library(layer):
    task, start = start_weights()
    initial = evaluate(start, task.X)
    *_, (_, weights, seen) = descend(start, task.X, task.y, 0.3, 20)
    W, W0, J, J0 = weights[layer], start[layer], seen.tangents[layer], initial.tangents[layer]
    K, K_bar = J.mT @ J, (J - J0).mT @ (J - J0)
    found = measure(layer, weights, start, seen, initial)
    moved = W - W0
    gram = moved.mT @ moved
    ratio = (gram @ congruence(moved, K_bar)).trace() / (gram @ congruence(moved, K)).trace()
    assert found == pytest.approx(
        {
            f"uc{layer + 1}": uncentered_nfa(W, K),
            f"c{layer + 1}": centered_nfa(W, W0, K),
            f"ptk{layer + 1}": ptk_centered_nfa(W0, K_bar),
            f"double{layer + 1}": float(ratio),
        }
    )


def test_the_centred_measures_do_not_exist_before_training():
    task, start = start_weights()
    seen = evaluate(start, task.X)
    found = measure(0, start, start, seen, seen)
    assert math.isnan(found["c1"])
    assert math.isnan(found["ptk1"])
    assert math.isnan(found["double1"])
    assert 0 < found["uc1"] <= 1


def test_scales_of_one_seed_share_data_and_random_numbers():
    spec = ChainTraining(n=20, d=6, width=8, steps=20, every=10, scales=(0.25, 1.0))
    found = train_all(spec, seed=3)
    # A ReLU network is homogeneous, so the UC-NFA of the start does not see the scale.
    assert found[0.25]["uc1"][0] == pytest.approx(found[1.0]["uc1"][0], abs=1e-5)
    assert found[0.25]["c1"][-1] != found[1.0]["c1"][-1]
    assert train_all(spec, seed=3)[1.0]["c1"][1:] == found[1.0]["c1"][1:]


def test_curves_are_read_and_shortened():
    found = {0.1: {"t": [0.0, 5.0, 10.0], "c1": [0.0, 0.5, 0.75]}, 1.0: {"t": [0.0, 5.0, 10.0], "c1": [0.0, 0.25, 1.0]}}
    assert at(found[0.1], "c1", 6) == 0.75
    assert spread(found, "c1", 5) == 0.25
    assert thin(found, ("c1",), points=2)["1"] == {"t": [0.0, 10.0], "c1": [0.0, 1.0]}
