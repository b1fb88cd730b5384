"""The number format: significant digits, separated thousands, a dash for NaN."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.display import (
    MISSING,
    format_duration,
    format_fixed,
    format_interval,
    format_number,
    format_percent,
    format_plus_minus,
    format_signed,
    format_value,
    more_columns,
    typographic_minus,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (2.0, "2"),
        (0.123456, "0.1235"),
        (0.0001, "0.0001"),
        (0.00001234, "1.234e-5"),
        (999.96, "1,000"),
        (5432.1, "5,432"),
        (9999.5, "10,000"),
        (-392_900.4, "-392,900"),
        (1e11, "100,000,000,000"),
        (1e12, "1e12"),
        (-math.inf, "-∞"),
        (math.nan, MISSING),
        (12_345_678_901_234_567, "12,345,678,901,234,567"),
        (np.float32(0.25), "0.25"),
        (np.int64(60_000), "60,000"),
    ],
)
def test_numbers_have_four_digits_and_separated_thousands(value, text):
    assert format_number(value) == text
    if not math.isnan(value):
        assert format_signed(value) == (text if text.startswith("-") else f"+{text}")


@given(st.floats(min_value=-1e300, max_value=1e300), st.integers(1, 8))
def test_a_formatted_number_reads_back_within_its_digits(value, digits):
    read = float(format_number(value, digits).replace(",", ""))
    assert math.isclose(read, value, rel_tol=0.5001 * 10.0 ** (1 - digits), abs_tol=5e-324)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15), st.integers(0, 6))
def test_fixed_decimals_are_kept(value, decimals):
    text = format_fixed(value, decimals)
    assert len(text.partition(".")[2]) == decimals
    assert text.replace(",", "") == f"{value:.{decimals}f}"


def test_missing_numbers_are_a_dash_in_every_format():
    for form in (format_number, format_signed, format_fixed, format_percent):
        assert form(math.nan) == MISSING


def test_whole_numbers_of_the_users_table_may_be_years():
    assert [format_value(value) for value in (2003, 2003.0, np.int64(2003), 9999)] == ["2003"] * 3 + ["9999"]
    assert [format_value(value) for value in (10_000, 392_900.4, 0.123456)] == ["10,000", "392,900", "0.1235"]


def test_other_values_of_the_users_table_are_shown_as_they_are():
    values = (True, np.bool_(False), "5432", None, np.datetime64("2024-05-01T00:00:00"), math.nan)
    shown = [format_value(value) for value in values]
    assert shown == ["True", "False", "5432", "missing", "2024-05-01", MISSING]


def test_columns_that_are_left_out_are_counted():
    assert [more_columns(count) for count in (1, 2, 1000)] == [
        "1 more column",
        "2 more columns",
        "1,000 more columns",
    ]


def test_only_minus_signs_become_typographic():
    assert typographic_minus("-3 – -1") == "−3 – −1"
    assert typographic_minus("+1.5e-7") == "+1.5e−7"
    assert typographic_minus("x-3, 2024-05-01, leave-one-out, --missing") == (
        "x-3, 2024-05-01, leave-one-out, --missing"
    )


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.91, 0.93567, "0.910 … 0.936"),
        (-5.0, 5.0, "-5 … 5"),
        (1.0, 1.0, "1"),
        (math.nan, math.nan, MISSING),
        (1e-12, 2e-12, "1e-12 … 2e-12"),
        (-math.inf, 2.0, "-∞ … 2"),
        (-123456.0, 234567.0, "-123,456 … 234,567"),
    ],
)
def test_intervals_have_the_decimals_that_their_length_supports(low, high, text):
    assert format_interval(low, high) == text


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (0.92714, 0.0123, "0.927 ± 0.012"),
        (0.92714, None, "0.9271"),
        (3.0, 0.0, "3"),
        (54321.9, 123.0, "54,322 ± 123"),
        (math.nan, None, MISSING),
    ],
)
def test_estimates_have_the_decimals_that_their_interval_supports(mean, half, text):
    assert format_plus_minus(mean, half) == text


def test_durations_have_a_suitable_unit():
    durations = [format_duration(seconds) for seconds in (0.04, 95, 119.6, 3600, 7300)]
    assert durations == ["0.0 s", "95 s", "120 s", "60 min", "2 h 2 min"]
