"""One written number taken apart."""

import pytest

from gramian.tables.number_words import Amount, NumberParts, take_apart


def one(text):
    found = take_apart(text)
    assert found is not None
    assert found.relation == "="
    return found.amounts[0]


@pytest.mark.parametrize(
    ("text", "sign", "body", "currency", "unit"),
    [
        ("5", 1, "5", "", ""),
        ("-5.5", -1, "5.5", "", ""),
        ("−5", -1, "5", "", ""),
        ("1e-3", 1, "1e-3", "", ""),
        ("$1,037.50", 1, "1,037.50", "$", ""),
        ("-$5", -1, "5", "$", ""),
        ("$-5", -1, "5", "$", ""),
        ("($120.5)", -1, "120.5", "$", ""),
        ("(120)", -1, "120", "", ""),
        ("€ 12", 1, "12", "€", ""),
        ("1.037,50 €", 1, "1.037,50", "€", ""),
        ("1\u202f234 EUR", 1, "1 234", "EUR", ""),
        ("USD 12", 1, "12", "USD", ""),
        ("500 kr.", 1, "500", "kr.", ""),
        ("€110.5M", 1, "110.5", "€", "M"),
        ("1.2 M$", 1, "1.2", "$", "M"),
        ("12.5%", 1, "12.5", "", "%"),
        ("12 kg", 1, "12", "", "kg"),
        ("5.3 km/h", 1, "5.3", "", "km/h"),
        ("3 square metres", 1, "3", "", "square metres"),
        ("20°C", 1, "20", "", "°C"),
    ],
)
def test_a_number_has_a_sign_digits_a_currency_and_a_unit(text, sign, body, currency, unit):
    assert one(text) == Amount(sign, body, currency, unit)


@pytest.mark.parametrize(
    ("relation", "texts"),
    [
        ("<", ["<1", "< 1", "below1", "under 1", "less than 1", "Fewer than 1"]),
        ("<=", ["<=1", "≤1", "up to 1", "at most 1", "1 and under", "1 or less"]),
        (">", [">1", "over 1", "above 1", "more than 1"]),
        (">=", [">=1", "≥ 1", "1+", "1plus", "1 and over", "1 or more", "at least 1"]),
    ],
)
def test_bounds_have_a_relation(relation, texts):
    for text in texts:
        assert take_apart(text) == NumberParts(relation, (Amount(1, "1", "", ""),)), text


def test_a_unit_may_follow_the_plus():
    assert take_apart("10+ years") == NumberParts(">=", (Amount(1, "10", "", "years"),))
    assert take_apart("$120K +") == NumberParts(">=", (Amount(1, "120", "$", "K"),))
    assert take_apart("10+5 years") is None


def test_ranges_have_two_ends_that_share_their_unit():
    for text in ("10-20", "10 – 20", "10 to 20", "10..20"):
        assert take_apart(text) == NumberParts("range", (Amount(1, "10", "", ""), Amount(1, "20", "", ""))), text
    assert take_apart("-5--1").amounts == (Amount(-1, "5", "", ""), Amount(-1, "1", "", ""))
    assert take_apart("$5-10k").amounts == (Amount(1, "5", "$", "k"), Amount(1, "10", "$", "k"))
    assert take_apart("5 - 10 years").amounts[0].unit == "years"
    assert take_apart("5 kg - 10 lb") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "A12",
        "12:30",
        "1/2",
        "2024-03-01",
        "1-2-3",
        "(5",
        "5)",
        "$5€",
        "½",
        "<b>",
        "3-Mar",
        "--5",
        "1 " * 99,
    ],
)
def test_other_texts_are_no_numbers(text):
    assert take_apart(text) is None


def test_a_long_text_is_read_quickly():
    """No text makes the patterns try exponentially many ways."""
    for text in ("1-" * 5000, "1 " * 5000, "a" * 20_000 + "1", "1" + ", " * 9000, "9" * 58 + "x!"):
        assert take_apart(text) is None
