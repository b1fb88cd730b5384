"""Texts with one reading."""

import datetime as dt

import numpy as np
import pytest

from gramian.tables.plain_texts import (
    GAPS,
    NA_WORDS,
    count_na_words,
    is_gap,
    parse_all,
    parse_boolean,
    parse_float,
    parse_instants,
    parse_iso,
    parse_number,
)


@pytest.mark.parametrize("text", sorted(GAPS | NA_WORDS))
def test_texts_of_missing_values_are_gaps_with_blanks_around_them(text):
    assert is_gap(text)
    assert is_gap(f" {text} ")


@pytest.mark.parametrize("text", ["-", "?", "0", "none", "na", "Nan Goldin"])
def test_other_texts_are_no_gaps(text):
    assert not is_gap(text)


def test_a_word_of_the_column_is_no_gap_and_a_blank_always_is():
    assert not is_gap("NA", levels={"NA"})
    assert is_gap("", levels={""})


def test_words_for_missing_are_counted():
    values = np.array(["NA", " NA", None, 5, "null", "x", "", "nan"], dtype=object)
    assert count_na_words(values) == {"NA": 2, "null": 1}
    assert count_na_words(np.array(["None", "a"])) == {"None": 1}
    assert count_na_words(np.array([1.0, np.nan])) == {}


def test_all_texts_are_parsed_or_none():
    assert parse_all(["True", "false"], parse_boolean) == [1.0, 0.0]
    assert parse_all(["1", "True"], parse_number) == [1.0, 1.0]
    assert parse_all(["1", "True"], parse_float) is None
    assert parse_all(["nan"], parse_float) is None


def test_dates_in_iso_format_are_in_utc():
    assert parse_iso(" 2024-02 ") == dt.datetime(2024, 2, 1)
    assert parse_iso("2024-02-29T12:00+01:00") == dt.datetime(2024, 2, 29, 11)
    assert parse_instants(["2024-02-30"]) is None
    assert parse_instants(["0001-01-01T00:00+05:00"]) is None
    with pytest.raises(ValueError, match="no date in ISO format"):
        parse_iso("29.02.2024")
