"""A CSV is text: what a column means is learned once, from the training rows."""

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.cli.frames import read_frame, rows_for
from gramian.cli.remarks import remarks
from gramian.cli.target import read_target, typed

pd = pytest.importorskip("pandas")


def test_a_row_is_predicted_alike_whatever_other_rows_the_file_has(tmp_path):
    lines = [f"{code},{k % 7},{5 if code == '01234' else 10 + k % 3}" for k in range(20) for code in ("01234", "A1")]
    train, few, more = (tmp_path / name for name in ("train.csv", "few.csv", "more.csv"))
    train.write_text("\n".join(["code,k,y", *lines]))
    frame = read_frame(train)
    model = RFMRegressor(preset="fast").fit(frame[["code", "k"]], typed(frame["y"]).to_numpy())
    few.write_text("code,k\n01234,3\n")
    more.write_text("code,k\n01234,3\nA1,3\n")
    assert model.predict(read_frame(few))[0] == model.predict(read_frame(more))[0]
    assert abs(model.predict(read_frame(few))[0] - 5) < 1


def test_words_for_nothing_are_levels_and_only_nothing_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("grade,x\nNone,1\nNA,2\nmild,\n")
    frame = read_frame(path)
    assert frame["grade"].tolist() == ["None", "NA", "mild"]
    assert frame["x"].isna().tolist() == [False, False, True]
    assert typed(frame["grade"]).tolist() == ["None", "NA", "mild"]


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


def test_text_that_stands_for_nothing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\nNA,?\n1,2\n")
    assert read_frame(path, ["NA", "?"]).isna().sum().tolist() == [1, 1]
    assert read_frame(path).notna().all(axis=None)


def test_two_columns_of_one_name_after_spaces_are_gone(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x, x\n1,2\n")
    with pytest.raises(ValueError, match="two columns named 'x'"):
        read_frame(path)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "2", "3.5", "n/a"], "--missing n/a"),
        (["24.07.2008", "1/2/1999"], "dates are read as 2008-07-24 only"),
        (["1,200", "13,400.50"], "without marks for thousands"),
        (["$12", "$15"], ""),
        (["12 %", "13.5%"], "without units"),
        (["0", "1", "2", "4"], "--drop 'a column'"),
        (["3", "1", "2", "4"], ""),
        (["red", "blue", "1"], ""),
        (["2020-01-01", "2021-01-01", "2022-01-01"], ""),
        ([None, None, None], ""),
    ],
)
def test_remarks(values, words):
    found = remarks(pd.DataFrame({"a column": pd.Series(values, dtype=object)}))
    assert found == [] if not words else words in found[0]


def test_numbers_with_a_few_words_are_no_classes():
    with pytest.raises(ValueError, match=r"75% of the target 'y' are numbers.*--missing '\?'"):
        read_target(pd.Series(["1", "2", "?", "4"], name="y"))
    assert read_target(pd.Series(["1", "b", "c", "d"], name="y"))[1].tolist() == ["1", "b", "c", "d"]


def test_new_rows_with_words_where_numbers_were_learned(tmp_path):
    frame = pd.DataFrame({"x": np.arange(120.0), "id": [f"n{i}" for i in range(120)]})
    model = RFMRegressor(preset="fast", n_rounds=0).fit(frame, np.arange(120.0))
    path = tmp_path / "new.csv"
    path.write_text("x\n1\n?\n")
    with pytest.raises(ValueError, match=r"'x' holds '\?' where the model learned from numbers.*--missing '\?'"):
        rows_for(model, read_frame(path), path)
    rows = rows_for(model, read_frame(path, ["?"]), path)
    assert rows.columns.tolist() == ["x", "id"], "an identifier that the model leaves out may be missing"
    assert np.isfinite(model.predict(rows)).all()
