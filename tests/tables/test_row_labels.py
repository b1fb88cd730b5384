"""Labels of rows in the index of a frame."""

import numpy as np
import pandas as pd
import pytest

from gramian.tables.row_labels import index_labels

ROWS = np.array([2, 0])


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (["Ann", "Bob", "Cy"], ["Cy", "Ann"]),
        ([7, 5, 3], [3, 7]),
        ([("a", 1), ("a", 2), ("b", 1)], ["('b', 1)", "('a', 1)"]),
    ],
)
def test_labels_follow_the_rows(index, expected):
    index = pd.MultiIndex.from_tuples(index) if isinstance(index[0], tuple) else index
    assert index_labels(pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=index), ROWS).tolist() == expected


def test_dates_stay_dates():
    labels = index_labels(pd.DataFrame({"x": range(3)}, index=pd.date_range("2024-01-01", periods=3)), ROWS)
    assert labels.dtype.kind == "M"


@pytest.mark.parametrize("X", [pd.DataFrame({"x": range(3)}), np.zeros((3, 1)), [[1], [2], [3]]])
def test_positions_are_no_labels(X):
    assert index_labels(X, ROWS) is None


def test_the_index_of_a_dask_frame_is_not_computed():
    dd = pytest.importorskip("dask.dataframe")
    computed = []
    frame = pd.DataFrame({"a": np.arange(6.0)}, index=list("uvwxyz"))
    parts = dd.from_pandas(frame, npartitions=2).map_partitions(lambda f: computed.append(1) or f, meta=frame.iloc[:0])
    computed.clear()
    assert index_labels(parts, np.array([1])) is None
    assert not computed
