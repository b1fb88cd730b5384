"""The kept columns of a mark of known size."""

import pytest

from gramian.experiments.b_rfm.tickets_why import MarkSizes, mark_sizes


def test_only_the_mark_is_kept_where_the_rest_is_noise():
    """A mark of 14 × 14 of the 16 × 16 pixels covers all that differs between the classes."""
    found = mark_sizes(MarkSizes("made", 20, 16, (4, 14)), seed=0)
    assert found.arrays["share"] == pytest.approx([16 / 256, 196 / 256])
    assert 0.5 < found.numbers["ratio/14"] <= 1.05
