"""The section on the rounds of a fit: M after each round, errors, and the records of the solver."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from gramian.display import Bar, Cell, Column, Entry, Table, format_number, format_percent
from gramian.report.model.pairs import by_group
from gramian.report.web import (
    PageSection,
    heat_map,
    label_cell,
    lines,
    note,
    number,
    number_cell,
    slider,
    table,
    tag,
)
from gramian.report.web.charts import Line
from gramian.rfm import FittedRFM
from gramian.rfm.training.rounds import Evolution
from gramian.tables.column_map import ColumnMap

_SHARES = 8
"""Number of columns whose shares are listed for each round."""
_two_digits = partial(format_number, digits=2)


def rounds_section(model: FittedRFM) -> PageSection:
    """Return M after each round, with a slider, and the errors by which the round was selected."""
    selected = model.history.best_round
    errors = errors_chart([("", model)])
    evolution = model.history.evolution
    if evolution is None:
        return PageSection("Rounds", errors + note("This model was saved without M of each round."))
    columns = model.columns
    shown, groups = np.unique(columns.groups[evolution.columns], return_inverse=True)
    names = [columns.names[p] for p in shown]
    frames = []
    for t, encoded in enumerate(evolution.blocks.astype(float)):
        block = by_group(encoded, groups, len(shown))
        words = f"round {t} of {len(evolution.blocks) - 1}" + (", selected" if t == selected else "")
        words += f", cosine to the selected M {evolution.cosines[t]:.3f}"
        picture = heat_map(
            block,
            f"M in {words}",
            names=names,
            caption="M of the columns with the largest diagonal, divided by the sum of its diagonal.",
        )
        frames.append((words, tag("div", picture + _shares(columns, evolution, t), class_="side")))
    about = (
        "Round 0 is plain kernel ridge regression, where M is the identity. Each further round computes M from the "
        "gradients of the previous one: columns to which the predictions are sensitive gain weight. Levels of a "
        "category are summed. The colours of each picture are scaled to its largest entry."
    )
    charts = errors + _cosines(evolution, selected) if len(frames) > 1 else ""
    return PageSection("Rounds", note(about) + slider("round", frames, selected) + tag("div", charts, class_="side"))


def errors_chart(models: Sequence[tuple[str, FittedRFM]]) -> str:
    """Return a chart of the error after each round by which the round was selected; empty for one round only."""
    quantity, key = f"{models[0][1].history.rounds.loss}, on holdout rows", "score"
    if not any(len(_errors(model, key)[0]) > 1 for _, model in models):
        quantity, key = "leave-one-out error given M", "loo"
    series = [Line(name, *_errors(model, key)) for name, model in models]
    absent = [line.name for line in series if len(line.y) <= 1]
    series = [line for line in series if len(line.y) > 1]
    if not series:
        return ""
    alt = f"{quantity}: " + "; ".join(" ".join([line.name, *map(number, line.y)]).strip() for line in series)
    marked = float(models[0][1].history.best_round) if len(models) == 1 else None
    caption = f"{quantity[0].upper()}{quantity[1:]}." + (" Dashed: the selected round." if marked is not None else "")
    if absent:
        caption += f" Without such errors of several rounds, and not drawn: {' and '.join(absent)}."
    name = "error on holdout rows" if key == "score" else "leave-one-out error"
    return lines(series, alt, x="round", y=name, marked=marked, caption=caption)


def records_table(model: FittedRFM) -> str:
    """Return a table with errors, settings and the status of the solver for each round."""
    rows: list[list[Entry]] = []
    for record in model.history.rounds:
        selected = record.index == model.history.best_round
        rows.append(
            [
                str(record.index),
                label_cell("✓ selected", "good", 1) if selected else Cell("", sort=0),
                *(number_cell(v) for v in (record.score, record.loo, record.ridge, record.bandwidth)),
                number_cell(record.rank),
                number_cell(record.residual, _two_digits),
                number_cell(record.seconds, "{:.2g} s".format),
                record.status,
            ]
        )
    headings = ["holdout", "leave-one-out", "ridge", "bandwidth", "rank", "residual", "time"]
    columns: list[str | Column] = [
        "round",
        Column("selected", "left"),
        *headings,
        Column("status of the solver", "left"),
    ]
    title = "Rounds: their losses, and the solution of each"
    return table(Table(columns, rows), class_="dense", sortable=True, title=title)


def _errors(model: FittedRFM, key: str) -> tuple[list[float], list[float]]:
    found = [(float(record.index), float(getattr(record, key))) for record in model.history.rounds]
    found = [(t, value) for t, value in found if np.isfinite(value)]
    return [t for t, _ in found], [value for _, value in found]


def _cosines(evolution: Evolution, selected: int) -> str:
    values = evolution.cosines.astype(float).tolist()
    alt = "Cosine to the selected M: " + ", ".join(f"{value:.3f}" for value in values)
    line = Line("", list(range(len(values))), values)
    caption = "Similarity of M to that of the selected round."
    return lines([line], alt, x="round", y="cosine to the selected M", marked=float(selected), caption=caption)


def _shares(columns: ColumnMap, evolution: Evolution, t: int) -> str:
    every = columns.fold(evolution.diagonals.astype(float))
    shares = every[t]
    order = np.argsort(-shares, kind="stable")[:_SHARES]
    top = float(every.max())
    rows = [
        [columns.names[j], Bar(float(shares[j]), 0.0, top), number_cell(float(shares[j]), format_percent)]
        for j in order
    ]
    return table(Table(["column", "", "share of the diagonal"], rows), class_="plain")
