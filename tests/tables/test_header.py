"""The first line of a table: names, checks of names, and files without a line of names."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramian.tables.frame_files import read_frame
from gramian.tables.header import check_names, check_table, looks_like_a_row, read_header

pytest.importorskip("pandas")
HEADERS = [
    "area,rooms,rent\n1,2,3\n",
    "area;rooms;rent\n1,5;2;3\n",
    "area\trooms\trent\n1\t2\t3\n",
    '" area ","a, b","x\ny"\n1,2,3\n',
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("text", HEADERS)
def test_the_names_are_those_of_the_whole_table(tmp_path, text, packed, encoding):
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    content = text.encode(encoding)
    path.write_bytes(gzip.compress(content) if packed else content)
    assert read_header(path) == read_frame(path).columns.tolist()


def test_names_by_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2,3\n4,5,6\n")
    assert read_header(path, header=False) == ["x0", "x1", "x2"]
    assert read_header(tmp_path / "t.parquet") is None


def test_a_table_is_checked_by_its_first_line(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_bytes(b"area,rooms,rent\n" + b"\xff" * 10)  # the rest is not looked at
    check_table(path, ["rent"])
    with pytest.raises(ValueError, match=r"has no column 'rents'; did you mean 'rent'\?"):
        check_table(path, ["rents"])
    with pytest.raises(ValueError, match="has no column 'rent'; it has x0, x1, x2"):
        check_table(path, ["rent"], header=False)
    with pytest.raises(FileNotFoundError, match=r"did you mean 'houses\.csv'"):
        check_table(tmp_path / "house.csv")
    broken = tmp_path / "t.csv.gz"
    broken.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="cannot be read as a table"):
        check_table(broken)


def test_only_close_names_are_suggested(tmp_path):
    columns = ["city", "price", "city_development_index"]
    with pytest.raises(ValueError, match="it has city, price, city_development_index"):
        check_names(["colour"], columns, tmp_path)
    with pytest.raises(ValueError, match=r"did you mean 'city_development_index'\?"):
        check_names(["City_Developement_Index"], columns, tmp_path)


ROWS = {
    "numbers": ["5.1,3.5", "4.9,3.0"],
    "with labels": ["0,0.2,Feb,FALSE", "1,0.1,Mar,TRUE", "2,0,Feb,FALSE"],
    "two counted by chance": ["0,1,Feb", "0,0,Feb"],
    "gaps": ["1,,a", "2,3,a", ",4,b"],
    "decimal commas": ["1,5;a", "2,5;a"],
}
NAMES = {
    "texts above numbers": ["area,rooms", "1,2"],
    "one text above numbers": ["1,2,rent", "4,5,6"],
    "counted": ["0,1,2,3", "5,1,3,2"],
    "years": ["2019,2020,2021", "1,2,3"],
    "a table of texts": ["name,city", "Ann,Rome", "Bob,Oslo"],
    "one line": ["1,2"],
    "country and years": ["country,2019,2020,2021", "Peru,1,2,3"],
}


def cells(lines):
    return [line.split(";" if ";" in line else ",") for line in lines]


@pytest.mark.parametrize("lines", ROWS.values(), ids=ROWS)
def test_a_row_of_values_is_recognised(lines):
    assert looks_like_a_row(cells(lines))


@pytest.mark.parametrize("lines", NAMES.values(), ids=NAMES)
def test_a_line_of_names_is_left_alone(lines):
    assert not looks_like_a_row(cells(lines))


@given(st.lists(st.lists(st.floats(-1e3, 1e3).map(str), min_size=3, max_size=3), min_size=2, max_size=6))
def test_names_of_letters_above_numbers_are_always_names(rows):
    assert not looks_like_a_row([["a", "b", "c"], *rows])
