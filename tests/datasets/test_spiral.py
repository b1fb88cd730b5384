"""The Swiss roll."""

import numpy as np
import pytest

from gramian.datasets import swiss_roll


def test_radius_and_angle_grow_together():
    """Undo the scaling by the known spiral: the radius of every point is its angle t."""
    data = swiss_roll(n=4000, seed=3)
    t = 1.5 * np.pi * (1 + 2 * data.y)  # the smallest and largest of 4,000 draws are within 0.01 of the ends
    curve = np.stack([t * np.cos(t), t * np.sin(t)], axis=1)
    low, high = curve.min(axis=0), curve.max(axis=0)
    np.testing.assert_allclose(low + data.X * (high - low), curve, atol=0.1)
    np.testing.assert_allclose(np.hypot(*(low + data.X * (high - low)).T), t, atol=0.1)


def test_the_target_is_no_linear_function_of_the_columns():
    data = swiss_roll(n=1000, seed=0)
    A = np.column_stack([np.ones(1000), data.X])
    residual = data.y - A @ np.linalg.lstsq(A, data.y, rcond=None)[0]
    assert residual.var() > 0.5 * data.y.var()


def test_noise_leaves_the_curve_and_needs_at_least_two_rows():
    plain, noisy = swiss_roll(n=200, seed=0), swiss_roll(n=200, noise=0.5, seed=0)
    np.testing.assert_array_equal(plain.y, noisy.y)
    assert np.abs(plain.X - noisy.X).max() > 0.01
    with pytest.raises(ValueError, match="n must be a whole number of at least 2"):
        swiss_roll(n=1)
