"""Claims and estimates as text."""

import pytest

from gramian.experiments.formatting import format_estimate
from gramian.experiments.verdict import Estimate
from gramian.report.web import shown


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.92714, 0.0123, "0.927 ± 0.012"),
        (-1234.5, 56.0, "−1234 ± 56"),
        (1926.4, 213.0, "1926 ± 213"),
        (2.5e-9, 1e-10, "2.5e−9 ± 1e−10"),
        (3.0, 0.0, "3"),
        (0.5, None, "0.5"),
        (float("nan"), None, "nan"),
    ],
)
def test_an_interval_has_the_decimals_that_its_width_supports(mean, half, text):
    assert format_estimate(Estimate(mean, half, ())) == text


def test_numbers_as_text():
    assert [shown(x) for x in (0, 1e-7, 123456.7, -0.25, float("inf"))] == ["0", "1e−7", "123457", "−0.25", "∞"]
