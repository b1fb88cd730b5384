"""Training data that are prepared once: in memory and in blocks the same rows."""

import warnings
from dataclasses import replace
from inspect import unwrap

import numpy as np
import pytest
import torch

from gramian.tables import prepare
from gramian.tables.blocks import ArrayBlocks
from gramian.tables.labels import encode_labels, read_target
from gramian.tables.prepare import (
    ReadingOptions,
    TargetReader,
    open_table,
    prepare_blocks,
    prepare_table,
    working_dtype,
)
from gramian.tables.raw_target import RawTarget
from gramian.tables.targets import ClassTarget, NumericTarget, TargetTransform

OPTIONS = ReadingOptions(
    owner="RFMRegressor",
    encoder="auto",
    standardize=True,
    center=True,
    fit_intercept=True,
    scale_target=True,
    device=torch.device("cpu"),
    dtype="float64",
    on_cluster=False,
    sample_rows=100,
    seed=0,
)


class Numbers:
    """Targets of a regression, without a transform."""

    def read_target(self, y, weights):
        return RawTarget(read_target(y))

    def fit_target(self, raw, rows, Z):
        return NumericTarget(TargetTransform("none"), flat=rows.y.ndim == 1), None

    def stream_target(self, blocks, y, Z, weights):
        return NumericTarget(TargetTransform("none"), flat=np.ndim(y) == 1)


class Labels:
    """Classes with weights."""

    def __init__(self, factors=None):
        self.factors = factors

    def read_target(self, y, weights):
        classes, codes = encode_labels(y)
        return RawTarget(codes.astype(np.float64), classes, self.factors)

    def fit_target(self, raw, rows, Z):
        return ClassTarget(raw.classes, raw.factors), None

    def stream_target(self, blocks, y, Z, weights):
        return ClassTarget(np.unique(y), self.factors)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1, 10, 0.1] + [0, 5, 0]
    return X, X[:, 0] + X[:, 1]


def test_readers_of_targets_have_three_methods():
    assert isinstance(Numbers(), TargetReader)
    assert isinstance(Labels(), TargetReader)


def test_rows_are_standardised_sorted_and_indexed(table):
    X, y = table
    prepared = prepare_table(X, y, None, None, OPTIONS, Numbers())
    rows = prepared.source.load()
    order = np.lexsort(X.T[::-1])
    assert np.array_equal(prepared.row_index, order)
    np.testing.assert_allclose(rows.X.numpy(), ((X - X.mean(0)) / X.std(0))[order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rows.Y.numpy()[:, 0], ((y - y.mean()) / y.std())[order], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(prepared.codes[:, 0], y[order])
    np.testing.assert_allclose(prepared.preprocessing.column_means, X.mean(0))
    assert rows.weights is None
    assert prepared.strata is None
    assert not prepared.streamed


def test_without_scaling_rows_have_the_users_numbers(table):
    X, y = table
    options = replace(OPTIONS, standardize=False, center=False, fit_intercept=False, scale_target=False)
    prepared = prepare_table(X, y, None, None, options, Numbers())
    rows = prepared.source.load()
    np.testing.assert_array_equal(rows.X.numpy(), X[prepared.row_index])
    np.testing.assert_array_equal(rows.Y.numpy()[:, 0], y[prepared.row_index])


def test_a_weight_of_two_is_a_repeated_row(table):
    X, y = table
    weights = np.where(np.arange(80) < 20, 2.0, 1.0)
    one = prepare_table(X, y, weights, None, OPTIONS, Numbers()).source.load()
    two = prepare_table(np.vstack([X, X[:20]]), np.append(y, y[:20]), None, None, OPTIONS, Numbers()).source.load()
    torch.testing.assert_close(one.X, two.X)
    torch.testing.assert_close(one.Y, two.Y)
    torch.testing.assert_close(one.weights, two.weights)


def test_class_weights_multiply_sample_weights(table):
    X, y = table
    labels = np.where(y > 5, "high", "low")
    prepared = prepare_table(X, labels, 3.0, None, OPTIONS, Labels(np.array([1.0, 2.0])))
    expected = np.where(labels == "high", 3.0, 6.0)[prepared.row_index]
    np.testing.assert_array_equal(prepared.weights, expected)
    smaller = min(("high", "low"), key=labels.tolist().count)
    np.testing.assert_array_equal(prepared.strata, (labels == smaller)[prepared.row_index])


def test_an_evaluation_set_is_prepared_like_the_training_rows(table):
    X, y = table
    prepared = prepare_table(X, y, None, (X[:7], y[:7]), OPTIONS, Numbers())
    np.testing.assert_allclose(prepared.evaluation.X.numpy(), prepared.preprocessing.transform(X[:7]))
    np.testing.assert_array_equal(prepared.evaluation_codes[:, 0], y[:7])
    np.testing.assert_allclose(
        prepared.target_scaler.inverse_transform(prepared.evaluation.Y.numpy())[:, 0], y[:7], rtol=1e-12
    )


@pytest.mark.parametrize(
    ("eval_set", "message"),
    [
        ((np.full((2, 3), np.nan), np.zeros(2)), "eval_set has missing entries in columns where no training row"),
        ((np.zeros((2, 3)), np.zeros((2, 2))), r"eval_set has a target of shape \(2, 2\), and y has 1 column"),
        ((np.zeros((2, 3)), ["a", "b"]), "eval_set: y holds text"),
        ((np.zeros((2, 2)), np.zeros(2)), "X has 2 features, but RFMRegressor is expecting 3"),
        ((np.zeros((2, 3)), np.zeros(3)), "inconsistent numbers of samples"),
    ],
)
def test_a_wrong_evaluation_set_is_refused(table, eval_set, message):
    with pytest.raises(ValueError, match=message):
        prepare_table(*table, None, eval_set, OPTIONS, Numbers())


@pytest.mark.parametrize("eval_set", [3, (np.zeros((2, 3)),), (1, 2, 3)])
def test_an_evaluation_set_that_is_not_a_pair_is_refused(eval_set):
    read = unwrap(prepare._read_evaluation)  # without the type checks of the test run
    with pytest.raises(ValueError, match=r"eval_set must be a pair \(X, y\)"):
        read(eval_set, None, None, 1)


@pytest.mark.parametrize("targets", [Numbers(), Labels(np.array([1.0, 2.0]))], ids=["numbers", "labels"])
def test_blocks_give_the_rows_of_the_table_in_memory(table, targets, tmp_path):
    X, y = table
    y = y if isinstance(targets, Numbers) else np.where(y > 5, "high", "low")
    weights = np.linspace(1, 2, 80)
    whole = prepare_table(X, y, weights, (X[:5], y[:5]), OPTIONS, targets)
    with prepare_blocks(ArrayBlocks(X, y, weights, size=30), (X[:5], y[:5]), OPTIONS, targets, tmp_path) as streamed:
        assert streamed.streamed
        assert streamed.codes is None
        assert streamed.row_index.tolist() == list(range(80))
        there, here = streamed.source.load()[torch.from_numpy(whole.row_index)], whole.source.load()
        torch.testing.assert_close(there.X, here.X, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(there.Y, here.Y, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(there.weights, here.weights)
        torch.testing.assert_close(streamed.evaluation.X, whole.evaluation.X, rtol=1e-9, atol=1e-9)
    assert not list(tmp_path.iterdir())


def test_a_table_is_opened_in_memory_or_in_blocks(table, tmp_path):
    X, y = table
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    with open_table(X, y, None, None, OPTIONS, Numbers()) as one:
        assert not one.streamed
    with open_table(stored, y, None, None, OPTIONS, Numbers()) as two:
        assert not two.streamed
        assert torch.equal(two.source.load().X, one.source.load().X)
    with open_table(stored, y, None, None, OPTIONS, Numbers(), stream=lambda blocks: blocks.n_rows > 50) as three:
        assert three.streamed


def test_the_identity_of_rows_changes_with_them(table):
    X, y = table
    identities = [
        prepare_table(*rows, None, OPTIONS, Numbers()).identity
        for rows in ((X, y, None), (X + 1, y, None), (X, y, 2.0))
    ]
    assert not np.array_equal(identities[0][0], identities[1][0])
    assert identities[0][2] is None
    assert identities[2][2].tolist() == [2.0] * 80


@pytest.mark.parametrize("size", [1e-20, 1e20])
def test_entries_out_of_the_range_of_float32_need_float64(size):
    Z = np.full((2000, 1), size)
    assert working_dtype("auto", Z, torch.device("cpu")) == torch.float64
    with pytest.raises(ValueError, match="out of range for float32: use standardize=True"):
        working_dtype("float32", Z, torch.device("cpu"))
    assert working_dtype("auto", np.zeros((2000, 1)), torch.device("cpu")) == torch.float32


@pytest.mark.parametrize("size", [1e20, 1e14])
def test_an_entry_that_erases_its_column_is_named(table, size):
    X, y = table
    X = X.copy()
    X[3, 1] = size
    with pytest.warns(UserWarning, match="column 'x1' has an entry so far from the others"):
        prepare_table(X, y, None, None, OPTIONS, Numbers())


@pytest.mark.parametrize("size", [1e6, -30.0])
def test_an_entry_that_leaves_its_column_readable_is_not(table, size):
    X, y = table
    X = X.copy()
    X[3, 1] = size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare_table(X, y, None, None, OPTIONS, Numbers())
