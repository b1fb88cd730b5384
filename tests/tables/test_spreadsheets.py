"""Excel workbooks: every cell is read as a CSV of the same table would have it."""

import sys
from datetime import date, datetime, time

import pytest

from gramian.tables.frame_files import read_frame, write_frame
from gramian.tables.spreadsheets import cell_text

pd = pytest.importorskip("pandas")


@pytest.fixture
def book():
    openpyxl = pytest.importorskip("openpyxl", reason='reading Excel workbooks needs openpyxl ("gramian[excel]")')
    return openpyxl.Workbook()


def saved(book, path, *rows):
    for row in rows:
        book.worksheets[0].append(row)
    book.save(path)
    return path


class TestReading:
    def test_cells_are_the_texts_of_a_csv(self, book, tmp_path):
        names = ["city", "x", "when", "open"]
        first = ["Zürich", 1.5, datetime(2024, 5, 1), True]
        path = saved(book, tmp_path / "t.xlsx", names, first, ["=1+1", 3.0, None, False], [None] * 4)
        other = tmp_path / "t.csv"
        other.write_text("city,x,when,open\nZürich,1.5,2024-05-01,TRUE\n,3,,FALSE\n")
        # A formula that Excel has never computed has no value.
        pd.testing.assert_frame_equal(read_frame(path), read_frame(other), check_dtype=False)

    def test_a_sheet_without_names(self, book, tmp_path):
        frame = read_frame(saved(book, tmp_path / "t.xlsx", [1, "a"], [2, "b"]), header=False)
        assert frame.to_dict("list") == {"x0": ["1", "2"], "x1": ["a", "b"]}

    def test_further_sheets_are_told_about(self, book, tmp_path):
        book.create_sheet("notes").append(["nothing"])
        path = saved(book, tmp_path / "t.xlsx", ["x"], [1])
        with pytest.warns(UserWarning, match="has 2 sheets: only the first, 'Sheet', is read"):
            assert read_frame(path).shape == (1, 1)

    def test_equal_names_and_other_files_are_refused(self, book, tmp_path):
        with pytest.raises(ValueError, match="two columns named 'x'"):
            read_frame(saved(book, tmp_path / "t.xlsx", ["x", "x"], [1, 2]))
        (tmp_path / "no.xlsx").write_bytes(b"x,y\n1,2\n")
        with pytest.raises(ValueError, match=r"no\.xlsx cannot be read as a table: it is no workbook"):
            read_frame(tmp_path / "no.xlsx")


@pytest.mark.usefixtures("book")
def test_a_frame_survives_and_text_is_never_a_formula(tmp_path):
    frame = pd.DataFrame({"=name": ["=1+1", "plain", None], "number": [-1.5, 2.0, 0.25]})
    write_frame(frame, tmp_path / "p.xlsx")
    back = read_frame(tmp_path / "p.xlsx")
    assert back.columns.tolist() == ["=name", "number"]
    assert back["=name"].fillna("").tolist() == ["=1+1", "plain", ""]
    assert back["number"].tolist() == ["-1.5", "2", "0.25"]


def test_without_openpyxl_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").write_bytes(b"")
    with pytest.raises(ImportError, match=r'reading Excel workbooks needs openpyxl: pip install "gramian\[excel\]"'):
        read_frame(tmp_path / "t.xlsx")
    with pytest.raises(ImportError, match="writing Excel workbooks needs openpyxl"):
        write_frame(pd.DataFrame({"x": [1]}), tmp_path / "p.xlsx")


def test_values_as_text():
    values = [None, "", "a", 3, 3.0, 1e20, 0.1, True, date(2024, 5, 1), datetime(2024, 5, 1, 12), time(8, 30)]
    texts = [None, None, "a", "3", "3", "1e+20", "0.1", "TRUE", "2024-05-01", "2024-05-01 12:00:00", "08:30:00"]
    assert [cell_text(value) for value in values] == texts


def test_percent_is_the_percent_that_excel_shows(book, tmp_path):
    path = tmp_path / "t.xlsx"
    sheet = book.worksheets[0]
    for row in (["share", "price"], [0.632, 0.632], [0.07, 2], [None, 3], ["none", 4]):
        sheet.append(row)
    for k, form in enumerate(["0%", "0.00%", "0%", "0%"], start=2):
        sheet.cell(k, 1).number_format = form
    book.save(path)
    assert read_frame(path)["share"].fillna("").tolist() == ["63.2%", "7%", "", "none"]
    assert read_frame(path)["price"].tolist() == ["0.632", "2", "3", "4"]
