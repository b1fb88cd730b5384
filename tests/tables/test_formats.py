"""Suffixes of tables: those that are read and written, and errors that say what to do with others."""

from pathlib import Path

import pytest

from gramian.tables.formats import is_packed, output_suffix, table_suffix

BOTH = {
    "t.csv": ".csv",
    "t.TSV": ".tsv",
    "t.tab": ".tab",
    "t.csv.gz": ".csv",
    "a.b/t.v2.tsv.GZ": ".tsv",
    "t.parquet": ".parquet",
    "t.pq": ".pq",
    "t.xlsx": ".xlsx",
    "-": ".csv",
}


@pytest.mark.parametrize(("name", "suffix"), BOTH.items())
def test_formats_that_are_read_and_written(name, suffix):
    assert table_suffix(Path(name)) == output_suffix(Path(name)) == suffix
    assert is_packed(Path(name)) == name.lower().endswith(".gz")


@pytest.mark.parametrize("name", ["t", "t.txt", "t.gz", "t.parquet.gz", "t.xlsx.gz", "t.pdf", ".csv"])
def test_others_are_refused_with_the_list(name):
    for of in (table_suffix, output_suffix):
        with pytest.raises(ValueError, match=r"gives its format; use one of \.csv, \.tsv, .*\.xlsx"):
            of(Path(name))


def test_lines_of_json_are_written_only():
    assert output_suffix(Path("p.JSONL")) == ".jsonl"
    with pytest.raises(ValueError, match="gives its format"):
        table_suffix(Path("p.jsonl"))


@pytest.mark.parametrize(("name", "advice"), [("t.xls", r"save the table as \.xlsx"), ("t.ods", "OpenDocument")])
def test_formats_that_people_have_get_advice(name, advice):
    with pytest.raises(ValueError, match=advice):
        table_suffix(Path(name))
