"""Conventions of columns of written numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.tables.number_texts import NumberText


def read(*texts):
    found = NumberText.of(texts)
    assert found is not None
    return [found.read(text) for text in texts]


@pytest.mark.parametrize(
    ("texts", "kind", "values"),
    [
        (["$1,037.50", "$12", "($3)"], "money", [1037.5, 12, -3]),
        (["1.037,50 €", "€ 12"], "money", [1037.5, 12]),
        (["€110.5M", "€565K", "€0"], "money", [110.5e6, 565e3, 0]),
        (["$5", "7.25"], "money", [5, 7.25]),
        (["12 %", "12.5%", "0"], "percent", [12, 12.5, 0]),
        (["12 kg", "3.5kg", "7 kg"], "quantity", [12, 3.5, 7]),
        (["1.5k", "2M", "3k"], "formatted number", [1500, 2e6, 3000]),
        (["1,200", "15", "1,200,300"], "formatted number", [1200, 15, 1_200_300]),
        (["1,00,000", "2,000"], "formatted number", [100_000, 2000]),
        (["1 234", "12 345,5"], "formatted number", [1234, 12345.5]),
        (["1'234.5", "7"], "formatted number", [1234.5, 7]),
        (["1,5", "-2,75", "10"], "formatted number", [1.5, -2.75, 10]),
        (["(120)", "3,000"], "formatted number", [-120, 3000]),
        (["<1", "1", "2", "3", ">3"], "bounded number", [0.5, 1, 2, 3, 4]),
        (["10-20", "20-40", "40+"], "bounded number", [15, 30, 46.25]),
        (["1", "2", "3", "never"], "number or word", [1, 2, 3, None]),
        (["$1", "$2", "$3", "free"], "number or word", [1, 2, 3, None]),
    ],
)
def test_columns_are_read_in_their_convention(texts, kind, values):
    found = NumberText.of(texts)
    assert found.kind == kind
    assert read(*texts) == values


@pytest.mark.parametrize(
    "texts",
    [
        ["red", "blue"],
        ["$5", "€5", "$7"],
        ["5 kg", "5 lb", "7 kg"],
        ["5 kg", "5", "7 kg"],
        ["2WD", "4WD"],
        ["3-1", "2-4", "1-1"],
        ["1", "2", "a"],
        ["1", "2", "3", "a", "b", "c"],
        ["1.2.3", "4.5.6", "7.8.9"],
        [f"{555 + k}-{1000 + k}" for k in range(60)],
    ],
)
def test_other_columns_are_no_numbers(texts):
    assert NumberText.of(texts) is None


def test_the_other_entries_decide_between_decimals_and_thousands():
    assert read("1.200 €", "3.400 €") == [1200, 3400]
    assert NumberText.of(["1.200 €", "3.400 €"]).ambiguous == "1.200"
    assert read("1.200 €", "0.350 €") == [1.2, 0.35]
    assert read("1.200 €", "3.40 €") == [1.2, 3.4]
    assert read("1.200 kg", "3.400 kg", "5 kg") == [1.2, 3.4, 5]
    assert read("1,200", "3,40") == [1.2, 3.4]
    assert NumberText.of(["1,200", "3,400.5"]).ambiguous == ""


def test_a_bound_is_beyond_its_number_and_less_than_half_of_it():
    years = NumberText.of([*map(str, range(1, 21)), ">20", "<1", "20+"])
    assert [years.read(text) for text in ("<1", "20", "20+", ">20")] == [0.5, 20, 20.5, 21]
    size = NumberText.of(["<10", "50-99", "100-499", "500-999", "1000-4999", "10000+"])
    assert size.read("<10") == 5
    assert 10_000 < size.read("10000+") < 15_000


def test_later_texts_in_another_unit_are_not_read():
    weight = NumberText.of(["12 kg", "3 kg", "5 kg"])
    assert weight.read("4") == 4
    assert weight.read("4 lb") is None
    assert weight.read("$4") is None
    assert weight.read("heavy") is None
    comma = NumberText.of(["1,5", "2,75"])
    assert comma.read("3.25") == 3.25


def test_one_year_and_two_years_have_one_unit():
    years = NumberText.of(["< 1 year", "1 year", "2 years", "3 years", "10+ years"])
    assert (years.kind, years.unit) == ("bounded number", "years")
    assert [years.read(text) for text in ("< 1 year", "1 year", "3 years")] == [0.5, 1, 3]
    assert 10 < years.read("10+ years") < 11
    assert years.read("3 months") is None


def test_descriptions_are_words():
    assert NumberText.of(["$1,000", "$2"]).description() == "money in $ with commas between thousands"
    assert NumberText.of(["1 kg", "2 kg", ">2 kg"]).description() == "numbers in kg and bounds"
    assert NumberText.of(["1,5"]).description() == "numbers with a decimal comma"
    assert NumberText.of(["1k", "2M", "3k"]).description() == "numbers with k for thousands and M for millions"


@settings(max_examples=60)
@given(st.lists(st.floats(-1e9, 1e9).map(lambda x: round(x, 2)), min_size=3, max_size=20, unique=True), st.randoms())
def test_money_of_both_conventions_is_read_back(values, random):
    """A number written in dollars or in euros is the number again, whatever the others and their order are."""
    dollars = [f"-${-x:,.2f}" if x < 0 else f"${x:,.2f}" for x in values]
    euros = [f"{x:,.2f} €".translate(str.maketrans(",.", ".,")) for x in values]
    for texts in (dollars, euros):
        assert np.allclose(read(*texts), values, rtol=0, atol=1e-9)
        turned = random.sample(texts, len(texts))
        assert NumberText.of(turned) == NumberText.of(texts)
