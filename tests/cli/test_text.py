"""A CSV is text: what a column means is learned once, from the training rows."""

import pytest

from gramian import RFMRegressor
from gramian.cli.frames import read_frame
from gramian.cli.target import typed

pytest.importorskip("pandas")


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
