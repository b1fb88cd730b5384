"""Composed pictures: every pixel comes from where the description says."""

import numpy as np
import pytest

from gramian.datasets import mark_class, marked_pixels, pair_by_class, resized, street_numbers, unit_rows
from gramian.datasets.composed import STAR, WHITE, grid_of, of_grid


@pytest.fixture
def colour(numbers):
    pictures = numbers.random((12, 10, 14, 3), dtype=np.float32) * 0.8 + 0.1
    return of_grid(pictures, np.arange(12) % 3, "noise")


@pytest.fixture
def grey(numbers):
    return of_grid(numbers.random((30, 28, 28, 1), dtype=np.float32), np.arange(30) % 3, "grey noise")


def test_unit_rows_lie_on_the_sphere_and_keep_their_direction(numbers):
    X = numbers.normal(size=(5, 7))
    U = unit_rows(X)
    np.testing.assert_allclose((U**2).sum(axis=1), 1)
    np.testing.assert_allclose((U * X).sum(axis=1), np.linalg.norm(X, axis=1))
    X[3] = 0
    with pytest.raises(ValueError, match=r"zero row \(3\)"):
        unit_rows(X)


def test_a_mark_changes_its_own_pixels_only(colour):
    at = (1, 5)
    marked = mark_class(colour, 2, at=at)
    mask = marked_pixels(colour.image_shape, at=at)
    np.testing.assert_array_equal(marked.X[:, ~mask], colour.X[:, ~mask])
    shown = marked.X[:, mask].reshape(12, -1, 3)
    np.testing.assert_array_equal(shown[colour.y != 2], 0)
    np.testing.assert_array_equal(shown[colour.y == 2], np.broadcast_to((1, 1, 0), (4, STAR.sum(), 3)))
    block = mask.reshape(10, 14, 3)[1:9, 5:12, 0]
    np.testing.assert_array_equal(block, STAR)
    assert colour.X.min() > 0.05, "the pictures that were given are not changed"


def test_marks_that_do_not_fit_are_refused(colour, grey):
    with pytest.raises(ValueError, match=r"at=\(4, 0\) puts a mark of 8 × 7 pixels outside pictures of 10 × 14"):
        marked_pixels(colour.image_shape, at=(4, 0))
    with pytest.raises(ValueError, match="colour has 3 channels, the pictures have 1"):
        mark_class(grey, 0, colour=WHITE)


def test_resizing_keeps_means_and_constant_pictures(grey):
    half = resized(grey, 14, 14)
    assert half.image_shape == (14, 14)
    np.testing.assert_allclose(half.X.mean(axis=1), grey.X.mean(axis=1), atol=0.01)
    flat = of_grid(np.full((1, 5, 5, 3), 0.25, np.float32), np.zeros(1, np.int64), "flat")
    np.testing.assert_allclose(resized(flat, 12, 7).X, 0.25, rtol=1e-6)


def test_pairs_have_one_label_and_use_no_picture_twice(colour, grey):
    pairs = pair_by_class(colour, resized(grey, 10, 14), 11, seed=1)
    assert pairs.image_shape == (10, 28, 3)
    assert np.bincount(pairs.y).tolist() == [4, 4, 3]
    grid = grid_of(pairs)
    for side, source in ((grid[:, :, :14], colour), (grid[:, :, 14:], resized(grey, 10, 14))):
        pictures = grid_of(source)
        apart = np.abs(side[:, None] - pictures[None]).max(axis=(2, 3, 4))
        found = apart.argmin(axis=1)
        assert apart.min(axis=1).max() < 1e-6
        assert len(set(found)) == 11
        np.testing.assert_array_equal(source.y[found], pairs.y)
    with pytest.raises(ValueError, match="needs 5 pictures of the label 0, and there are 4"):
        pair_by_class(colour, grey, 15)
    with pytest.raises(ValueError, match="no label in common"):
        pair_by_class(colour, of_grid(grid_of(grey), grey.y + 7, ""), 3)


def test_street_numbers_show_the_labelled_digit_in_the_centre(grey):
    """The contrast of the middle columns follows the labelled digit, and no other digit of the set."""
    made = street_numbers(grey, 30, seed=2)
    assert made.X.min() >= 0
    assert made.X.max() <= 1
    middle = grid_of(made).mean(axis=3)[:, 8:24, 11:21]
    ink = grid_of(grey)[..., 0]
    best = np.zeros((30, 30))
    for down in range(-2, 3):
        for right in range(-1, 2):
            part = ink[:, 6 - down : 22 - down, 9 - right : 19 - right]
            best = np.maximum(best, np.abs(np.corrcoef(middle.reshape(30, -1), part.reshape(30, -1))[:30, 30:]))
    np.testing.assert_array_equal(grey.y[best.argmax(axis=1)], made.y)
    assert len(set(best.argmax(axis=1))) == 30


def test_street_numbers_refuse_other_pictures(colour, grey):
    with pytest.raises(ValueError, match="28 × 28 grey pixels"):
        street_numbers(colour, 1)
    with pytest.raises(ValueError, match="at most the number of digits, 30, got 31"):
        street_numbers(grey, 31)
    with pytest.raises(ValueError, match="no image_shape"):
        grid_of(type(grey)(grey.X, grey.y, (), "rows"))
