"""Numbers of a course between memorisation and grokking, on curves whose answer is known."""

import numpy as np
import pytest

from gramian.experiments.e_gram import grokking


def test_the_summary_of_a_made_up_course():
    steps = np.arange(101)
    train = np.clip(steps / 20, 0, 1)
    test = np.clip((steps - 40) / 40, 0, 1)
    last = np.clip(steps / 80, 0, 1)
    second = np.where(steps < 40, last / 2, last / 2 + np.clip((steps - 40) / 80, 0, 0.5))
    linearity = np.stack([0 * last, second, last], axis=1)
    rows = tuple(tuple(row) for row in linearity.tolist())
    course = grokking.GrokkingCourse(tuple((5 * steps).tolist()), tuple(train.tolist()), tuple(test.tolist()), rows)
    found = grokking.summary(course)
    assert found["grokked"] == 5 * 76
    assert found["delay"] == 5 * (76 - 20)
    assert found["rise/last"] == pytest.approx((76 - 20) / 80, abs=0.01)
    assert found["gap"] == pytest.approx(0.025 - 0.125, abs=0.01)
    assert found["rise/second"] == pytest.approx(found["rise/last"] - found["gap"], abs=1e-12)
    assert found["late"] == pytest.approx(0.125, abs=0.01)  # it stops rising at step 80
    assert found["test"] == 1
    never = grokking.summary(grokking.GrokkingCourse(course.epochs, course.train, (0.0,) * 101, course.linearity))
    assert never["grokked"] == 500


def test_a_course_that_is_memorised_and_grokked_at_once_has_no_correlation():
    course = grokking.GrokkingCourse(tuple(range(10)), (1.0,) * 10, (1.0,) * 10, ((0.1, 0.2),) * 5 + ((0.1, 0.3),) * 5)
    assert "follow" not in grokking.summary(course)
