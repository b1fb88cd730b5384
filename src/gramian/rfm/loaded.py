"""Check of a model that comes from a file: its parts fit together, and it predicts.

The checksum of a file says that the file is as it was written, not that its writer was gramian. After this check a
model does not fail later, in ``predict``, because of what the file contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gramian.rfm.machine import KernelMachine
from gramian.rfm.model import FittedRFM, Machine
from gramian.rfm.tree import TreeMachine
from gramian.tables import TableEncoder
from gramian.tables.channels import Encoding
from gramian.tables.columns import RawColumn
from gramian.tables.encodings import Category
from gramian.tables.preprocessing import Preprocessing, TableReader
from gramian.tables.scaling import Array
from gramian.tables.targets import ClassTarget

_ROWS = 64
"""Rows of the trial at most: a row per level of a category, in turn."""
_CENTERS = 64
"""Centres of the trial at most: the time and the memory of a load follow from the size of the file."""
_MOST_THREADS = 4096


def check_loaded(model: FittedRFM, n_threads: Any) -> None:
    """Raise a ValueError if the parts of a model do not fit together; any other error of the trial is one as well.

    Parameters
    ----------
    model : FittedRFM
    n_threads : object
        The argument of the estimator, which predictions use.
    """
    for threads in (n_threads, model.n_threads):
        _require(threads is None or (type(threads) is int and 1 <= threads <= _MOST_THREADS), "the number of threads")
    d, c = len(model.preprocessing.scaler.center), len(model.target_scaler.center)
    _check_preprocessing(model.preprocessing, d)
    _require(model.target_scaler.scale.shape == model.target_scaler.center.shape == (c,), "the scale of the target")
    _require(model.features.support.shape == (d,), "the columns in use")
    _require(len(model.features.stored) == d and model.features.stored.ndim <= 2, "the feature matrix")
    if isinstance(model.target, ClassTarget):
        classes = model.target.classes
        _require(classes.ndim == 1 and c == (1 if len(classes) == 2 else len(classes)), "the number of classes")
    else:
        _require(c == 1 or not model.target.flat, "the number of targets")
    machines, shares = model.ensemble.machines, model.ensemble.shares
    _require(0 < len(machines) == len(shares) and bool(np.isfinite(shares).all()), "the members of the ensemble")
    for machine in machines:
        _check_machine(machine, int(model.features.support.sum()), c)
    labels = model.row_labels
    _require(labels is None or labels.shape == model.row_index.shape, "the labels of the rows")
    copies = model.copies
    counted = copies is None or (copies.shape == model.row_index.shape and bool((copies >= 1).all()))
    _require(counted, "the numbers of copies of the rows")
    few = replace(model, ensemble=replace(model.ensemble, machines=tuple(map(_few_centers, machines))), n_threads=1)
    _predict(few, model.preprocessing.scaler.transform(_trial_rows(model.preprocessing.reader, d)))


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(f"{what} of the model cannot be right")


def _check_preprocessing(preprocessing: Preprocessing, d: int) -> None:
    scaler, reader = preprocessing.scaler, preprocessing.reader
    for constants in (scaler.center, scaler.scale, preprocessing.column_means):
        _require(constants.shape == (d,) and bool(np.isfinite(constants).all()), "the constants of the columns")
    _require(bool((scaler.scale != 0).all()), "the scale of the columns")
    names, encoder = reader.feature_names, reader.encoder
    if names is not None:
        texts = names.tolist()
        _require(
            names.shape == (reader.n_features,) and all(isinstance(name, str) for name in texts), "the column names"
        )
    if encoder is None:
        _require(reader.n_features == d, "the number of columns")
    else:
        _check_encoder(encoder, reader, d)


def _check_encoder(encoder: TableEncoder, reader: TableReader, d: int) -> None:
    records = encoder.records_
    _require(isinstance(records, tuple) and len(records) == reader.n_features, "the records of the columns")
    _require(encoder.columns_ == tuple(record.name for record in records), "the names of the columns")
    _require(encoder.kinds_ == tuple(record.kind for record in records), "the kinds of the columns")
    kept = [len(record.kept) for record in records]
    expected = np.repeat(np.arange(len(records)), kept)
    _require(np.array_equal(encoder.groups_, expected) and len(expected) == d, "the encoded columns")
    _require(all(len(record.kept) == len(record.encoded) for record in records), "the names of encoded columns")
    _require(type(encoder.n_features_in_) is int and encoder.n_features_in_ == reader.n_features, "the encoder")
    names, known = getattr(encoder, "feature_names_in_", None), reader.feature_names
    same = names is None if known is None else names is not None and np.array_equal(names, known)
    _require(same, "the column names of the encoder")


def _check_machine(machine: Machine, d: int, c: int) -> None:
    if isinstance(machine, TreeMachine):
        _check_tree(machine, d)
    for leaf in _leaves(machine):
        _require(leaf.X.shape == (leaf.n, d) and leaf.n > 0, "the centres")
        _require(leaf.coef.shape == (leaf.n, c) and bool(leaf.coef.isfinite().all()), "the coefficients")
        _require(bool(leaf.X.isfinite().all()), "the centres")
        _require(leaf.weights is None or leaf.weights.shape == (leaf.n,), "the weights of the centres")


def _check_tree(tree: TreeMachine, d: int) -> None:
    """Check that nodes and leaves are a tree from node 0 on: a cycle would be followed for ever."""
    splits, leaves = tree.splits, len(tree.leaves)
    _require(splits.directions.shape[1] == d and leaves == splits.n_leaves == len(tree.rows), "the tree")
    children = splits.children.flatten().tolist()
    _require(sorted(children) == sorted([*range(-leaves, 0), *range(1, leaves - 1)]), "the nodes of the tree")
    reached, open_ = 0, [0]
    while open_:  # each node is the child of one, so that none is reached twice
        node = open_.pop()
        reached += 1
        open_ += [child for child in children[2 * node : 2 * node + 2] if child >= 0]
    _require(reached == leaves - 1, "the nodes of the tree")
    total = sum(leaf.n for leaf in tree.leaves)
    for leaf, rows in zip(tree.leaves, tree.rows, strict=True):
        # A row is in at least one leaf, so that no row has a number beyond their sum.
        _require(len(rows) == leaf.n > 0 and 0 <= int(rows.min()) <= int(rows.max()) < total, "the rows of the tree")


def _leaves(machine: Machine) -> Sequence[KernelMachine]:
    return machine.leaves if isinstance(machine, TreeMachine) else (machine,)


def _few_centers(machine: Machine) -> Machine:
    if isinstance(machine, TreeMachine):
        leaves = tuple(_few_leaf_centers(leaf) for leaf in machine.leaves)
        return replace(machine, leaves=leaves, rows=tuple(torch.arange(leaf.n) for leaf in leaves))
    return _few_leaf_centers(machine)


def _few_leaf_centers(machine: KernelMachine) -> KernelMachine:
    weights = None if machine.weights is None else machine.weights[:_CENTERS]
    return KernelMachine(replace(machine.operator, X=machine.X[:_CENTERS]), machine.coef[:_CENTERS], weights)


def _trial_rows(reader: TableReader, d: int) -> Array:
    """Return encoded rows: the levels and special values of every column in turn, or a row of zeros."""
    if reader.encoder is None:
        return np.zeros((1, d))
    columns = [(record, _values(record.encoding)) for record in reader.encoder.records_ if record.encoding is not None]
    count = min(_ROWS, max(len(values) for _, values in columns))
    blocks = []
    for record, values in columns:
        assert record.encoding is not None
        column = RawColumn(record.name, np.resize(values, count))
        blocks.append(record.encoding.encode(column)[:, record.kept])
    rows: Array = np.hstack(blocks)
    _require(rows.shape == (count, d) and bool(np.isfinite(rows).all()), "the encoding of the columns")
    return rows


def _values(encoding: Encoding) -> NDArray[Any]:
    _require(not isinstance(encoding, Category) or len(encoding.counted) == len(encoding.counts), "the frequencies")
    return encoding.trial_values()[:_ROWS]


def _predict(model: FittedRFM, Z: Array) -> None:
    for machine in model.ensemble.machines:
        for leaf in _leaves(machine):  # a row is in one leaf of a tree only
            _require(bool(leaf.predict(model.tensor(Z)).isfinite().all()), "a prediction")
    outputs = model.outputs_at(Z)
    _require(bool(np.isfinite(outputs).all()), "a prediction")
    predictions = model.target.predictions(outputs)
    _require(len(predictions) == len(Z), "a prediction")
    if isinstance(model.target, ClassTarget) and (model.fitted_link is not None or model.held_out is not None):
        probabilities = np.exp(model.log_probabilities(outputs))
        _require(probabilities.shape == (len(Z), len(model.target.classes)), "the probabilities")
        _require(bool(np.isfinite(probabilities).all()), "a probability")
