"""Claims and estimates as text."""

import math

import pytest

from gramian.experiments import number, unavailable
from gramian.experiments.estimates import Estimate
from gramian.experiments.formatting import format_band, format_estimate, format_paper_value


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.92714, 0.0123, "0.927 ± 0.012"),
        (-1234.5, 56.0, "-1,234 ± 56"),
        (1926.4, 213.0, "1,926 ± 213"),
        (2.5e-9, 1e-10, "2.5e-9 ± 1e-10"),
        (3.0, 0.0, "3"),
        (0.5, None, "0.5"),
        (float("nan"), None, "nan"),
    ],
)
def test_an_interval_has_the_decimals_that_its_width_supports(mean, half, text):
    assert format_estimate(Estimate(mean, half, ())) == text


def test_nan_in_a_paper_is_a_value_and_a_missing_number_is_not():
    claim = number("x", math.nan, 0.0, "the paper prints nan")
    assert (format_paper_value(claim), format_band(claim)) == ("nan", "nan")
    assert format_estimate(None) == format_paper_value(unavailable("x", "no data")) == "–"
