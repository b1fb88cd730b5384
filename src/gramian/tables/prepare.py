"""Preparation of an estimator's training data: preprocessing, target coding, and rows as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from gramian.core import resolve_dtype, wide_dtype
from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.core.splits import SplitBy
from gramian.tables.blocks import Blocks, SparseBlocks, as_blocks, check_rows, take_rows
from gramian.tables.columns import as_table, check_lengths, check_table, without_sparse
from gramian.tables.encoder import TableEncoder
from gramian.tables.merging import MergedRows, check_weights, merge_rows
from gramian.tables.nameless import order_without_names
from gramian.tables.preprocessing import Preprocessing, TableReader
from gramian.tables.raw_target import RawTarget
from gramian.tables.scaling import Array, Scaler
from gramian.tables.sparse import check_sparse
from gramian.tables.streaming import PrepareBlock, positive_weights, prepared_rows, sum_columns
from gramian.tables.targets import Target
from gramian.tables.types import EvalSet, TableLike, TargetLike, WeightsLike

_CROWDED, _CROWD_ROWS = 1e-3, 2000
"""Standard deviations between the quartiles of a column below which float32 is too coarse; rows that are looked at."""


@dataclass(frozen=True)
class ReadingOptions:
    """Arguments of an estimator that concern the reading of its data.

    Attributes
    ----------
    owner : str
        Class of the estimator, for error messages.
    encoder : "auto" or TableEncoder
    standardize, center : bool
        Divide columns by their standard deviation; subtract their means.
    fit_intercept, scale_target : bool
        Subtract the mean of target codes; divide them by their standard deviation.
    device : torch.device
    dtype : "auto", "float32" or "float64"
    on_cluster : bool
        Let the workers of a cluster hold the rows of a table that is there.
    sample_rows : int
        Number of rows to which the encoder of a streamed table is fitted.
    seed : int
        Seed for the sample of rows.
    max_bytes : int or None
        Memory for a sparse table in dense form.
    """

    owner: str
    encoder: str | TableEncoder
    standardize: bool
    center: bool
    fit_intercept: bool
    scale_target: bool
    device: torch.device
    dtype: str
    on_cluster: bool
    sample_rows: int
    seed: int
    max_bytes: int | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Training rows that are read, encoded, merged, standardised and on torch.

    Attributes
    ----------
    preprocessing, target, target_scaler
        The fitted maps of inputs and targets.
    source : RowSource
        Inputs in the working format, targets centred and scaled.
    row_index : ndarray of int (n,)
        Position of each row in the user's table.
    codes, weights, strata : arrays or None
        Target codes (n, c) before scaling, weights (n,), and the classes of a classification, numbered by their rows;
        None for streamed rows.
    evaluation : Rows or None
        Prepared rows of the evaluation set.
    evaluation_codes : array or None
        Target codes of the evaluation set before scaling.
    identity : tuple
        All properties of the rows on which a checkpoint depends.
    streamed : bool
        The rows are not in memory.
    split_by : SplitBy or None
        Groups or times that splits of the rows respect.
    """

    preprocessing: Preprocessing
    target: Target
    target_scaler: Scaler
    source: RowSource
    row_index: NDArray[np.intp]
    codes: Array | None
    weights: Array | None
    strata: NDArray[np.intp] | None
    evaluation: Rows | None
    evaluation_codes: Array | None
    identity: tuple[object, ...]
    streamed: bool = False
    split_by: SplitBy | None = None


@runtime_checkable
class TargetReader(Protocol):
    """Reading of targets, which differs between estimators."""

    def read_target(self, y: TargetLike, weights: Array | None) -> RawTarget:
        """Return the target of rows with these weights (None: 1 each) as numbers."""

    def fit_target(self, raw: RawTarget, rows: MergedRows, Z: Array) -> tuple[Target, Array | None]:
        """Fit the target coding to the targets of merged rows and their standardised inputs ``Z``.

        The second result are codes ``(n, c)`` to fit a model to, where they are not those of the targets.
        """

    def stream_target(self, blocks: Blocks, y: TargetLike, Z: Array, weights: Array) -> Target:
        """Fit the target coding of a streamed table, from a sample's targets, standardised rows and weights."""


@contextmanager
def open_table(
    X: TableLike,
    y: TargetLike,
    sample_weight: WeightsLike,
    eval_set: EvalSet,
    options: ReadingOptions,
    targets: TargetReader,
    split_by: SplitBy | None = None,
    *,
    stream: Callable[[Blocks], bool] = lambda blocks: False,
    folder: Path | None = None,
) -> Iterator[Prepared]:
    """Yield the prepared rows of a training table, in memory or not.

    A table that is not in memory is loaded, unless ``stream(blocks)`` is True; the temporary file of a streamed table
    is in ``folder``.
    """
    blocks = as_blocks(X, y, sample_weight)
    if blocks is None or (isinstance(blocks, SparseBlocks) and not stream(blocks)):
        yield prepare_table(X, y, sample_weight, eval_set, options, targets, split_by)
    elif stream(blocks):
        check_rows(blocks.n_rows, y, sample_weight)
        if split_by is not None:
            raise ValueError("groups and time need rows in memory: fit fewer rows, or raise max_memory")
        with prepare_blocks(blocks, eval_set, options, targets, folder) as prepared:
            yield prepared
    else:
        whole = blocks.whole()
        yield prepare_table(whole.X, whole.y, whole.weights, eval_set, options, targets, split_by)


def prepare_table(
    X: TableLike,
    y: TargetLike,
    sample_weight: WeightsLike,
    eval_set: EvalSet,
    options: ReadingOptions,
    targets: TargetReader,
    split_by: SplitBy | None = None,
) -> Prepared:
    """Read, encode, merge and standardise a table that is in memory. Rows of weight 0 are dropped before all else."""
    check_table(X)
    X = without_sparse(check_sparse(X, options.max_bytes))
    weights = None if sample_weight is None else check_weights(sample_weight, len(as_table(X)))
    present = None
    if weights is not None and not weights.all():
        X, present = as_table(X), np.flatnonzero(weights)
        lengths = (len(y) if np.ndim(y) else None), (None if split_by is None else len(split_by.codes))
        check_lengths(X=len(X), y=lengths[0], groups_or_time=lengths[1])
        X, y, weights = take_rows(X, present), take_rows(y, present), weights[present]
        split_by = None if split_by is None else replace(split_by, codes=split_by.codes[present])
    raw = targets.read_target(y, weights)
    reader, table = TableReader.fit(X, options.encoder, options.owner, weights)
    check_lengths(X=len(table), y=len(raw.values))
    codes = None if split_by is None else split_by.codes
    check_lengths(X=len(table), groups_or_time=None if codes is None else len(codes))
    merged = merge_rows(table, raw.values, weights, codes)
    rows, strata, split_by = order_without_names(merged, split_by, classify=raw.classes is not None)
    if split_by is not None and np.ptp(split_by.codes) == 0:
        raise ValueError(f"{split_by.name} has the same entry in all rows of positive weight: none can be held out")
    if raw.factors is not None:
        rows = replace(rows, weights=rows.weights_or_ones * raw.factors[rows.y.astype(np.intp)])
    scaler = Scaler.fit(rows.X, rows.weights_or_ones, center=options.center, scale=options.standardize)
    means = Scaler.fit(rows.X, rows.weights_or_ones, scale=False).center  # no overflow near the end of the range
    preprocessing = Preprocessing(reader, reader.column_scaler(scaler, options.standardize), means)
    Z = preprocessing.scaler.transform(rows.X)
    preprocessing.warn_of_lost_digits(rows.X, Z)
    target, pulled = targets.fit_target(raw, rows, Z)
    Y = target.codes_at(rows.y)
    fitted = Y if pulled is None else pulled
    target_scaler = Scaler.fit(fitted, rows.weights_or_ones, center=options.fit_intercept, scale=options.scale_target)
    device = options.device
    dtype, wide = working_dtype(options.dtype, Z, device), wide_dtype(device)
    data = Rows(
        torch.as_tensor(Z, dtype=dtype, device=device),
        torch.as_tensor(target_scaler.transform(fitted), dtype=wide, device=device),
        None if rows.weights is None else torch.as_tensor(rows.weights, dtype=wide, device=device),
        copies=None if rows.copies is None else torch.as_tensor(rows.copies, dtype=wide, device=device),
        groups=None if split_by is None else torch.as_tensor(split_by.codes, device=device),
    )
    table_and_codes = _read_evaluation(eval_set, preprocessing, target, Y.shape[1])
    return Prepared(
        preprocessing=preprocessing,
        target=target,
        target_scaler=target_scaler,
        source=MemoryRows(data),
        row_index=rows.index if present is None else present[rows.index],
        codes=Y,
        weights=rows.weights_or_ones,
        strata=strata,
        evaluation=_evaluation_rows(table_and_codes, preprocessing, target_scaler, dtype, device),
        evaluation_codes=None if table_and_codes is None else table_and_codes[1],
        identity=(
            rows.X,
            Y,
            rows.weights,
            rows.copies,
            strata,
            table_and_codes,
            split_by and (split_by.ordered, split_by.codes),
        ),
        split_by=split_by,
    )


@contextmanager
def prepare_blocks(
    blocks: Blocks,
    eval_set: EvalSet,
    options: ReadingOptions,
    targets: TargetReader,
    folder: Path | None,
) -> Iterator[Prepared]:
    """Prepare a table that is not in memory: fit the encoder to a sample, then compute sums and rows in two passes.

    The rows are written to a temporary file in ``folder``, or held by the cluster that holds the blocks.
    """
    n = blocks.n_rows
    chosen = np.random.default_rng(options.seed).choice(n, min(n, options.sample_rows), replace=False)
    sample = blocks.rows(np.sort(chosen))
    weights = positive_weights(sample.weights, len(sample))
    reader, table = TableReader.fit(sample.X, options.encoder, options.owner, weights)
    means = np.average(table, axis=0, weights=weights)
    target = targets.stream_target(blocks, sample.y, Scaler.fit(table, weights).transform(table), weights)
    about = np.concatenate([means, np.average(target.codes(sample.y), axis=0, weights=weights)])
    sums = sum_columns(blocks, reader, means, target, about)
    d = len(means)
    target = target.with_range(sums.low[d:], sums.high[d:])  # a sample does not have the extremes
    scaler = sums.scaler(about, slice(0, d), options.center, options.standardize)
    column_means = means + sums.first[:d] / sums.weight
    preprocessing = Preprocessing(reader, reader.column_scaler(scaler, options.standardize), column_means)
    target_scaler = sums.scaler(about, slice(d, None), options.fit_intercept, options.scale_target)
    device = torch.device("cpu")  # blocks come from files and other processes
    dtype = working_dtype(options.dtype, preprocessing.scaler.transform(table), device)
    table_and_codes = _read_evaluation(eval_set, preprocessing, target, len(about) - d)
    evaluation = _evaluation_rows(table_and_codes, preprocessing, target_scaler, dtype, device)
    prepare = PrepareBlock(reader, means, target, preprocessing.scaler, target_scaler, dtype)
    with prepared_rows(blocks, prepare, folder, local=not options.on_cluster) as source:
        yield Prepared(
            preprocessing=preprocessing,
            target=target,
            target_scaler=target_scaler,
            source=source,
            row_index=np.arange(n),
            codes=None,
            weights=None,
            strata=None,
            evaluation=evaluation,
            evaluation_codes=None if table_and_codes is None else table_and_codes[1],
            identity=(sums.digest, None if evaluation is None else (evaluation.X, evaluation.Y)),
            streamed=True,
        )


def working_dtype(dtype: str, Z: Array, device: torch.device) -> torch.dtype:
    """Return the working format for standardised rows; entries whose squares overflow in float32 need float64.

    >>> working_dtype("auto", np.ones((2000, 1)), torch.device("cpu"))
    torch.float32
    """
    size = float(max(Z.max(initial=0.0), -Z.min(initial=0.0)))
    found = resolve_dtype(dtype, len(Z), device)
    if found == torch.float32 and dtype == "auto" and device.type != "mps" and _has_crowded_column(Z):
        return torch.float64
    if found == torch.float32 and not (size == 0 or 1e-12 < size < 1e12):
        if dtype != "auto" or device.type == "mps":
            raise ValueError(
                f'X has entries of size {size:.1g}, out of range for float32: use standardize=True or dtype="float64"'
            )
        return torch.float64
    return found


def _has_crowded_column(Z: Array) -> bool:
    """True if half of a column lies in a thousandth of its standard deviation: float32 has few digits left for it."""
    few = Z[:: max(1, len(Z) // _CROWD_ROWS)]
    low, high = np.quantile(few, [0.25, 0.75], axis=0)
    return bool(((high > low) & (high - low < _CROWDED)).any())


def _read_evaluation(
    eval_set: EvalSet, preprocessing: Preprocessing, target: Target, outputs: int
) -> tuple[Array, Array] | None:
    """Return encoded rows and target codes of an evaluation set, checked against the training table."""
    if eval_set is None:
        return None
    try:
        X, y = eval_set
    except (TypeError, ValueError) as error:
        raise ValueError("eval_set must be a pair (X, y)") from error
    try:
        rows = preprocessing.reader.encode(X)
        check_lengths(X=len(rows), y=len(y) if np.ndim(y) else None)
        codes = target.codes(y)
    except ValueError as error:
        raise ValueError(f"eval_set: {error}") from error
    if np.isnan(rows).any():
        raise ValueError("eval_set has missing entries in columns where no training row has any: leave them out")
    if codes.shape[1] != outputs:
        raise ValueError(f"eval_set has a target of shape {np.shape(y)}, and y has {outputs} column(s)")
    return rows, codes


def _evaluation_rows(
    table_and_codes: tuple[Array, Array] | None,
    preprocessing: Preprocessing,
    target_scaler: Scaler,
    dtype: torch.dtype,
    device: torch.device,
) -> Rows | None:
    if table_and_codes is None:
        return None
    Z = preprocessing.scaler.transform(table_and_codes[0])
    Y = target_scaler.transform(table_and_codes[1])
    return Rows(
        torch.as_tensor(Z, dtype=dtype, device=device), torch.as_tensor(Y, dtype=wide_dtype(device), device=device)
    )
