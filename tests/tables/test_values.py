"""Recognition of values, and their reading as numbers, instants and levels."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from gramian.tables.plain_texts import GAPS, NA_WORDS
from gramian.tables.values import (
    Levels,
    UnreadableError,
    is_plain_numbers,
    missing_in,
    read_instants,
    read_levels,
    read_numbers,
    recognise,
    text_of,
)

NAN = float("nan")


def objects(*values):
    return np.fromiter(values, dtype=object, count=len(values))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.array([1, 2]), "number"),
        (np.array([True, False]), "boolean"),
        (np.array([NAN, NAN]), "empty"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "date"),
        (np.array([5], dtype="m8[h]"), "duration"),
        (objects(1, Decimal("2.5"), None), "number"),
        (objects(True, None), "boolean"),
        (objects(True, 2), "number"),
        (objects(dt.date(2024, 1, 1), None), "date"),
        (objects(dt.timedelta(days=1), dt.time(6)), "duration"),
        (objects("1", " 2.5", ""), "number"),
        (objects("true", "False"), "boolean"),
        (objects("2024-01-01", "2024-02"), "date"),
        (objects("1", "red"), "text"),
        (objects(1, "red"), "text"),
        (objects("", " ", "nan", None), "empty"),
        (np.array(["a", "b"]), "text"),
    ],
)
def test_the_kind_of_values_is_recognised(values, kind):
    assert recognise(values)[0] == kind


def test_text_is_not_parsed_on_request():
    kind, levels = recognise(objects("1", "2"), parse=False)
    assert kind == "text"
    assert levels.texts == ["1", "2"]


@pytest.mark.parametrize("text", ["", " ", "nan", "NaN", "NAN", "<NA>", "NaT"])
def test_texts_of_missing_values_are_missing(text):
    assert read_levels(objects(text, "a")).codes.tolist() == [-1, 0]


@pytest.mark.parametrize("text", ["-", "?", "none", "nothing", "na"])
def test_other_texts_are_levels(text):
    assert read_levels(objects(text)).texts == [text]


def test_words_for_missing_are_those_of_pandas():
    """A CSV file that pandas reads and the same file as text have the same missing values."""
    io, pd = pytest.importorskip("io"), pytest.importorskip("pandas")
    words = [*sorted(NA_WORDS), *sorted(GAPS), "-", "?", "x", "none", "nil"]
    file = io.StringIO("\n".join(["word,end", *(f'"{word}",1' for word in words)]))
    missing = pd.read_csv(file)["word"].isna()
    read = read_levels(objects(*words)).codes < 0
    # pandas keeps two texts that a missing value is printed as by NumPy and by itself
    assert [w for w, a, b in zip(words, missing, read, strict=True) if a != b] == ["NAN", "NaT"]


def test_a_word_for_missing_is_a_level_where_it_is_one_of_the_column():
    assert read_levels(objects("NA", "a", "null"), {"NA"}).texts == ["NA", "a"]
    assert recognise(objects("NA", "a"), parse=False)[1].texts == ["NA", "a"]


def test_missing_values_of_every_type_are_found():
    assert missing_in(objects(None, NAN, np.datetime64("NaT"), Decimal("NaN"), 0, "")).tolist() == [1, 1, 1, 1, 0, 0]
    assert missing_in(np.array([1.0, NAN])).tolist() == [False, True]
    assert not missing_in(np.array([1, 2])).any()


def test_plain_numbers_are_complete_numbers_and_booleans():
    assert is_plain_numbers(objects(1, 2.5, True))
    assert not is_plain_numbers(objects(1, None))
    assert not is_plain_numbers(objects(1, "2"))
    assert not is_plain_numbers(np.array(["1"]))


def test_numbers_of_every_form_are_read():
    assert read_numbers(objects("1e3", "-2", "True")).tolist() == [1000, -2, 1]
    assert read_numbers(objects(dt.timedelta(hours=12), dt.time(18))).tolist() == [0.5, 0.75]
    assert read_numbers(np.array([36], dtype="m8[h]")).tolist() == [1.5]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (objects("1", "many"), "the value 'many'"),
        (np.array(["2024-01-01"], dtype="M8[D]"), "dates, for example"),
        (objects(10**400), "an integer too large for a float"),
        (objects([1, 2]), "values of type list"),
        (objects(1j), "Complex data not supported"),
    ],
)
def test_values_that_are_no_numbers_are_named(values, message):
    with pytest.raises(UnreadableError, match=message):
        read_numbers(values)


def test_instants_are_in_utc():
    berlin = dt.timezone(dt.timedelta(hours=1))
    found = read_instants(objects(dt.datetime(2024, 1, 1, 1, tzinfo=berlin), dt.date(2024, 1, 2), None))
    assert found.astype("M8[h]").astype(str).tolist() == ["2024-01-01T00", "2024-01-02T00", "NaT"]
    with pytest.raises(UnreadableError, match="the value 'soon'"):
        read_instants(objects("2024-01-01", "soon"))
    with pytest.raises(UnreadableError, match="numbers"):
        read_instants(np.array([5.0]))


def test_equal_values_of_different_types_are_one_level():
    assert read_levels(objects(1, 1.0, "1", np.int8(1), Decimal(1))).texts == ["1"]
    assert text_of(2.5) == text_of(np.float64(2.5)) == "2.5"
    assert text_of(b"a") == "a"
    with pytest.raises(UnreadableError, match="UTF-8"):
        text_of(b"\xff")


def test_levels_map_values_to_rows():
    levels = Levels(np.array([1, -1, 0]), ["a", "b"])
    assert levels.map([10.0, 20.0], NAN).tolist()[0] == 20.0
    assert np.isnan(levels.map([10.0, 20.0], NAN)[1])
    assert read_levels(levels) is levels
    assert len(levels) == 3
