"""Blocks of tables outside memory."""

import importlib

import numpy as np
import pandas as pd
import pytest

from gramian.tables.blocks import as_blocks

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
dataset, parquet = (importlib.import_module(f"pyarrow.{name}") for name in ("dataset", "parquet"))


def test_rows_are_found_in_any_container(tmp_path):
    rng, n = np.random.default_rng(1), 1500
    data = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    data["city"] = rng.choice(["Oslo", "Rome", None], n, p=[0.5, 0.4, 0.1])
    data["price"] = data.a + (data.city == "Rome")
    parquet.write_table(pa.Table.from_pandas(data), tmp_path / "t.parquet", row_group_size=200)
    at = np.array([0, 199, 200, n - 1])
    for source in (tmp_path / "t.parquet", dataset.dataset(tmp_path / "t.parquet"), pa.Table.from_pandas(data)):
        blocks = as_blocks(source, "price")
        assert blocks.n_rows == n
        found = blocks.rows(at)
        pd.testing.assert_frame_equal(found.X, data.drop(columns="price").iloc[at].reset_index(drop=True))
        np.testing.assert_array_equal(found.y, data.price.iloc[at])
