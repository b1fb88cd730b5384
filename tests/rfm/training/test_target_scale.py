"""The automatic scale of a target: a logarithm where it predicts better, whatever unit, offset or direction."""

import numpy as np
import pytest

from gramian.rfm.training.target_scale import choose_transform

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
SKEWED = np.exp(2 * X[:, 0])
ONES = np.ones(300)


def test_a_skewed_target_that_is_smooth_on_a_logarithm_is_fitted_there():
    assert choose_transform(X, SKEWED, ONES, seed=0).name == "shifted-log"


@pytest.mark.parametrize(
    "y",
    [X[:, 0], np.full(300, 7.0), RNG.exponential(size=300)],
    ids=["not skewed", "constant", "skewed without a relation to X"],
)
def test_other_targets_stay_as_they_are(y):
    assert choose_transform(X, y, ONES, seed=0).name == "none"


def test_few_rows_stay_as_they_are():
    assert choose_transform(X[:29], SKEWED[:29], ONES[:29], seed=0).name == "none"


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (lambda y: y + 1e6, lambda t: t - 1e6),
        (lambda y: 1e-3 * y, lambda t: 1e3 * t),
        (lambda y: -y, lambda t: -t),
    ],
    ids=["offset", "unit", "direction"],
)
def test_offset_unit_and_direction_do_not_matter(change, back):
    reference = choose_transform(X, SKEWED, ONES, seed=0)
    found = choose_transform(X, change(SKEWED), ONES, seed=0)
    assert found.name == reference.name
    np.testing.assert_allclose(
        back(found.inverse_transform(found.transform(change(SKEWED)))), SKEWED, rtol=1e-4, atol=1e-6
    )


def test_a_tail_to_the_left_is_the_mirror_image_of_one_to_the_right():
    right, left = (choose_transform(X, y, ONES, seed=0) for y in (SKEWED, -SKEWED))
    np.testing.assert_allclose(left.transform(-SKEWED), -right.transform(SKEWED), atol=1e-9)


def test_the_common_size_of_all_weights_does_not_matter():
    assert choose_transform(X, SKEWED, 1e-6 * ONES, seed=0) == choose_transform(X, SKEWED, ONES, seed=0)
