"""The first-order prediction of Fig. 6."""

import math

import pytest
import torch

from gramian.experiments.a_alignment import fig6


def test_a_dip_is_measured_from_the_mean_of_the_ends():
    assert fig6._dip([0, 0.5, 1.5, 3, 6], [0.9, 0.4, 0.6, 0.1, 0.7]) == pytest.approx(0.3)


def test_the_linear_part_of_relu_is_a_taylor_expansion_at_a_right_angle():
    # 1/4 + arcsin(cos)/2π in the first layer: cut after the linear term the error is cubic in the cosine.
    errors = []
    for cos in (0.1, 0.2):
        X = torch.tensor([[1.0, 0.0], [cos, math.sqrt(1 - cos**2)]], dtype=torch.float64)
        second = (math.sin(math.acos(cos)) + (math.pi - math.acos(cos)) * cos) / math.pi
        above = 1 / 4 + second / (2 * math.pi)
        errors.append(float(fig6.linear_part_ptk(X)[0, 1]) / above - (1 / 4 + math.asin(cos) / (2 * math.pi)))
    assert errors[1] / errors[0] == pytest.approx(8, rel=0.1)


def test_the_best_constant_is_no_prediction_and_its_gap_is_one():
    """A prediction that is the median of every observed curve: nothing is gained on it, and no activation is worse."""
    curve = {"128": [0.5, 0.9, 0.7], "1024": [0.6, 0.8, 0.7]}
    flat = curve | {"predicted": [0.7] * 3, "linear": [0.7] * 3}
    arrays = {f"{task}_{name}": flat for task in fig6.TASKS for name in fig6.ACTIVATIONS}
    found = fig6.beyond_constants([{"spec": {"widths": [128, 1024]}, "arrays": arrays}])
    assert len(found) == 4
    assert list(found.values()) == pytest.approx([0.0] * 4, abs=1e-12)
