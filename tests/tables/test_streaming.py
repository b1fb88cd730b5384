"""Passes over a table that is not in memory give the numbers of the table in memory."""

import numpy as np
import pytest
import torch

from gramian.tables.blocks import ArrayBlocks
from gramian.tables.preprocessing import TableReader
from gramian.tables.scaling import Scaler
from gramian.tables.streaming import PrepareBlock, count_labels, prepared_rows, sum_columns
from gramian.tables.targets import ClassTarget, NumericTarget, TargetTransform

N = 1500
NUMBERS = NumericTarget(TargetTransform("none"), flat=True)


@pytest.fixture
def table():
    X = np.random.default_rng(0).normal(size=(N, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, -3]
    return X, X[:, 0] * (X[:, 1] - 5) / 10 + X[:, 3], np.random.default_rng(1).uniform(0.5, 2, N)


def reader_of(X):
    return TableReader.fit(X, "auto", "RFMRegressor")[0]


def test_scalers_are_those_of_the_whole_table(table):
    X, y, weights = table
    X[:, 2] = 7.0  # constant
    X[:, 1] += 1e7  # far from 0
    about = np.append(X[:100].mean(axis=0), y[:100].mean())
    blocks = ArrayBlocks(X, y, weights, size=400)
    sums = sum_columns(blocks, reader_of(X), about[:4], NUMBERS, about)
    for columns, whole in ((slice(0, 4), X), (slice(4, 5), y[:, None])):
        expected, found = Scaler.fit(whole, weights), sums.scaler(about, columns, center=True, scale=True)
        np.testing.assert_allclose(found.center, expected.center, rtol=1e-12)
        np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-9)
        np.testing.assert_allclose(found.transform(whole), expected.transform(whole), rtol=1e-6, atol=1e-8)
    assert (sums.scaler(about, slice(0, 4), True, True).transform(X)[:, 2] == 0).all()
    plain = sums.scaler(about, slice(0, 4), center=False, scale=False)
    assert (plain.transform(X) == X).all()


def test_the_digest_identifies_rows_in_their_order(table):
    X, y, weights = table
    about = np.zeros(5)
    digests = [
        sum_columns(ArrayBlocks(*rows, size=400), reader_of(X), np.zeros(4), NUMBERS, about).digest
        for rows in ((X, y, weights), (X.copy(), y, weights), (X[::-1], y, weights), (X, y, weights + 1e-9))
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_weights_must_be_positive_and_finite(table, bad):
    X, y, weights = table
    weights[1200] = bad
    with pytest.raises(ValueError, match="sample_weight must be positive and finite in every row"):
        sum_columns(ArrayBlocks(X, y, weights, size=400), reader_of(X), np.zeros(4), NUMBERS, np.zeros(5))


def test_infinity_in_a_later_block_is_refused(table):
    X, y, _ = table
    reader = reader_of(X)
    X[1200, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in column 1"):
        sum_columns(ArrayBlocks(X, y, size=400), reader, np.zeros(4), NUMBERS, np.zeros(5))


def test_prepared_rows_are_in_a_file_that_is_removed(table, tmp_path):
    X, y, weights = table
    scalers = Scaler(np.ones(4), np.full(4, 2.0)), Scaler(np.zeros(1), np.ones(1))
    prepare = PrepareBlock(reader_of(X), np.zeros(4), NUMBERS, *scalers, torch.float32)
    with prepared_rows(ArrayBlocks(X, y, weights, size=400), prepare, tmp_path) as source:
        assert list(tmp_path.iterdir())
        assert (source.n_rows, source.n_columns, source.n_outputs, source.dtype) == (N, 4, 1, torch.float32)
        at = torch.tensor([N - 1, 0, 700])
        rows = source.take(at)
        np.testing.assert_array_equal(rows.X.numpy(), ((X[at] - 1) / 2).astype(np.float32))
        np.testing.assert_array_equal(rows.Y.numpy()[:, 0], y[at])
        np.testing.assert_array_equal(rows.weights.numpy(), weights[at])
    assert not list(tmp_path.iterdir())


def test_column_means_replace_gaps_that_the_sample_did_not_have(table):
    X, y, _ = table
    reader = reader_of(X)
    X[3, 0] = np.nan
    prepare = PrepareBlock(
        reader,
        np.arange(4.0) + 9,
        NUMBERS,
        Scaler(np.zeros(4), np.ones(4)),
        Scaler(np.zeros(1), np.ones(1)),
        torch.float64,
    )
    with prepared_rows(ArrayBlocks(X, y, size=400), prepare) as source:
        assert float(source.take(torch.tensor([3])).X[0, 0]) == 9.0
        assert source.load().weights is None


def test_labels_are_counted_over_all_blocks():
    labels = np.array(["b"] * 3 + ["a"] * 5 + ["b"] + ["c"] * 2)
    classes, counts = count_labels(ArrayBlocks(np.zeros((11, 1)), labels, size=4))
    assert classes.tolist() == ["a", "b", "c"]
    assert counts.tolist() == [5, 4, 2]


def test_class_weights_are_part_of_the_rows_weights():
    X, labels = np.arange(6.0)[:, None], np.array(["a", "b", "a", "b", "b", "b"])
    target = ClassTarget(np.array(["a", "b"]), np.array([2.0, 0.5]))
    sums = sum_columns(ArrayBlocks(X, labels, size=4), reader_of(X), np.zeros(1), target, np.zeros(2))
    assert sums.weight == 2 * 2.0 + 4 * 0.5
    assert sums.first.tolist() == [2.0 * (0 + 2) + 0.5 * (1 + 3 + 4 + 5), 2.0 * -2 + 0.5 * 4]
