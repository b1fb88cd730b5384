"""Sums and standardised rows of tables outside memory are those of the same table in memory."""

import numpy as np
import torch

from gramian.tables.blocks import ArrayBlocks
from gramian.tables.preprocessing import TableReader
from gramian.tables.scaling import Scaler
from gramian.tables.streaming import PrepareBlock, prepared_rows, sum_columns
from gramian.tables.targets import NumericTarget, TargetTransform

N = 1500
READER = TableReader("RFMRegressor", 4, None, None)
TARGET = NumericTarget(TargetTransform("none"), flat=True)


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -3]
    return X, X[:, 0] * (X[:, 1] - 5) / 10 + X[:, 3]


def test_scalers_are_those_of_the_whole_table():
    X, y = table()
    X[:, 2] = 7.0  # constant
    X[:, 1] += 1e7  # far from 0
    weights = np.random.default_rng(0).uniform(0.5, 2, N)
    about = np.append(X[:100].mean(axis=0), y[:100].mean())
    blocks = ArrayBlocks(X, y, weights, size=400)
    sums = sum_columns(blocks, READER, X[:100].mean(axis=0), TARGET, about)
    for columns, whole in ((slice(0, 4), X), (slice(4, 5), y[:, None])):
        expected, found = Scaler.fit(whole, weights), sums.scaler(about, columns, center=True, scale=True)
        np.testing.assert_allclose(found.center, expected.center, rtol=1e-12)
        np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-9)
        np.testing.assert_allclose(found.transform(whole), expected.transform(whole), rtol=1e-6, atol=1e-8)
    assert (sums.scaler(about, slice(0, 4), True, True).transform(X)[:, 2] == 0).all()
    plain = sums.scaler(about, slice(0, 4), center=False, scale=False)
    assert (plain.transform(X) == X).all()


def test_prepared_rows_are_in_a_temporary_file(tmp_path):
    X, y = table()
    weights = np.linspace(1, 2, N)
    scalers = Scaler(np.zeros(4), np.ones(4)), Scaler(np.zeros(1), np.ones(1))
    prepare = PrepareBlock(READER, np.zeros(4), TARGET, *scalers, torch.float32)
    with prepared_rows(ArrayBlocks(X, y, weights, size=400), prepare, tmp_path) as source:
        assert list(tmp_path.iterdir())
        assert source.n_rows == N
        at = torch.tensor([N - 1, 0, 700])
        rows = source.take(at)
        np.testing.assert_array_equal(rows.X.numpy(), X[at].astype(np.float32))
        np.testing.assert_array_equal(rows.Y.numpy()[:, 0], y[at])
        np.testing.assert_array_equal(rows.weights.numpy(), weights[at])
    assert not list(tmp_path.iterdir())
