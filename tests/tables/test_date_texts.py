"""Conventions of columns of written dates."""

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.tables.date_texts import DateText

ALL = [dt.date(2021, 3, 1) + dt.timedelta(days=11 * k) for k in range(40)]


@pytest.mark.parametrize(
    ("form", "day_first"),
    [
        ("%d/%m/%Y", True),
        ("%m/%d/%Y", False),
        ("%d.%m.%y", True),
        ("%m-%d-%Y", False),
        ("%Y/%m/%d", None),
        ("%Y.%m.%d", None),
        ("%b %d, %Y", None),
        ("%B %d %Y", None),
        ("%d %B %Y", None),
        ("%d-%b-%y", None),
        ("%a, %d %b %Y", None),
        ("%Y-%m-%d", None),
    ],
)
def test_dates_of_a_form_are_read_back(form, day_first):
    texts = [day.strftime(form) for day in ALL]
    found = DateText.of(texts)
    assert found.day_first is day_first
    assert not found.ambiguous
    assert [found.read(text).date() for text in texts] == ALL


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2/02/2023", dt.datetime(2023, 2, 2)),
        ("3/4/21 3:05 PM", dt.datetime(2021, 3, 4, 15, 5)),
        ("3/4/2021 12:30 am", dt.datetime(2021, 3, 4, 0, 30)),
        ("3/4/2021, 23:59:58", dt.datetime(2021, 3, 4, 23, 59, 58)),
        ("3/4/69", dt.datetime(1969, 3, 4)),
        ("3/4/68", dt.datetime(2068, 3, 4)),
        ("Mar 3, 2021", dt.datetime(2021, 3, 3)),
        ("1st May 2020", dt.datetime(2020, 5, 1)),
        ("Sept. 5 2020", dt.datetime(2020, 9, 5)),
        ("Sep 2021", dt.datetime(2021, 9, 1)),
        ("Monday, 7 June 2021 12:00", dt.datetime(2021, 6, 7, 12)),
        ("2021-3-4", dt.datetime(2021, 3, 4)),
        ("2021-03-04T10:00+01:00", dt.datetime(2021, 3, 4, 9)),
    ],
)
def test_single_dates_are_read(text, instant):
    assert DateText.of([text, "12/31/2020"]).read(text) == instant


@pytest.mark.parametrize(
    "text", ["30.02.2021", "13/13/2021", "Feb 30, 2021", "12:30", "March", "Jan 20", "5", "3/4/2021 13:00 PM", "x" * 99]
)
def test_other_texts_are_no_dates(text):
    assert DateText.of([text]) is None


def test_dates_of_both_orders_are_no_column_of_dates():
    assert DateText.of(["13/2/2021", "2/13/2021"]) is None


def test_the_rule_where_no_entry_decides_the_order():
    points, slashes = DateText.of(["02.03.2021", "01.02.1999"]), DateText.of(["02/03/2021", "01/02/1999"])
    assert (points.day_first, points.ambiguous) == (True, True)
    assert (slashes.day_first, slashes.ambiguous) == (False, True)
    assert points.read("02.03.2021") == dt.datetime(2021, 3, 2)
    assert slashes.read("02/03/2021") == dt.datetime(2021, 2, 3)


def test_an_order_that_no_training_row_showed_is_not_guessed():
    words = DateText.of(["Mar 3, 2021", "April 17, 2021"])
    assert words.read("05/06/2021") is None
    assert words.read("2021-06-05") == dt.datetime(2021, 6, 5)


@settings(max_examples=60)
@given(st.lists(st.dates(dt.date(1970, 1, 1), dt.date(2068, 1, 1)), min_size=1, max_size=8), st.randoms())
def test_neither_the_order_of_texts_nor_an_ambiguous_one_changes_the_reading(days, random):
    texts = [day.strftime("%d/%m/%Y") for day in [*days, dt.date(2020, 5, 31)]]
    turned = random.sample(texts, len(texts))
    one, other = DateText.of(texts), DateText.of(turned)
    assert one.day_first
    assert [one.read(text) for text in texts] == [other.read(text) for text in texts]
    assert [one.read(text).date() for text in texts[:-1]] == days
