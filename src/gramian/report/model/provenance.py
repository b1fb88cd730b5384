"""Sections on the origin of a model: its data, settings, warnings and records, and a model card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from inspect import signature

import numpy as np

from gramian.core.version import __version__
from gramian.display import Column, Entry, Table, format_number, format_percent
from gramian.report.model.fitted import fitted_rows, selected_kernels
from gramian.report.model.learned import MOST_LINES
from gramian.report.model.predictions import Predictions, read_table
from gramian.report.model.rounds import records_table
from gramian.report.web import PageSection, code_cell, facts, folded, note, number, number_cell, table, tag, text
from gramian.rfm import FittedRFM, RFMClassifier, RFMRegressor
from gramian.tables.column_map import is_missing
from gramian.tables.targets import NumericTarget
from gramian.tables.types import TableLike

_CARD = ("intended use", "not meant for", "authors", "licence", "date of the data", "source of the data", "contact")
"""Entries of a model card that only its author knows."""
_FEW_ROWS = 20
_MOST_CLASSES = 12
_LARGE_RESIDUAL = 1e-2
_NOTABLE = ("jitter", "stopped", "then solved", "not ", "failed")
"""Words in the status of a solver that are repeated as a warning."""


def data_section(model: FittedRFM, predictions: Predictions, X: TableLike = None) -> PageSection:
    """Return rows, target and columns of the fit, and statistics of the given table."""
    columns = model.columns
    support = model.features.support
    pairs: list[tuple[str, object]] = [
        ("fitted to", fitted_rows(model).description),
        ("columns", f"{len(columns.names):,}"),
        ("encoded columns", f"{len(columns.encoded):,}" if len(columns.encoded) != len(columns.names) else None),
        ("columns in use", f"{int(support.sum()):,}" if not support.all() else None),
    ]
    if predictions.classes:
        pairs.append(("classes", f"{len(predictions.classes)}: {listed(predictions.classes, _MOST_CLASSES)}"))
    else:
        pairs.append(("targets", str(predictions.y.shape[1])))
    if isinstance(model.target, NumericTarget):
        pairs.append(("scale of the target", model.target.transform.name))
    body = facts([(name, value) for name, value in pairs if value is not None])
    given = None if X is None else read_table(X)
    return PageSection("Data", body + folded("Columns", _columns(model, given)))


def settings_section(estimator: RFMClassifier | RFMRegressor, model: FittedRFM) -> PageSection:
    """Return the selected settings, the arguments that were given, and those with their defaults."""
    defaults = {name: p.default for name, p in signature(type(estimator).__init__).parameters.items()}
    given: list[list[Entry]] = []
    others: list[list[Entry]] = []
    for name, value in sorted(estimator.get_params(deep=False).items()):
        changed = repr(value) != repr(defaults.get(name))
        (given if changed else others).append([name, code_cell(format_setting(value))])
    selected: list[tuple[str, object]] = [
        ("kernel", " + ".join(selected_kernels(model))),
        (
            "kernel with its settings" if len(model.ensemble.machines) == 1 else "first kernel with its settings",
            format_setting(model.machine.kernel),
        ),
        ("update of M", format_setting(model.history.update)),
        ("ridge", number(float(model.history.ridge))),
        ("round", f"{model.history.best_round} of {len(model.history.rounds) - 1}"),
    ]
    if model.classes is not None:
        selected.append(("probabilities proportional to", model.link.description()))
    columns: list[str | Column] = ["argument", Column("value", "left")]
    first = table(Table(columns, given), title="Given arguments") if given else note("No argument was given.")
    rest = folded(f"{len(others)} arguments with their defaults", table(Table(columns, others))) if others else ""
    return PageSection("Settings", facts(selected, "Selected settings") + first + rest)


def format_setting(value: object) -> str:
    """Format a setting as code, with five significant digits of its numbers.

    >>> format_setting({"bandwidth": 44.13096165443141})
    "{'bandwidth': 44.131}"
    """
    return re.sub(r"\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.5g}", repr(value))


def records_section(model: FittedRFM) -> PageSection:
    """Return warnings, and the record of each round."""
    body = "".join(note(f"⚠ {text(warning)}", "near") for warning in warnings_of(model))
    body = body or note("There are no warnings.")
    return PageSection("Warnings and records", body + records_table(model), "Warnings")


def warnings_of(model: FittedRFM) -> list[str]:
    """Return warnings from the records of the fit, as sentences."""
    found = []
    for record in model.history.rounds:
        if any(word in record.status for word in _NOTABLE):
            found.append(f"Round {record.index}: {record.status}.")
        if not np.isnan(record.residual) and record.residual > _LARGE_RESIDUAL:
            found.append(f"Round {record.index}: the residual of the solution is {number(record.residual, 2)}.")
    if model.history.best_round == 0 and len(model.history.rounds) > 1:
        found.append("Round 0 was selected: learned features did not help, and the model is kernel ridge regression.")
    compression = model.compression
    if compression is not None:
        found.append(
            f"Compressed from {compression.n_before:,} to {compression.n_centers:,} rows: the typical change of a "
            f"prediction is {compression.typical_change:.2%} of their spread, the largest change "
            f"{compression.largest_change:.2%}."
        )
    encoder, support = model.preprocessing.reader.encoder, model.features.support
    if encoder is not None:
        found += [
            f"Column {column.name} is not used: {column.kind}." for column in encoder.records_ if not column.encoded
        ]
    if not support.all():
        found.append(f"{int((~support).sum())} of {len(support)} columns were removed by the threshold.")
    return found


def card_section(
    model: FittedRFM, predictions: Predictions, estimator: str, card: Mapping[str, str] | None = None
) -> PageSection:
    """Return a model card for readers who did not make the model; entries without a value are shown as unknown."""
    given = dict(card or {})
    n_targets = predictions.y.shape[1] if not predictions.classes else 0
    kind = (
        f"classifier of {len(predictions.classes)} classes"
        if predictions.classes
        else f"regressor of {n_targets} target"
    )
    kind += "s" if n_targets > 1 else ""
    columns = model.columns
    known: list[tuple[str, object]] = [
        ("model", f"{estimator}, a kernel machine that learns its features ({kind})"),
        ("software", f"gramian {__version__}"),
        ("training data", f"{fitted_rows(model).description}, {len(columns.names):,} columns"),
        ("evaluated on", predictions.description),
    ]
    known += [(name, given.pop(name, None)) for name in _CARD]
    known += list(given.items())
    listed = tag("ul", "".join(tag("li", text(limit)) for limit in _limits(model, predictions)))
    return PageSection("Model card", facts(known) + tag("h3", "Limits") + listed)


def _limits(model: FittedRFM, predictions: Predictions) -> list[str]:
    limits = [
        "Intervals and sets of classes are valid for new rows from the distribution of the training rows.",
        "Importances, directions and explanations describe sensitivities of the predictions, not causes of the target.",
        "Differences of the errors between groups of people were not examined.",
    ]
    if model.machine.kernel.translation_invariant:
        limits.append("Far from all training rows, predictions return to the mean.")
    few = [name for c, name in enumerate(predictions.classes) if 0 < int((predictions.y == c).sum()) < _FEW_ROWS]
    if few:
        limits.append(f"Evaluated on fewer than {_FEW_ROWS} rows: class {listed(few, 8)}.")
    return limits


def listed(names: Sequence[str], most: int) -> str:
    """Return names separated by commas, with an ellipsis for those beyond ``most``.

    >>> listed(["a", "b", "c"], 2)
    'a, b …'
    """
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def _columns(model: FittedRFM, given: TableLike) -> str:
    columns, encoder = model.columns, model.preprocessing.reader.encoder
    records = {record.name: record for record in encoder.records_} if encoder is not None else {}
    n_encoded = np.bincount(columns.groups, minlength=len(columns.names))
    means, scales = (columns.own(v) for v in (model.preprocessing.column_means, model.preprocessing.scaler.scale))
    rows = []
    for p, name in enumerate(columns.names[:MOST_LINES]):
        cells: list[Entry] = [records[name].kind if name in records else "number", number_cell(int(n_encoded[p]))]
        cells += [number_cell(float(value)) for value in (means[p], scales[p])]
        if given is not None:
            values = np.asarray(columns.column(given, p), dtype=object)
            absent = np.array([is_missing(value) for value in values], dtype=bool)
            cells.append(number_cell(float(absent.mean()), format_percent))
            cells.append(number_cell(len({str(value) for value in values[~absent]}), format_number))
        if records:
            cells.append(records[name].done if name in records else "")
        rows.append([name, *cells])
    headings: list[str | Column] = ["column", Column("type", "left"), "encoded columns", "mean", "spread"]
    headings += ["missing in X", "distinct in X"] if given is not None else []
    headings += [Column("encoding", "left")] if records else []
    left = len(columns.names) - len(rows)
    rest = note(f"{left:,} more columns.") if left else ""
    return table(Table(headings, rows), class_="dense", sortable=True) + rest
