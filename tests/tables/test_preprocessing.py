"""Raw tables become standardised numbers, and wrong entries are named by column."""

import numpy as np
import pandas as pd
import pytest

from gramian.tables.preprocessing import Preprocessing, TableReader
from gramian.tables.scaling import Scaler

X = np.random.default_rng(0).normal(size=(60, 3))


def preprocessing_of(table):
    reader, rows = TableReader.fit(table, "auto", "RFMRegressor")
    return Preprocessing(reader, Scaler.fit(rows, np.ones(len(rows))), rows.mean(axis=0))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_named_by_column(bad):
    holes = X.copy()
    holes[5, 2] = bad
    with pytest.raises(ValueError, match=r"infinity in column 2 \(1 entries\)"):
        TableReader.fit(holes, "auto", "RFMRegressor")
    with pytest.raises(ValueError, match="infinity in column 'c'"):
        TableReader.fit(pd.DataFrame(holes, columns=list("abc")), "auto", "RFMRegressor")
    fitted = preprocessing_of(X)
    for read in (fitted.reader.encode, fitted.transform, lambda rows: fitted.reader.encode_block(rows, X.mean(axis=0))):
        with pytest.raises(ValueError, match="infinity in column 2"):
            read(holes)


def test_missing_entries_of_the_training_table_are_filled_and_marked():
    holes = X.copy()
    holes[::7, 2] = np.nan
    fitted = preprocessing_of(holes)
    assert fitted.reader.encoder.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x2__missing"]
    assert fitted.columns.names == ("x0", "x1", "x2")
    assert np.isfinite(fitted.transform(holes)).all()


def test_column_means_replace_entries_missing_at_prediction_alone_with_a_warning():
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = preprocessing_of(frame)
    holes = frame.copy()
    holes.loc[3, "b"] = np.nan
    with pytest.warns(UserWarning, match="1 entries of X are missing in column 'b'"):
        found = fitted.transform(holes)
    np.testing.assert_array_equal(found, fitted.transform(holes.fillna({"b": X[:, 1].mean()})))


def test_tables_of_other_columns_are_refused():
    fitted = preprocessing_of(pd.DataFrame(X, columns=list("abc")))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(pd.DataFrame(X, columns=list("zbc")))
    with pytest.raises(ValueError, match="3 features"):
        preprocessing_of(X).transform(X[:, :2])
