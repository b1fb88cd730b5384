"""Tables on disk: every format gives the same frame, and a CSV is read as text."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.tables import TableEncoder
from gramian.tables.frame_files import read_frame, write_frame
from gramian.tables.target_column import typed_column
from quick_models import houses

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize(
    ("name", "separator"), [("a.csv", ","), ("a.csv", ";"), ("a.CSV", "\t"), ("a.tsv", "\t"), ("a.tab", "\t")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_text_format_gives_the_same_table(tmp_path, name, separator, packed):
    text = houses().to_csv(sep=separator, index=False).encode()
    path = tmp_path / (name + ".gz" if packed else name)
    path.write_bytes(gzip.compress(text) if packed else text)
    read = read_frame(path)
    assert read.columns.tolist() == houses().columns.tolist()
    np.testing.assert_array_equal(TableEncoder().fit_transform(read), TableEncoder().fit_transform(houses()))


def test_a_frame_survives_a_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    write_frame(houses(), tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_frame(tmp_path / "a.parquet"), houses())


def test_types_do_not_depend_on_the_length_of_the_file(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 300_000 + "x,3\n")
    assert read_frame(path)["a"].map(type).nunique() == 1


@pytest.mark.parametrize("content", [b"", b"a,b\n", b'a,b\n"1,2\n3', b"a,b\n1,2,3,4\n1,2\n"])
def test_a_file_that_is_not_a_table_is_refused(tmp_path, content):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"bad\.csv (cannot be read as a table|holds no rows)"):
        read_frame(path)
    broken = tmp_path / "bad.csv.gz"
    broken.write_bytes(b"no gzip")
    with pytest.raises((ValueError, OSError)):
        read_frame(broken)


def test_without_pandas_the_error_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    monkeypatch.setitem(sys.modules, "pandas", None)  # importing it raises an ImportError
    with pytest.raises(ImportError, match=r'reading tables needs pandas: pip install "gramian\[tables\]"'):
        read_frame(tmp_path / "t.csv")


def test_a_row_is_predicted_alike_whatever_other_rows_the_file_has(tmp_path):
    lines = [f"{code},{k % 7},{5 if code == '01234' else 10 + k % 3}" for k in range(20) for code in ("01234", "A1")]
    train, few, more = (tmp_path / name for name in ("train.csv", "few.csv", "more.csv"))
    train.write_text("\n".join(["code,k,y", *lines]))
    frame = read_frame(train)
    model = RFMRegressor(preset="fast").fit(frame[["code", "k"]], typed_column(frame["y"]).to_numpy())
    few.write_text("code,k\n01234,3\n")
    more.write_text("code,k\n01234,3\nA1,3\n")
    assert model.predict(read_frame(few))[0] == model.predict(read_frame(more))[0]
    assert abs(model.predict(read_frame(few))[0] - 5) < 1


def test_words_such_as_none_are_levels_and_only_an_empty_cell_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("grade,x\nNone,1\nNA,2\nmild,\n")
    frame = read_frame(path)
    assert frame["grade"].tolist() == ["None", "NA", "mild"]
    assert frame["x"].isna().tolist() == [False, False, True]
    assert typed_column(frame["grade"]).tolist() == ["None", "NA", "mild"]


def test_a_file_as_spreadsheets_write_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("﻿ Fläche ;Ort;Preis\n10,5;Zürich;1,25\n-3;a, b;\n".encode())
    frame = read_frame(path)
    assert frame.columns.tolist() == ["Fläche", "Ort", "Preis"]
    assert frame["Fläche"].tolist() == ["10.5", "-3"]
    assert frame["Ort"].tolist() == ["Zürich", "a, b"]
    assert frame["Preis"].isna().tolist() == [False, True]


def test_another_encoding_is_read_with_a_warning(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("city,x\nZürich,1\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="not in UTF-8"):
        assert read_frame(path)["city"].tolist() == ["Zürich"]


def test_texts_that_mean_an_empty_cell(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\nNA,?\n1,2\n")
    assert read_frame(path, ["NA", "?"]).isna().sum().tolist() == [1, 1]
    assert read_frame(path).notna().all(axis=None)


def test_two_columns_of_one_name_after_spaces_are_gone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x, x\n1,2\n")
    with pytest.raises(ValueError, match="two columns named 'x'"):
        read_frame(path)


@pytest.mark.parametrize("header", ["x,x,t", " x,x ,t", "x,t,y,t,x", '"x","x",t'])
def test_two_columns_of_one_name_are_refused_by_name(tmp_path, header):
    path = tmp_path / "t.csv"
    path.write_text(header + "\n" + ",".join("1" * (header.count(",") + 1)) + "\n")
    with pytest.raises(ValueError, match=r"t\.csv has two columns named 'x'.*rename them"):
        read_frame(path)
    path.write_text("x,,t,\n1,2,3,4\n")  # a column without a name is none of them
    assert read_frame(path).shape == (1, 4)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_text_in_utf_16_and_32(tmp_path, encoding, separator, recwarn):
    path = tmp_path / "t.csv"
    content = f"city{separator}x\r\nZürich{separator}1\r\n東京{separator}2\r\n".encode(encoding)
    path.write_bytes(content)
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(content))
    for file in (path, packed):
        assert read_frame(file).to_dict("list") == {"city": ["Zürich", "東京"], "x": ["1", "2"]}
    assert not recwarn.list
    path.write_bytes(content[:-3])  # half a letter
    with pytest.raises(ValueError, match=r"t\.csv cannot be read as a table"):
        read_frame(path)


FORMULAS = ["=1+1", "-x", "-1.5", "plain", None]


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.csv.gz"])
def test_text_like_a_formula_is_escaped_in_csv_files_unless_asked_otherwise(tmp_path, name):
    frame = pd.DataFrame({"=name": FORMULAS, "number": [-1.0, -2.0, 0.5, 1.0, -3.0]})
    write_frame(frame, tmp_path / name)
    back = read_frame(tmp_path / name)
    assert back.columns.tolist() == ["'=name", "number"]
    assert back["'=name"].fillna("").tolist() == ["'=1+1", "'-x", "-1.5", "plain", ""]
    assert back["number"].astype(float).tolist() == frame["number"].tolist()
    assert frame["=name"].tolist()[:4] == FORMULAS[:4], "the frame itself is unchanged"
    write_frame(frame, tmp_path / name, escape=False)
    assert read_frame(tmp_path / name)["=name"].fillna("").tolist() == ["=1+1", "-x", "-1.5", "plain", ""]
    write_frame(frame, tmp_path / "p.jsonl")
    assert pd.read_json(tmp_path / "p.jsonl", lines=True)["=name"][0] == "=1+1"


class TestWithoutColumnNames:
    ROWS = "0,0.2,Feb,FALSE\n1,0.1,Mar,TRUE\n0,0.3,Feb,FALSE\n"

    def test_a_first_line_of_values_is_warned_about_and_can_be_kept(self, tmp_path, recwarn):
        path = tmp_path / "t.csv"
        path.write_text(self.ROWS)
        with pytest.warns(UserWarning, match=r"its first line \(0, 0\.2, Feb, FALSE\) looks like a row.*--no-header"):
            assert len(read_frame(path)) == 2
        recwarn.clear()
        frame = read_frame(path, header=False)
        assert frame.columns.tolist() == ["x0", "x1", "x2", "x3"]
        assert frame.iloc[0].tolist() == ["0", "0.2", "Feb", "FALSE"]
        assert len(frame) == 3
        assert not recwarn.list

    def test_equal_values_in_the_first_line_are_not_called_columns_to_rename(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text("0,0,Feb\n1,1,Mar\n0,1,Feb\n")
        with pytest.raises(ValueError, match=r"two columns named '0': its first line .* --no-header"):
            read_frame(path)
        assert read_frame(path, header=False).shape == (3, 3)

    def test_a_parquet_file_has_names(self, tmp_path):
        (tmp_path / "t.parquet").write_bytes(b"")
        with pytest.raises(ValueError, match="leave --no-header out"):
            read_frame(tmp_path / "t.parquet", header=False)


def test_standard_input(monkeypatch):
    content = "city;x\nZürich;1,5\n".encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert read_frame(Path("-")).to_dict("list") == {"city": ["Zürich"], "x": ["1.5"]}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(ValueError, match="standard input cannot be read as a table"):
        read_frame(Path("-"))


def test_an_unknown_format_is_refused_before_pandas_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match=r"t\.txt: the suffix of a table gives its format"):
        read_frame(tmp_path / "t.txt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_frame(tmp_path / "t.csv")
