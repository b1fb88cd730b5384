"""Columns that number the rows."""

import numpy as np
import pytest

from gramian.tables import TableEncoder
from gramian.tables.identifiers import is_identifier_name, names_rows, numbers_rows

RNG = np.random.default_rng(0)
ONES = np.ones(200)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("row", np.arange(200.0), True),
        ("row", RNG.permutation(33_000)[:200] * 1.0, True),
        ("customer_id", np.rint(1e6 * RNG.lognormal(size=200)) + np.arange(200), True),
        ("income", np.rint(1e6 * RNG.lognormal(size=200)), False),
        ("area", np.rint(1e5 * RNG.gamma(3, size=200)), False),
        ("age", RNG.integers(18, 90, 200) * 1.0, False),
        ("customer_id", RNG.normal(size=200), False),
        ("customer_id", np.repeat(np.arange(100.0), 2), False),
        ("row", np.full(200, np.nan), False),
    ],
)
def test_whole_numbers_that_are_spread_evenly_or_named_so_number_the_rows(name, values, expected):
    assert numbers_rows(name, values, ONES) is expected


def test_repeated_rows_have_no_value_of_their_own():
    assert not numbers_rows("id", np.arange(200.0), 2 * ONES)
    assert not numbers_rows("id", np.arange(10.0), np.ones(10))
    assert names_rows(96, 100)
    assert not names_rows(90, 100)


def test_measured_numbers_are_rarely_flagged():
    """Of columns of different whole numbers from common distributions, few are taken for identifiers."""
    draws = [RNG.normal(size=300), RNG.lognormal(size=300), RNG.exponential(size=300), RNG.standard_t(3, size=300)]
    flagged = [numbers_rows("x", np.rint(1e9 * draw), np.ones(300)) for draw in draws]
    assert not any(flagged)


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "PassengerId", "orderID", "row number", "uuid", "user-id"])
def test_names_of_identifiers(name):
    assert is_identifier_name(name)


@pytest.mark.parametrize("name", ["paid", "humid", "width", "grid", "identity", "kids", "casino", ""])
def test_other_names(name):
    assert not is_identifier_name(name)


def test_numbers_are_flagged_and_used_and_codes_are_dropped():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "customer_id": RNG.permutation(2000)[:200],
            "code": [f"{k:012x}" for k in RNG.integers(0, 2**47, 200)],
            "x": RNG.normal(size=200).round(3),
            "gap": [None, *"abc" * 66, "d"],
        }
    )
    encoder = TableEncoder().fit(frame)
    number, code = encoder.records_[:2]
    assert number.names_rows
    assert number.encoded == ("customer_id",)
    assert code.kind == "identifier"
    assert code.encoded == ()
    assert encoder.notes_ == (
        "'customer_id' is different in (almost) every row: it may be an identifier",
        "'code' is not used: its values are codes that differ in every row",
    )
    assert [record.missing for record in encoder.records_] == [0, 0, 0, 1]
