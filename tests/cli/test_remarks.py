"""Remarks on columns that may be meant otherwise."""

import warnings

import numpy as np
import pytest

from gramian.cli.remarks import remarks, without_repeated_remarks
from gramian.tables.preprocessing import TableReader

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)


def found(values):
    plain = RNG.normal(size=len(values)).round(4).astype(str)
    return remarks(pd.DataFrame({"a column": pd.Series(values, dtype=object), "plain": plain}))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "2", "3.5", "?"], "(--missing '?' makes it an empty cell)"),
        (["1", "2", "3.5", "7", "-", "?"], "(--missing - --missing '?' makes them empty cells)"),
        (["1", "2", "3.5", "NA"], "'NA' (1 row) is read as missing"),
        (["24.07.2008", "1/2/1999"], "read with the day first, as '24.07.2008' shows"),
        (["4.7.2008", "1.2.1999"], "no entry has a number above 12"),
        (["13/2/2021", "2/13/2021", "1/1/2020"], "holds dates with the day first and dates with the month first"),
        ([*(f"{k}.5.2020" for k in range(1, 13)), "unclear"], "--missing unclear makes it dates"),
        (["1,200", "13,400"], "'1,200' is read as 1,200"),
        (["12 kg", "13 kg", "15 lb"], "different units ('kg', 'lb')"),
        (["0", "1", "2", "4"], "--drop 'a column' if it is only an index"),
        (RNG.permutation(900)[:50].astype(str), "is it an identifier? --drop 'a column' leaves it out"),
        ([f"{k:09x}" for k in RNG.integers(0, 2**35, 50)], "is not used: its values are codes that differ in every"),
    ],
)
def test_a_column_that_may_be_meant_otherwise_has_a_remark(values, words):
    lines = found(values)
    assert len(lines) == 1
    assert lines[0].startswith("'a column'")
    assert words in lines[0]


@pytest.mark.parametrize(
    "values",
    [
        ["$12", "$15"],
        ["12 %", "13.5%"],
        ["1,200.50", "3"],
        ["3", "1", "2", "4"],
        ["red", "blue", "1"],
        ["2020-01-01", "2021-01-01", "2022-01-01"],
        [None, None, None],
    ],
)
def test_a_column_with_one_reading_has_none(values):
    assert found(values) == []


def test_values_are_never_called_empty_cells():
    """A bound or an answer is information: no option is offered that throws it away."""
    for values in (["<1", "1", "2", ">2"], ["1", "2", "3", ">4", "never"], ["below21", "21-25", "26-30", "50plus"]):
        lines = found(values)
        assert lines
        assert not any("--missing" in line for line in lines)


def test_the_warning_of_a_fit_is_not_repeated():
    frame = pd.DataFrame({"code": [f"{k:09x}" for k in range(10**9, 10**9 + 50)], "x": RNG.normal(size=50)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with without_repeated_remarks():
            TableReader.fit(frame, "auto", "RFMRegressor")
        with pytest.raises(UserWarning, match="'code'"):
            TableReader.fit(frame, "auto", "RFMRegressor")
