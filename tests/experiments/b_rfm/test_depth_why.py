"""The kernel on a first layer along training."""

import pytest

from gramian.experiments.b_rfm.depth import DepthSweep, measure
from gramian.experiments.b_rfm.depth_why import AlongTraining, along_training


def test_the_last_look_is_the_measurement_of_fig_10():
    sweep = DepthSweep(True, 6, (2,), 16, n=60, epochs=4)
    numbers = along_training(AlongTraining(sweep, (1, 4)), 3).numbers
    expected = measure(sweep, 3).numbers
    for ours, theirs in (("nn", "r2/nn"), ("laplace+w", "r2/laplace+w"), ("train", "train"), ("share", "share")):
        assert numbers[f"{ours}/4"] == pytest.approx(expected[f"{theirs}/2"], abs=1e-6)
    assert numbers["fall"] == numbers["lead/1"] - numbers["lead/4"]
    assert numbers["lead/1"] == numbers["laplace+w/1"] - numbers["nn/1"]
    assert numbers["nn/1"] != numbers["nn/4"]
