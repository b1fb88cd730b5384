"""Remarks on columns that seem to be read otherwise than they were meant."""

import pytest

from gramian.cli.remarks import remarks

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "2", "3.5", "n/a"], "--missing n/a"),
        (["24.07.2008", "1/2/1999"], "dates are read in the form 2008-07-24 only"),
        (["1,200", "13,400.50"], "without thousands separators"),
        (["$12", "$15"], ""),
        (["12 %", "13.5%"], "without units"),
        (["0", "1", "2", "4"], "--drop 'a column'"),
        (["3", "1", "2", "4"], ""),
        (["red", "blue", "1"], ""),
        (["2020-01-01", "2021-01-01", "2022-01-01"], ""),
        ([None, None, None], ""),
    ],
)
def test_a_column_that_seems_to_be_misread_gets_a_remark(values, words):
    found = remarks(pd.DataFrame({"a column": pd.Series(values, dtype=object)}))
    assert found == [] if not words else words in found[0]
