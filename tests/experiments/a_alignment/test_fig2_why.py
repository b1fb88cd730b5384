"""The explanation of the second row of Fig. 2."""

import pytest

from gramian.experiments.a_alignment import fig2_why


def test_ranges_are_named_by_the_scale_that_changes():
    spec = fig2_why.SecondLayer(((0.1, 1.0), (0.1, 0.01)), 20, n=32, d=8, width=16)
    numbers = fig2_why.run(spec, 0).numbers
    ends = [value for name, value in numbers.items() if name.endswith("UC-NFA")]
    assert numbers["20 steps, range over s₁"] == pytest.approx(max(ends) - min(ends))
    assert all(value > 0 for name, value in numbers.items() if name.endswith("moved"))
