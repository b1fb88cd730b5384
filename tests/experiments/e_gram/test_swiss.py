"""The virtual update of the roll, and the sum of its covariance shift."""

from itertools import pairwise

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


def test_frozen_weights_stay_and_their_virtual_points_move_by_one_gradient():
    course = swiss.unroll(swiss.RollTraining(30, width=6, steps=3), seed=1, frozen=True)
    assert all(bool((gram == course.grams[0]).all()) for gram in course.grams)
    steps = [after - before for before, after in pairwise(course.virtual)]
    torch.testing.assert_close(steps[0], steps[2])  # the gradient at the same points and weights
    trained = swiss.unroll(swiss.RollTraining(30, width=6, steps=3), seed=1)
    torch.testing.assert_close(trained.virtual[1], course.virtual[1])  # the first step uses the initial weights
    assert float((trained.virtual[3] - course.virtual[3]).abs().max()) > 1e-5
