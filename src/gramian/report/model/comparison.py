"""The page about two fitted models: whose predictions are better, what each has learned, where they disagree."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gramian.core import cosine
from gramian.nets.compare import subspace_overlap
from gramian.report.model.about import said
from gramian.report.model.evidence import Evidence, evidence, read_table, take
from gramian.report.model.learned import MOST_LINES, errors_chart
from gramian.report.model.measures import LEVEL, TOO_FEW, enough, interval, interval_of, measures, resampled
from gramian.report.web import (
    Section,
    bar,
    cell,
    facts,
    heat_map,
    label,
    note,
    number,
    page,
    row,
    shown,
    span,
    table,
    tag,
    text,
    tiles,
)
from gramian.rfm.columns import Columns
from gramian.rfm.directions import learned_matrix

_DIRECTIONS, _MAP_COLUMNS, _ROWS = 5, 24, 20
_MOST_PREDICTED = 20_000
Pair = tuple[Any, Any]
Names = tuple[str, str]


def comparison_page(models: Pair, X: Any, y: Any, names: Names, title: str | None = None) -> str:
    """The page as text; see :func:`gramian.report.write_comparison`."""
    X = None if X is None else read_table(X)
    tables = _in_order(models[0], X), _in_order(models[1], X)
    found = evidence(models[0], tables[0], y), evidence(models[1], tables[1], y)
    _check(models, found)
    rows = _score_rows(found, names, paired=X is not None and y is not None)
    sections = [
        _scores(found, names, rows, paired=X is not None and y is not None),
        _importances(models, names),
        _matrices(models, names),
        Section("Rounds", errors_chart(list(zip(names, models, strict=True)))),
        Section("Rows on which they disagree most", _disagreement(models, found, tables, names), "Disagreement"),
        _settings(models, names),
    ]
    what = f"{len(found[0].classes)} classes" if found[0].classes else "regression"
    judged = [one.words for one in found]
    how = (
        f"Both judged on {judged[0]}"
        if judged[0] == judged[1]
        else "; ".join(f"{name} judged on {words}" for name, words in zip(names, judged, strict=True))
    )
    lead = f"Two models compared ({what}). {how}."
    return page(title or f"{names[0]} and {names[1]}", lead, sections, top=_top(found, names))


def _check(models: Pair, found: tuple[Evidence, Evidence]) -> None:
    one, two = found
    if one.classes != two.classes or (not one.classes and one.y.shape[1] != two.y.shape[1]):
        raise ValueError("a and b must predict the same: two classifiers of one set of classes, or two regressors")
    first, second = (Columns.of(model).names for model in models)
    if set(first) != set(second):
        odd = sorted(set(first) ^ set(second))[:5]
        raise ValueError(f"a and b must be fitted to the same columns; only one of them has {', '.join(odd)}")


def _in_order(model: Any, X: Any) -> Any:
    """The table with its columns in the order of the model's fit, where both know names."""
    keys = {str(key): key for key in getattr(X, "columns", ())}
    names = Columns.of(model).names
    return X[[keys[name] for name in names]] if set(names) <= set(keys) else X


def _top(found: tuple[Evidence, Evidence], names: Names) -> str:
    measure = measures(found[0])[0]
    values = [
        (shown(value, 3) if np.isfinite(value := measure.of(one, one.weights)) else "–", f"{measure.name}, {name}")
        for one, name in zip(found, names, strict=True)
    ]
    return tiles(values)


def _score_rows(found: tuple[Evidence, Evidence], names: Names, paired: bool) -> list[str]:
    rows = []
    for measure in measures(found[0]):
        values = [measure.of(one, one.weights) for one in found]
        if paired:
            drawn = resampled(measure, found)
        else:
            drawn = np.column_stack([resampled(measure, [one])[:, 0] for one in found])
        cells = [
            _with_ends(value, *interval_of(measure, one, column))
            for value, one, column in zip(values, found, drawn.T, strict=True)
        ]
        gap = values[1] - values[0]
        if paired:
            low, high = interval(drawn[:, 1] - drawn[:, 0]) if enough(found[0]) else (np.nan, np.nan)
            cells.append(_with_ends(gap, low, high, 2))
            cells.append(cell(_verdict(low, high, measure.rises, names)))
        else:
            cells.append(_with_ends(gap, np.nan, np.nan, 2))
        rows.append(row(measure.name, *cells))
    return rows


def _scores(found: tuple[Evidence, Evidence], names: Names, rows: list[str], paired: bool) -> Section:
    heads = ["score", *names, f"{names[1]} − {names[0]}"] + (["verdict"] if paired else [])
    if paired:
        about = (
            f"On {found[0].words}. Small: {LEVEL:.0%} intervals from 200 resamplings of these rows, the same for both, "
            "so that the interval of the difference is that of paired rows."
        )
        if found[0].classes:
            about += " The interval of an accuracy is Wilson's."
    else:
        about = (
            f"{names[0]}: {found[0].words}. {names[1]}: {found[1].words}. These need not be the same rows: give X and "
            "y for an interval of the difference."
        )
    return Section("Scores", note(text(about)) + table(heads, rows))


def _with_ends(value: float, low: float, high: float, digits: int = 3) -> str:
    """A score, or a dash where there is none, with its interval where there is one."""
    if not np.isfinite(value):
        return number("–", None)
    ends = f"<br>{tag('small', text(span(low, high)))}" if np.isfinite(low) else ""
    return cell(text(shown(value, digits)) + ends, value, "num")


def _verdict(low: float, high: float, rises: bool, names: Names) -> str:
    if not np.isfinite(low):
        return label(TOO_FEW, "none")
    if not (low > 0 or high < 0):
        return label("≈ no difference shown", "none")
    better = names[1] if (low > 0) == rises else names[0]
    return label(f"{better} is better", "good")


def _importances(models: Pair, names: Names) -> Section:
    one, two = (model.importances() for model in models)
    at = {name: j for j, name in enumerate(two.columns)}
    same = [at[name] for name in one.columns]
    shares, low, high = two.shares[same], two.low[same], two.high[same]
    top = float(max(one.high.max(), high.max(), one.shares.max(), shares.max()))
    order = np.argsort(-np.maximum(one.shares, shares), kind="stable")
    rows = [
        row(
            one.columns[j],
            bar(float(one.shares[j]), 0.0, top, (float(one.low[j]), float(one.high[j]))),
            number(f"{one.shares[j]:.1%}", float(one.shares[j])),
            bar(float(shares[j]), 0.0, top, (float(low[j]), float(high[j]))),
            number(f"{shares[j]:.1%}", float(shares[j])),
            number(f"{100 * (shares[j] - one.shares[j]):+.1f}", float(shares[j] - one.shares[j])),
        )
        for j in order[:MOST_LINES]
    ]
    heads = ("column", "", names[0], "", names[1], "difference, points")
    left = len(order) - len(rows)
    rest = note(f"{left:,} more columns.") if left else ""
    about = f"Shares of sensitivity, with {one.level:.0%} intervals from resampled training rows of each fit."
    return Section("Importances", note(about) + table(heads, rows, "plain two", sort=True) + rest)


def _matrices(models: Pair, names: Names) -> Section:
    columns = [Columns.of(model) for model in models]
    if set(columns[0].encoded) != set(columns[1].encoded):
        said_so = "The two models encode their columns differently, so that their matrices cannot be set side by side."
        return Section("Learned matrices", note(said_so))
    at = {name: j for j, name in enumerate(columns[1].encoded)}
    same = [at[name] for name in columns[0].encoded]
    (A, source), (B, other) = (learned_matrix(model) for model in models)
    if source != other:  # M of round 1 is the gradients' matrix of round 0: like is compared with like
        A, B, source = models[0].agop_, models[1].agop_, "agop_"
    B = B[np.ix_(same, same)]
    A, B = A / (np.trace(A) or 1.0), B / (np.trace(B) or 1.0)
    one, two = torch.from_numpy(A), torch.from_numpy(B)
    pairs: list[tuple[str, object]] = [("cosine of the matrices", f"{cosine(one, two):.3f}")]
    for k in sorted({1, min(3, len(A)), min(_DIRECTIONS, len(A))}):
        many = "direction" if k == 1 else "directions"
        overlap = subspace_overlap(one, two, k)
        pairs.append((f"overlap of {k} {many}", f"{overlap:.3f} (by chance {min(1.0, k / len(A)):.3f})"))
    which = np.sort(np.argsort(-np.maximum(np.diag(A), np.diag(B)), kind="stable")[:_MAP_COLUMNS])
    called = [columns[0].encoded[j] for j in which]
    block = np.ix_(which, which)
    bound = float(max(np.abs(A[block]).max(), np.abs(B[block]).max()))
    maps = "".join(
        heat_map(M[block], f"M of {name}, divided by its trace", names=called, bound=bound, caption=name)
        for name, M in zip(names, (A, B), strict=True)
    )
    about = (
        f"Of each model the {_called(source)}, divided by its trace; one scale of colours. Columns are those with the "
        "largest diagonal in either."
    )
    return Section("Learned matrices", facts(pairs) + note(about) + tag("div", maps, class_="side"), "Matrices")


def _disagreement(models: Pair, found: tuple[Evidence, Evidence], tables: Pair, names: Names) -> str:
    if tables[0] is None:
        return note("Give X to see the rows on which the two models differ most.")
    rows = found[0].rows
    if rows is None:
        n = len(tables[0])
        rows = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_PREDICTED])
    parts, known = [take(table_of, rows) for table_of in tables], found[0].rows is not None
    classes = found[0].classes
    if classes:
        said_of = [model.predict_proba(part) for model, part in zip(models, parts, strict=True)]
        gap = np.abs(said_of[0] - said_of[1]).sum(axis=1) / 2
        about = "Half the sum of differences between the probabilities of all classes: 0 the same, 1 nothing in common."
    else:
        said_of = [model.predict(part).reshape(len(rows), -1) for model, part in zip(models, parts, strict=True)]
        gap = np.abs(said_of[0] - said_of[1]).max(axis=1)
        about = "The difference between the predictions (of the target where it is largest)."
    lines = []
    for i in np.argsort(-gap, kind="stable")[:_ROWS]:
        cells = [_prediction(said_by[i], classes) for said_by in said_of]
        cells.append(number(shown(float(gap[i]), 3), float(gap[i])))
        if known:
            true = found[0].y[i]
            cells.append(cell(text(classes[true] if classes else ", ".join(shown(float(v)) for v in np.ravel(true)))))
        lines.append(row(f"row {rows[i]}", *cells))
    heads = ["row", *names, "difference"] + (["y"] if known else [])
    return note(about) + table(heads, lines, sort=True)


def _prediction(values: np.ndarray, classes: tuple[str, ...]) -> str:
    if classes:
        best = int(values.argmax())
        return cell(text(f"{classes[best]} ({values[best]:.1%})"))
    return cell(text(", ".join(shown(float(value)) for value in values)), float(values[0]), "num")


def _settings(models: Pair, names: Names) -> Section:
    one, two = (model.get_params(deep=False) for model in models)
    lines = [("kind", *(type(model).__name__ for model in models))] if type(models[0]) is not type(models[1]) else []
    lines += [
        (name, said(one[name]), said(two[name])) for name in sorted(one) if said(one[name]) != said(two.get(name))
    ]
    chosen = [
        ("kernel", "kernel_"),
        ("update of M", "update_"),
        ("ridge", "ridge_"),
        ("round kept", "best_round_"),
    ]
    found = [(name, *(said(getattr(model, key)) for model in models)) for name, key in chosen]
    found.append(("rows", *(f"{len(model.row_index_):,}" for model in models)))
    heads = ("setting", *names)

    def listed(entries: list[tuple[str, ...]], title: str) -> str:
        rows = [row(name, *(cell(tag("code", text(value))) for value in values)) for name, *values in entries]
        return table(heads, rows, title=title) if rows else ""

    differ = listed(lines, "Arguments that differ") or note("All arguments are the same.")
    return Section("Settings", differ + listed(found, "What was chosen"))


def _called(source: str) -> str:
    return "average gradient outer product of its predictions" if source == "agop_" else "matrix M of its kernel"
