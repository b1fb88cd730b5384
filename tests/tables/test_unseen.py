"""Counts of levels that no training row has."""

import numpy as np
import pytest

from gramian.tables import TableEncoder, unseen_levels

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
SIZES = pd.CategoricalDtype(["S", "M", "L"], ordered=True)


def frame(colours, sizes=("S", "L"), numbers=(1.0, 2.0)):
    n = len(colours)
    return pd.DataFrame({"colour": colours, "size": np.resize(sizes, n), "number": np.resize(numbers, n)})


def encoder():
    return TableEncoder().fit(frame(["red", "blue", "red"]).astype({"size": SIZES}))


def test_rows_of_new_levels_are_counted_per_column():
    new = frame(["green", "red", "lime", "green", None], ["S", "XL", "M"])
    assert unseen_levels(encoder(), new) == {"colour": {"green": 2, "lime": 1}, "size": {"XL": 2}}


def test_the_container_does_not_matter():
    new = frame(["green", "red", "lime", "green"], ["S", "XL"])
    expected = unseen_levels(encoder(), new)
    assert unseen_levels(encoder(), pl.from_pandas(new)) == expected
    assert unseen_levels(encoder(), new.to_numpy(dtype=object)) == expected


def test_nothing_is_counted_where_all_levels_are_known_or_missing():
    assert unseen_levels(encoder(), frame(["red", None, "blue"])) == {}
    assert unseen_levels(None, np.ones((2, 2))) == {}


def test_levels_without_a_column_of_their_own_are_known():
    values = ["a"] * 5 + ["b"] * 4 + ["c"] * 3 + ["d"] * 2 + ["e"]
    table = TableEncoder(max_categories=3).fit([[value, float(i)] for i, value in enumerate(values)])
    assert table.records_[0].encoded[:2] == ("x0=a", "x0=b")
    assert unseen_levels(table, [["d", 1.0], ["c", 1.0], ["e", 1.0], ["f", 1.0]]) == {"x0": {"e": 1, "f": 1}}
