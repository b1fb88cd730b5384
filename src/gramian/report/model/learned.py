"""Sections on what a model has learned: importances, directions, joint sensitivity, M from round to round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gramian.report.figures import plot_partial_dependence
from gramian.report.web import (
    Section,
    bar,
    cell,
    figure,
    heat_map,
    label,
    lines,
    note,
    number,
    row,
    shown,
    slider,
    table,
    tabs,
    tag,
    text,
)
from gramian.report.web.charts import Line
from gramian.rfm.columns import Columns
from gramian.rfm.directions import Directions, along, learned_matrix
from gramian.rfm.evolution import Evolution
from gramian.rfm.importance import Importances

MOST_LINES = 200
"""Lines of a table about columns: thousands of them help nobody."""
_MAP_COLUMNS = 24
_DIRECTIONS, _LOADINGS = 4, 12
_PAIRS = 15


def importances_section(found: Importances) -> Section:
    """A bar with its interval for each of the user's columns."""
    order = found.order[:MOST_LINES]
    top = float(max(found.high.max(), found.shares.max()))
    rows = [
        row(
            found.columns[j],
            bar(float(found.shares[j]), 0.0, top, (float(found.low[j]), float(found.high[j]))),
            number(f"{found.shares[j]:.1%}", float(found.shares[j])),
            number(f"{found.low[j]:.1%} … {found.high[j]:.1%}", float(found.low[j])),
        )
        for j in order
    ]
    about = (
        f"Share of each column in the sensitivity of the predictions, the mean squared slope over {found.n_rows:,} "
        f"training rows. Intervals: {found.level:.0%} of {found.n_bootstrap} resamplings of these rows, one fit. "
        "To what predictions are sensitive need not be what causes the target."
    )
    left = found.order[MOST_LINES:]
    rest = note(f"{len(left):,} more columns have {found.shares[left].sum():.1%} together.") if left else ""
    heads = ("column", "", "share", "interval")
    return Section("Importances", note(text(about)) + table(heads, rows, "plain", sort=True) + rest)


def directions_section(model: Any, output: Any) -> Section:
    """Loadings of the strongest directions, and the prediction of one output along each."""
    found = model.directions(_DIRECTIONS)
    about = f"Eigenvectors of {_matrix_words(found.source)}, on standardised columns. A share is of its trace."
    panels = []
    for i in range(len(found.loadings)):
        seen = tag("div", loadings(found, i) + _along(model, found, i, output), class_="side")
        panels.append((f"{i + 1}: {found.shares[i]:.0%}", seen))
    return Section("Directions", note(text(about)) + tabs("directions", panels))


def loadings(found: Directions, i: int) -> str:
    """The largest loadings of one direction as bars."""
    direction = found.loadings[i]
    order = np.argsort(-np.abs(direction), kind="stable")[:_LOADINGS]
    order = order[np.abs(direction[order]) >= 0.01]
    low, high = min(0.0, float(direction.min())), max(0.0, float(direction.max()))
    rows = [
        row(found.names[j], bar(float(direction[j]), low, high), number(f"{direction[j]:+.2f}", float(direction[j])))
        for j in order
    ]
    return table(("column", "", "loading"), rows, title=f"Direction {i + 1}: {found.shares[i]:.1%}")


def interactions_section(model: Any) -> Section:
    """The learned matrix between the columns that matter most, and the pairs with the largest joint sensitivity."""
    M, source = learned_matrix(model, off_diagonal=True)
    if len(M) < 2:
        return Section("Interactions", "")
    columns = Columns.of(model)
    at = np.sort(np.argsort(-np.diag(M), kind="stable")[:_MAP_COLUMNS])
    names = [columns.encoded[j] for j in at]
    block = M[np.ix_(at, at)] / (np.trace(M) or 1.0)
    size = np.sqrt(np.diag(block).clip(min=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.nan_to_num(block / np.outer(size, size), posinf=0.0, neginf=0.0)
    off = block - np.diag(np.diag(block))
    which = f"the {len(at)} columns with the largest diagonal" if len(at) < len(M) else "all columns"
    maps = [
        ("correlation", heat_map(correlation, f"M scaled to a diagonal of 1, on {which}", names=names, bound=1.0)),
        ("entries", heat_map(block, f"M divided by its trace, on {which}", names=names)),
        ("without the diagonal", heat_map(off, f"M without its diagonal, on {which}", names=names)),
    ]
    pairs = model.interactions(_PAIRS)
    top = float(pairs.strength.max(initial=0.0))
    rows = [
        row(f"{a} × {b}", bar(float(s), 0.0, top), number(f"{s:.1%}", float(s)), number(f"{c:+.2f}", float(c)))
        for (a, b), s, c in zip(pairs.pairs, pairs.strength, pairs.correlation, strict=True)
    ]
    listed = table(("pair", "", "strength", "correlation"), rows, "plain", sort=True) if rows else ""
    about = (
        f"From {_matrix_words(source)}: red where predictions rise with both columns or fall with both, blue where "
        "one goes against the other. A sum of two columns has joint sensitivity too, and a product of centred ones "
        "need not: it is no test for a product."
    )
    seen = tag("div", tabs("interaction map", maps) + listed, class_="side")
    return Section("Interactions", note(text(about)) + seen)


def rounds_section(model: Any) -> Section:
    """M after each round, with a slider, beside the errors the round was chosen by."""
    kept = int(model.best_round_)
    errors = errors_chart([("", model)])
    changed: Evolution | None = getattr(model, "evolution_", None)
    if changed is None:
        return Section("Rounds", errors + note("This model was saved without M of each round."))
    columns = Columns.of(model)
    names = [columns.encoded[j] for j in changed.columns]
    frames = []
    for t, block in enumerate(changed.blocks.astype(float)):
        words = f"round {t} of {len(changed.blocks) - 1}" + (", kept" if t == kept else "")
        words += f", cosine to the kept M {changed.cosines[t]:.3f}"
        seen = heat_map(
            block,
            f"M in {words}",
            names=names,
            caption="M divided by its trace; beside it the largest shares of its diagonal.",
        )
        frames.append((words, tag("div", seen + _shares(changed, t, columns.encoded), class_="side")))
    about = (
        "Round 0 is plain kernel ridge regression, where M is the identity. Each further round takes M from the "
        "gradients of the one before. The colours of each picture are scaled to its own largest entry."
    )
    charts = errors + _cosines(changed, kept) if len(frames) > 1 else ""
    return Section("Rounds", note(about) + slider("round", frames, kept) + tag("div", charts, class_="side"))


def errors_chart(models: Sequence[tuple[str, Any]]) -> str:
    """The error after each round that was used to choose among them; nothing where there was only one."""
    what, key = "mean squared error on held-out rows", "score"
    if not any(len(_errors(model, key)[0]) > 1 for _, model in models):
        what, key = "leave-one-out error given M", "loo"
    series = [Line(name, *_errors(model, key)) for name, model in models]
    absent = [line.name for line in series if len(line.y) <= 1]
    series = [line for line in series if len(line.y) > 1]
    if not series:
        return ""
    alt = f"{what}: " + "; ".join(" ".join([line.name, *map(shown, line.y)]).strip() for line in series)
    marked = float(models[0][1].best_round_) if len(models) == 1 else None
    caption = "Of the scaled target." + (" Dashed: the round that was kept." if marked is not None else "")
    if absent:
        caption += f" Not drawn, since it has no such errors of several rounds: {' and '.join(absent)}."
    return lines(series, alt, x="round", y=what, marked=marked, caption=caption)


def _errors(model: Any, key: str) -> tuple[list[float], list[float]]:
    found = [(float(record.index), float(getattr(record, key))) for record in model.rounds_]
    found = [(t, value) for t, value in found if np.isfinite(value)]
    return [t for t, _ in found], [value for _, value in found]


def _cosines(changed: Evolution, kept: int) -> str:
    values = changed.cosines.astype(float).tolist()
    alt = "Cosine to the kept M: " + ", ".join(f"{value:.3f}" for value in values)
    line = Line("", list(range(len(values))), values)
    return lines([line], alt, x="round", y="cosine to the kept M", marked=float(kept), caption="How far M has come.")


def records_table(model: Any) -> str:
    """What happened in each round, in numbers."""
    rows = []
    for record in model.rounds_:
        kept = label("✓ kept", "good") if record.index == model.best_round_ else ""
        rows.append(
            row(
                str(record.index),
                cell(kept, int(bool(kept))),
                *(number(_number(v), v if v == v else None) for v in (record.score, record.loo)),
                number(shown(record.ridge), record.ridge),
                number(shown(record.bandwidth), record.bandwidth),
                number(str(record.rank), record.rank),
                number(shown(record.residual, 2), record.residual),
                number(f"{record.seconds:.2g} s", record.seconds),
                cell(text(record.status)),
            )
        )
    heads = ("round", "kept?", "held-out", "leave-one-out", "ridge", "bandwidth", "rank", "residual")
    return table(
        (*heads, "time", "how it was solved"),
        rows,
        sort=True,
        title="Rounds: mean squared errors of the scaled target, and how each was solved",
    )


def _along(model: Any, directions: Directions, i: int, output: Any) -> str:
    found = along(model, directions, i, grid=30, rows=100, output=output)
    ends = f"from {shown(float(found.mean[0]))} to {shown(float(found.mean[-1]))}"
    alt = f"{found.output.name} along direction {i + 1}: {ends}"
    return figure(plot_partial_dependence(found), alt, "Mean prediction of training rows moved along the direction.")


def _shares(changed: Evolution, t: int, names: Sequence[str]) -> str:
    shares = changed.diagonals[t]
    order = np.argsort(-shares, kind="stable")[:8]
    top = float(changed.diagonals.max())
    rows = [row(names[j], bar(float(shares[j]), 0.0, top), number(f"{shares[j]:.1%}", float(shares[j]))) for j in order]
    return table(("column", "", "share"), rows, "plain")


def _matrix_words(source: str) -> str:
    if source == "agop_":
        return "the average gradient outer product of the predictor (the M it was fitted with says nothing of this)"
    return "the learned matrix M"


def _number(value: float) -> str:
    return "–" if value != value else shown(value)
