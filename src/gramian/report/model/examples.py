"""The section on single rows: contributions of columns to a few predictions, and training rows that influence them."""

from __future__ import annotations

import numpy as np

from gramian.display import (
    Bar,
    Column,
    Entry,
    Table,
    format_number,
    format_signed,
    format_value,
    more_columns,
)
from gramian.report.model.predictions import Predictions, predicted, probabilities, read_table, take
from gramian.report.web import PageSection, note, number, number_cell, table, tabs, tag, text
from gramian.rfm import FittedRFM
from gramian.rfm.explain import Explanation, explain, explain_standardised
from gramian.tables.row_labels import index_labels
from gramian.tables.types import Label, TableLike

_COLUMNS, _LONGEST = 12, 60
_INFLUENTIAL, _ENTRIES, _SHORT_ENTRY = 3, 6, 16
"""Training rows with the largest influence, leading columns in which they are shown, and the length of an entry."""
_MOST_ROWS = 2000
"""Largest number of rows that are predicted in order to choose examples among them."""


def examples_section(
    model: FittedRFM, predictions: Predictions, X: TableLike = None, output: Label = None
) -> PageSection:
    """Return explanations of a few rows that differ in their predictions."""
    # Of several targets the first is explained; of several classes that of each row, which is the meaning of None.
    target = output if predictions.probabilities is None else None
    if X is None:
        chosen = [(reason, "", explained) for reason, explained in _training_examples(model, target)]
    else:
        given = read_table(X)
        picked = _chosen_rows(model, predictions, given)
        at = np.array([place for _, place in picked])
        labels = index_labels(given, at)
        found = explain(model, take(given, at), output=target, n_influential=_INFLUENTIAL)
        names = [f"Row {place:,} of the table" for place in at]
        if labels is not None:
            # Held-out rows keep the labels of their table, and their own places would be looked up in it.
            given_as = zip(labels.tolist(), at.tolist(), strict=True)
            names = [f"Row {label}, number {place:,} of the rows given for this page" for label, place in given_as]
        each = [found] if isinstance(found, Explanation) else list(found)
        chosen = [(reason, f"{name}.", one) for (reason, _), name, one in zip(picked, names, each, strict=True)]
    panels = [(reason, (note(text(name)) if name else "") + explanation(one)) for reason, name, one in chosen]
    about = (
        "The first table says what each column adds to the prediction for the mean training row. These contributions "
        "are gradients, integrated along the straight line between the two rows, and they sum to the prediction. They "
        "explain the model, and need not be causes of the target."
    )
    if X is None:
        about += " These are training rows, because no other rows were given."
    return PageSection("Example explanations", note(about) + tabs("examples", panels))


def explanation(explained: Explanation) -> str:
    """Return the contributions of columns to one prediction, and the training rows with the largest influence on it."""
    return _contributions(explained) + _influence(explained)


def _contributions(explained: Explanation) -> str:
    order = np.argsort(-np.abs(explained.contributions), kind="stable")
    values = explained.contributions
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    rows: list[list[Entry]] = [
        [
            explained.columns[j],
            _short(format_value(explained.values[j])),
            Bar(float(values[j]), low, high),
            number_cell(float(values[j]), _signed),
        ]
        for j in order[:_COLUMNS]
    ]
    left = order[_COLUMNS:]
    if len(left):
        rest = float(values[left].sum())
        rows.append([more_columns(len(left)), "", Bar(rest, low, high), number_cell(rest, _signed)])
    rows.append(["mean training row", "", "", format_number(explained.reference_score)])
    if explained.has_gap:
        rows.append(["unresolved", "", "", format_signed(explained.gap)])
    rows.append([explained.output.name, "", "", format_number(explained.score)])
    return table(
        Table(["column", Column("value", "left"), "", Column("adds", hint="contribution to the score")], rows),
        title=_headline(explained),
    )


def _influence(explained: Explanation) -> str:
    found = explained.influence
    title = "Training rows with the largest influence"
    if not len(found.rows):
        return tag("h3", title) + note(text(f"None are listed: {found.reason}.")) if found.reason else ""
    about = (
        f"The change is that of the {explained.output.name} when the model is fitted without the row; learned features "
        "and settings stay as they are."
    )
    names = [f"row {label}" for label in found.labels]
    lines: list[list[Entry]] = [
        [
            name,
            _short(format_value(target)),
            number_cell(float(change), _signed),
            explained.format_without(without),
        ]
        for name, target, change, without in zip(names, found.targets, found.change, found.without, strict=True)
    ]
    heading = Column(explained.target_heading, "left")
    headings: list[str | Column] = ["training row", heading, "change", f"{explained.outcome} without it"]
    shown = explained.leading_columns(_ENTRIES)
    rows: list[list[Entry]] = [
        [explained.columns[j], *(_short(format_value(each[j]), _SHORT_ENTRY) for each in found.entries)] for j in shown
    ]
    contents = table(Table(["column", *names], rows), title="Their entries in the leading columns")
    return tag("h3", title) + note(text(about)) + table(Table(headings, lines)) + contents


def _training_examples(model: FittedRFM, target: Label) -> list[tuple[str, Explanation]]:
    """Return explanations of training rows that differ in their predictions, with the reason for each."""
    Z, _ = model.center_rows(_MOST_ROWS)
    scores = model.outputs_at(Z)
    if model.classes is not None:
        best = np.sort(scores, axis=1)
        margin = np.abs(scores[:, 0]) if scores.shape[1] == 1 else best[:, -1] - best[:, -2]
        wanted = {int(margin.argmax()): "most confident", int(margin.argmin()): "least confident"}
    else:
        order = np.argsort(scores[:, 0], kind="stable")
        places = (order[len(order) // 2], order[0], order[-1])
        wanted = dict(zip(map(int, places), ("median", "lowest", "highest"), strict=True))
    found = explain_standardised(model, Z[list(wanted)], target, _INFLUENTIAL)
    return list(zip(wanted.values(), found, strict=True))


def _chosen_rows(model: FittedRFM, predictions: Predictions, given: TableLike) -> list[tuple[str, int]]:
    """Return numbers of rows of a table that differ in their predictions, with the reason for each."""
    if predictions.rows is not None:
        at, shares, values = predictions.rows, predictions.probabilities, predictions.predicted
    else:
        at = np.arange(min(len(given), _MOST_ROWS))
        some = take(given, at)
        shares = probabilities(model, some) if model.classes is not None else None
        values = np.zeros(len(at)) if shares is not None else predicted(model, some).reshape(len(at), -1)
    wanted: list[tuple[str, int]] = []
    if shares is not None:
        confidence = shares.max(axis=1)
        wanted += [("most confident", int(confidence.argmax())), ("least confident", int(confidence.argmin()))]
        if predictions.rows is not None and (wrong := predictions.y != predictions.predicted).any():
            wanted.insert(1, ("most confident error", int(np.where(wrong, confidence, -1.0).argmax())))
    else:
        order = np.argsort(values[:, 0], kind="stable")
        middle = int(order[len(order) // 2])
        wanted += [("lowest", int(order[0])), ("median", middle), ("highest", int(order[-1]))]
        if predictions.rows is not None:
            errors = np.abs(predictions.y - predictions.predicted).max(axis=1)
            wanted.append(("largest error", int(errors.argmax())))
    once: dict[int, str] = {}
    for reason, place in wanted:
        once.setdefault(int(at[place]), reason)
    return [(reason, place) for place, reason in once.items()]


def _headline(explained: Explanation) -> str:
    score = f"{explained.output.name} {number(explained.score)}"
    if explained.probabilities is None:
        if explained.prediction == explained.score:
            return score[0].upper() + score[1:]
        return f"Prediction {number(explained.prediction)} · {score}"
    share = explained.probabilities[explained.prediction]
    return f"Class {explained.prediction} ({share:.1%}) · {score}"


def _signed(value: float) -> str:
    return format_signed(value, 3)


def _short(value: str, longest: int = _LONGEST) -> str:
    return value if len(value) <= longest else value[: longest - 1] + "…"
