"""Model files and the rows that are given to their models."""

import numpy as np
import pytest

from gramian import RFMRegressor
from gramian.cli.model_file import rows_for
from gramian.tables.frame_files import read_frame

pd = pytest.importorskip("pandas")


def test_new_rows_with_text_where_the_model_was_fitted_to_numbers(tmp_path):
    frame = pd.DataFrame({"x": np.arange(120.0), "id": [f"n{i}" for i in range(120)]})
    model = RFMRegressor(preset="fast", n_rounds=0).fit(frame, np.arange(120.0))
    path = tmp_path / "new.csv"
    path.write_text("x\n1\n?\n")
    with pytest.raises(ValueError, match=r"'x' holds '\?' where the model was fitted to numbers.*--missing '\?'"):
        rows_for(model, read_frame(path), path)
    rows = rows_for(model, read_frame(path, ["?"]), path)
    assert rows.columns.tolist() == ["x", "id"], "an identifier that the model leaves out may be missing"
    assert np.isfinite(model.predict(rows)).all()


def test_a_word_for_missing_in_a_column_of_numbers_is_an_empty_cell(tmp_path):
    frame = pd.DataFrame({"x": ["NA", *map(str, range(119))]})
    model = RFMRegressor(preset="fast", n_rounds=0).fit(frame, np.arange(120.0))
    path = tmp_path / "new.csv"
    path.write_text("x\n1\nN/A\n\n")
    rows = rows_for(model, read_frame(path), path)
    assert np.array_equal(model.predict(rows), model.predict(pd.DataFrame({"x": ["1", None]})))
