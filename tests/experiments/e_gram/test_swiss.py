"""The virtual update of the roll, and the sum of its covariance shift."""

import torch

from gramian.experiments.e_gram import swiss


def test_virtual_points_follow_the_gradient_at_the_inputs():
    course = swiss.unroll(swiss.RollTraining(30, width=6, steps=4), seed=1)
    longer = swiss.unroll(swiss.RollTraining(30, width=6, steps=4, virtual_rate=1.4), seed=1)
    for once, twice in zip(course.virtual, longer.virtual, strict=True):
        torch.testing.assert_close(twice - course.X, 2 * (once - course.X))


def test_for_small_steps_the_summed_shift_is_the_change_of_the_gram_matrix():
    course = swiss.unroll(swiss.RollTraining(30, width=6, steps=20, rate=1e-3), seed=1)
    change = course.grams[-1] - course.grams[0]
    assert float((course.shift - change).norm() / change.norm()) < 1e-3
