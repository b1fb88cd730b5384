"""The section on single rows: what each column and some training rows add to a few predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.display import format_number, format_signed, format_value, more_columns
from gramian.report.model.evidence import Evidence, read_table, take
from gramian.report.web import Section, bar, number, row, table, tabs, tag
from gramian.report.web.parts import note
from gramian.rfm.explain import Explanation, explain_standardised
from gramian.rfm.importance import training_rows

_COLUMNS, _LONGEST = 12, 60
_MOST_ROWS = 2000
"""Rows among which examples are chosen where they must be predicted for it."""


def examples_section(model: Any, found: Evidence, X: Any = None, output: Any = None) -> Section:
    """A few rows, chosen for what is predicted of them, each taken apart."""
    # of several targets the first; of several classes each row's own, which is what None stands for
    target = output if found.probabilities is None else None
    panels = []
    if X is None:
        panels = [(why, explanation(explained)) for why, explained in _of_the_fit(model, target)]
    else:
        table_of = read_table(X)
        for why, at in _chosen(model, found, table_of):
            explained = model.explain(take(table_of, [at]), output=target)
            panels.append((why, note(f"Row {at} of the table.") + explanation(explained)))
    about = (
        "Contributions of columns are slopes added up along the straight path from the mean training row; with what is "
        "not resolved they sum to the score less that of the mean row. They explain the model, not the world."
    )
    if X is None:
        about += " These are training rows, since no others were given; a column that is no number shows no value."
    return Section("Example explanations", note(about) + tabs("examples", panels))


def explanation(why: Explanation) -> str:
    """One prediction taken apart: columns, and the training rows that add most."""
    order = np.argsort(-np.abs(why.contributions), kind="stable")
    values = why.contributions
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    rows = [
        row(
            why.columns[j],
            number(_short(format_value(why.values[j]))),
            bar(float(values[j]), low, high),
            number(format_signed(float(values[j])), float(values[j])),
        )
        for j in order[:_COLUMNS]
    ]
    left = order[_COLUMNS:]
    if len(left):
        rest = float(values[left].sum())
        rows.append(row(more_columns(len(left)), number(""), bar(rest, low, high), number(format_signed(rest), rest)))
    rows.append(row("the mean training row", number(""), "<td></td>", number(format_number(why.reference_score))))
    rows.append(row("not resolved", number(""), "<td></td>", number(format_signed(why.gap))))
    columns = table(("column", "value", "", "contribution"), rows, title=_headline(why))
    near = why.neighbours
    size = float(np.abs(near.parts).max(initial=0.0))
    lines = [
        row(
            f"row {r}",
            number(f"{s:.3f}", float(s)),
            bar(float(p), -size, size),
            number(format_signed(float(p)), float(p)),
        )
        for r, s, p in zip(near.rows, near.similarity, near.parts, strict=True)
    ]
    heads = ("training row", "similarity", "", "adds")
    return tag("div", columns + table(heads, lines, title="Training rows that add most"), class_="side")


def _of_the_fit(model: Any, target: Any) -> list[tuple[str, Explanation]]:
    """Training rows that differ in what is predicted, explained, with the reason for each."""
    Z, _ = training_rows(model, _MOST_ROWS)
    scores = model._outputs_at(Z)
    if hasattr(model, "classes_"):
        best = np.sort(scores, axis=1)
        sure = np.abs(scores[:, 0]) if scores.shape[1] == 1 else best[:, -1] - best[:, -2]
        wanted = {int(sure.argmax()): "surest", int(sure.argmin()): "least sure"}
    else:
        order = np.argsort(scores[:, 0], kind="stable")
        places = (order[len(order) // 2], order[0], order[-1])
        wanted = dict(zip(map(int, places), ("median", "lowest", "highest"), strict=True))
    return [(why, explain_standardised(model, Z[[at]], target)[0]) for at, why in wanted.items()]


def _chosen(model: Any, found: Evidence, rows: Any) -> list[tuple[str, int]]:
    """Rows of a table that differ in what is predicted, with the reason for each."""
    if found.rows is not None:
        at, probabilities, predicted = found.rows, found.probabilities, found.predicted
    else:
        at = np.arange(min(len(rows), _MOST_ROWS))
        some = take(rows, at)
        probabilities = model.predict_proba(some) if found.probabilities is not None else None
        predicted = np.zeros(len(at)) if probabilities is not None else model.predict(some).reshape(len(at), -1)
    wanted: list[tuple[str, int]] = []
    if probabilities is not None:
        sure = probabilities.max(axis=1)
        wanted += [("surest", int(sure.argmax())), ("least sure", int(sure.argmin()))]
        if found.rows is not None and (wrong := found.y != found.predicted).any():
            wanted.insert(1, ("surest mistake", int(np.where(wrong, sure, -1.0).argmax())))
    else:
        order = np.argsort(predicted[:, 0], kind="stable")
        middle = int(order[len(order) // 2])
        wanted += [("lowest", int(order[0])), ("median", middle), ("highest", int(order[-1]))]
        if found.rows is not None:
            wanted.append(("largest error", int(np.abs(found.y - found.predicted).max(axis=1).argmax())))
    once: dict[int, str] = {}
    for why, place in wanted:
        once.setdefault(int(at[place]), why)
    return [(why, place) for place, why in once.items()]


def _headline(why: Explanation) -> str:
    if why.probabilities is None:
        at = f"{why.output.name} {format_number(why.score)}"
        return (
            at[0].upper() + at[1:]
            if why.prediction == why.score
            else f"Prediction {format_number(why.prediction)} · {at}"
        )
    sure = why.probabilities[why.prediction]
    return f"Class {why.prediction} ({sure:.1%}) · {why.output.name} {format_number(why.score)}"


def _short(said: str) -> str:
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1] + "…"
