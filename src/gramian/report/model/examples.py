"""The section on single rows: contributions of columns and of training rows to a few predictions."""

from __future__ import annotations

import numpy as np

from gramian.display import (
    Bar,
    Column,
    Entry,
    Table,
    format_fixed,
    format_number,
    format_signed,
    format_value,
    more_columns,
)
from gramian.report.model.predictions import Predictions, predicted, probabilities, read_table, take
from gramian.report.web import PageSection, note, number, number_cell, table, tabs, tag
from gramian.rfm import FittedRFM
from gramian.rfm.explain import Explanation, explain, explain_standardised
from gramian.tables.types import Label, TableLike

_COLUMNS, _LONGEST = 12, 60
_MOST_ROWS = 2000
"""Largest number of rows that are predicted in order to choose examples among them."""


def examples_section(
    model: FittedRFM, predictions: Predictions, X: TableLike = None, output: Label = None
) -> PageSection:
    """Return explanations of a few rows that differ in their predictions."""
    # Of several targets the first is explained; of several classes that of each row, which is the meaning of None.
    target = output if predictions.probabilities is None else None
    panels = []
    if X is None:
        panels = [(reason, explanation(explained)) for reason, explained in _training_examples(model, target)]
    else:
        given = read_table(X)
        for reason, at in _chosen_rows(model, predictions, given):
            explained = explain(model, take(given, [at]), output=target)
            assert isinstance(explained, Explanation)  # of one row
            panels.append((reason, note(f"Row {at} of the table.") + explanation(explained)))
    about = (
        "Contributions of columns are gradients integrated along the straight line from the mean training row. With "
        "the unresolved remainder they sum to the difference between the score and that of the mean row. They explain "
        "the model, and need not be causes of the target."
    )
    if X is None:
        about += " These are training rows, because no others were given; only numeric columns have values."
    return PageSection("Example explanations", note(about) + tabs("examples", panels))


def explanation(explained: Explanation) -> str:
    """Return the contributions of columns to one prediction, and those of the most influential training rows."""
    order = np.argsort(-np.abs(explained.contributions), kind="stable")
    values = explained.contributions
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    rows: list[list[Entry]] = [
        [
            explained.columns[j],
            _short(format_value(explained.values[j])),
            Bar(float(values[j]), low, high),
            number_cell(float(values[j]), format_signed),
        ]
        for j in order[:_COLUMNS]
    ]
    left = order[_COLUMNS:]
    if len(left):
        rest = float(values[left].sum())
        rows.append([more_columns(len(left)), "", Bar(rest, low, high), number_cell(rest, format_signed)])
    rows.append(["mean training row", "", "", format_number(explained.reference_score)])
    rows.append(["unresolved", "", "", format_signed(explained.gap)])
    columns = table(Table(["column", Column("value", "left"), "", "contribution"], rows), title=_headline(explained))
    near = explained.neighbours
    size = float(np.abs(near.parts).max(initial=0.0))
    lines: list[list[Entry]] = [
        [
            f"row {r}",
            number_cell(float(similarity), format_fixed),
            Bar(float(part), -size, size),
            number_cell(float(part), format_signed),
        ]
        for r, similarity, part in zip(near.rows, near.similarity, near.parts, strict=True)
    ]
    data = Table(["training row", "similarity", "", "contribution"], lines)
    return tag("div", columns + table(data, title="Training rows with the largest contributions"), class_="side")


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
    return [(reason, explain_standardised(model, Z[[at]], target)[0]) for at, reason in wanted.items()]


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


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
