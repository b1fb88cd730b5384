"""Networks of several depths on targets of low rank."""

import pytest
import torch

from gramian.experiments.b_rfm import depth


def test_the_gated_target_has_the_variance_of_its_parts():
    """Half of the rows have x₁x₂ with variance 1/16, half x₃ with variance 1/4, and both have mean 0."""
    X = 0.5 * torch.randn(100_000, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert float(depth.depth_target(X, True).var()) == pytest.approx((1 / 16 + 1 / 4) / 2, rel=0.03)
    assert float(depth.depth_target(X, False).var()) == pytest.approx(1 / 16, rel=0.05)


def test_errors_are_one_minus_r2_and_as_printed_times_the_variance():
    spec = depth.DepthSweep(False, 4, (1, 2), 8, n=40, epochs=1)
    numbers = depth.relative_errors(spec, 0).numbers
    for name in ("nn", "ntk", "ntk+w", "laplace+w"):
        assert numbers[f"error/{name}/2"] == pytest.approx(1 - numbers[f"r2/{name}/2"])
        assert numbers[f"mse/{name}/2"] == pytest.approx(numbers[f"error/{name}/2"] * numbers["variance"])
    assert numbers["laplace minus ntk/1"] == pytest.approx(numbers["error/laplace"] - numbers["error/ntk/1"])
