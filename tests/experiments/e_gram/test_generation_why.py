"""The part of a training after its first eighth."""

import pytest

from gramian.experiments.e_gram.generation_why import late_part


def test_the_part_before_an_eighth_is_left_out():
    found = late_part([0, 1, 2, 3, 8, 16], [0.5, 0.9, 0.2, 0.4, 0.3, 0.6])
    assert found == pytest.approx({"order": (5 - 1) / 6, "rise": 0.4, "over start": 0.1})


def test_a_fall_is_negative():
    found = late_part([0, 1, 4, 8], [0.1, 0.9, 0.8, 0.7])
    assert found == pytest.approx({"order": -1.0, "rise": -0.2, "over start": 0.6})
