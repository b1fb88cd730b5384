"""The page about two fitted models: scores, learned features, and rows on which they disagree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gramian.core import cosine
from gramian.display import (
    Bar,
    Cell,
    Column,
    Entry,
    Table,
    format_number,
    format_percent,
    format_score,
    typographic_minus,
)
from gramian.nets.compare import subspace_overlap
from gramian.report.model.fitted import fitted_rows
from gramian.report.model.learned import MOST_LINES
from gramian.report.model.measures import LEVEL, TOO_FEW, has_enough_rows, interval, interval_of, measures, resampled
from gramian.report.model.predictions import Predictions, predicted, predictions_for, probabilities, read_table, take
from gramian.report.model.provenance import format_setting
from gramian.report.model.rounds import errors_chart
from gramian.report.web import (
    PageSection,
    code_cell,
    facts,
    heat_map,
    label_cell,
    note,
    number_cell,
    page,
    table,
    tag,
    text,
    tiles,
)
from gramian.rfm import FittedRFM, RFMClassifier, RFMRegressor
from gramian.rfm.explain import importances, learned_matrix
from gramian.tables.types import TableLike, TargetLike

_DIRECTIONS, _MAP_COLUMNS, _ROWS = 5, 24, 20
_MOST_PREDICTED = 20_000
Estimator = RFMClassifier | RFMRegressor
Models = tuple[FittedRFM, FittedRFM]
Names = tuple[str, str]
Both = tuple[Predictions, Predictions]


def model_comparison_page(
    estimators: tuple[Estimator, Estimator], X: TableLike, y: TargetLike, names: Names, title: str | None = None
) -> str:
    """Return the page as text; see :func:`gramian.report.write_comparison`."""
    models = estimators[0].fitted(), estimators[1].fitted()
    X = None if X is None else read_table(X)
    tables = _in_order(models[0], X), _in_order(models[1], X)
    both = predictions_for(models[0], tables[0], y), predictions_for(models[1], tables[1], y)
    _check(models, both)
    paired = X is not None and y is not None
    sections = [
        _scores(both, names, paired),
        _importances(models, names),
        _matrices(models, names),
        PageSection("Rounds", errors_chart(list(zip(names, models, strict=True)))),
        PageSection("Rows on which they disagree most", _disagreement(models, both, tables, names), "Disagreement"),
        _settings(estimators, models, names),
    ]
    outputs = f"{len(both[0].classes)} classes" if both[0].classes else "regression"
    sources = [one.description for one in both]
    if sources[0] == sources[1]:
        how = f"Both are evaluated on {sources[0]}"
    else:
        how = "; ".join(f"{name} is evaluated on {source}" for name, source in zip(names, sources, strict=True))
    lead = f"Comparison of two models ({outputs}). {how}."
    return page(title or f"{names[0]} and {names[1]}", lead, sections, top=_tiles(both, names))


def _check(models: Models, both: Both) -> None:
    one, two = both
    if one.classes != two.classes or (not one.classes and one.y.shape[1] != two.y.shape[1]):
        raise ValueError("a and b must predict the same: two classifiers of one set of classes, or two regressors")
    first, second = (model.columns.names for model in models)
    if set(first) != set(second):
        odd = sorted(set(first) ^ set(second))[:5]
        raise ValueError(f"a and b must be fitted to the same columns; only one of them has {', '.join(odd)}")


def _in_order(model: FittedRFM, X: TableLike) -> TableLike:
    """Return the table with its columns in the order of the fit, if both have names."""
    keys = {str(key): key for key in getattr(X, "columns", ())}
    names = model.columns.names
    return X[[keys[name] for name in names]] if set(names) <= set(keys) else X


def _tiles(both: Both, names: Names) -> str:
    measure = measures(both[0])[0]
    values = [measure.of(one, one.weights) for one in both]
    return tiles(
        [
            (typographic_minus(format_score(value)), f"{measure.name}, {name}")
            for value, name in zip(values, names, strict=True)
        ]
    )


def _scores(both: Both, names: Names, paired: bool) -> PageSection:
    rows: list[list[Entry]] = []
    for measure in measures(both[0]):
        values = [measure.of(one, one.weights) for one in both]
        if paired:
            drawn = resampled(measure, both)
        else:
            drawn = np.column_stack([resampled(measure, [one])[:, 0] for one in both])
        cells = [
            _estimate(value, *interval_of(measure, one, column))
            for value, one, column in zip(values, both, drawn.T, strict=True)
        ]
        difference = values[1] - values[0]
        if paired:
            low, high = interval(drawn[:, 1] - drawn[:, 0]) if has_enough_rows(both[0]) else (np.nan, np.nan)
            cells.append(_estimate(difference, low, high))
            cells.append(_verdict(low, high, measure.higher_is_better, names))
        else:
            cells.append(_estimate(difference, np.nan, np.nan))
        rows.append([measure.name, *cells])
    headings: list[str | Column] = ["score", *names, f"{names[1]} − {names[0]}"]
    headings += [Column("verdict", "left")] if paired else []
    if paired:
        about = (
            f"On {both[0].description}. In small print: {LEVEL:.0%} intervals from 200 resamplings of these rows, the "
            "same for both models, so the interval of the difference is paired."
        )
        if both[0].classes:
            about += " The interval of an accuracy is Wilson's."
    else:
        about = (
            f"{names[0]}: {both[0].description}. {names[1]}: {both[1].description}. These need not be the same rows: "
            "give X and y for an interval of the difference."
        )
    return PageSection("Scores", note(text(about)) + table(Table(headings, rows)))


def _estimate(value: float, low: float, high: float) -> Cell:
    """Return a score, or a dash if it does not exist, with its interval in small print if it is known."""
    if not np.isfinite(low) or not np.isfinite(value):
        return number_cell(value, format_score)
    shown, ends = format_score(value), f"{format_score(low)} … {format_score(high)}"
    markup = text(typographic_minus(shown)) + "<br>" + tag("small", text(typographic_minus(ends)))
    return Cell(f"{shown} ({ends})", sort=value, markup=markup)


def _verdict(low: float, high: float, higher_is_better: bool, names: Names) -> Cell:
    if not np.isfinite(low):
        return label_cell(TOO_FEW)
    if not (low > 0 or high < 0):
        return label_cell("≈ no difference shown")
    better = names[1] if (low > 0) == higher_is_better else names[0]
    return label_cell(f"{better} is better", "good")


def _importances(models: Models, names: Names) -> PageSection:
    one, two = (importances(model) for model in models)
    at = {name: j for j, name in enumerate(two.columns)}
    same = [at[name] for name in one.columns]
    shares, low, high = two.shares[same], two.low[same], two.high[same]
    top = float(max(one.high.max(), high.max(), one.shares.max(), shares.max()))
    order = np.argsort(-np.maximum(one.shares, shares), kind="stable")
    rows = [
        [
            one.columns[j],
            Bar(float(one.shares[j]), 0.0, top, ends=(float(one.low[j]), float(one.high[j]))),
            number_cell(float(one.shares[j]), format_percent),
            Bar(float(shares[j]), 0.0, top, ends=(float(low[j]), float(high[j]))),
            number_cell(float(shares[j]), format_percent),
            number_cell(float(shares[j] - one.shares[j]), lambda difference: f"{100 * difference:+.1f}"),
        ]
        for j in order[:MOST_LINES]
    ]
    left = len(order) - len(rows)
    rest = note(f"{left:,} more columns.") if left else ""
    about = f"Shares of sensitivity, with intervals ({one.interval_name}). {one.about_interval}"
    data = Table(["column", "", names[0], "", names[1], "difference (percentage points)"], rows)
    return PageSection("Importances", note(about) + table(data, class_="plain two", sortable=True) + rest)


def _matrices(models: Models, names: Names) -> PageSection:
    columns = [model.columns for model in models]
    if set(columns[0].encoded) != set(columns[1].encoded):
        about = "The two models encode their columns differently, so their matrices cannot be compared."
        return PageSection("Learned matrices", note(about))
    at = {name: j for j, name in enumerate(columns[1].encoded)}
    same = [at[name] for name in columns[0].encoded]
    (A, source), (B, other) = (learned_matrix(model) for model in models)
    if source != other:  # M of round 1 is the gradients' matrix of round 0: compare the same matrix of both
        A, B, source = models[0].agop, models[1].agop, "agop_"
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
    matrix = "average gradient outer product of its predictions" if source == "agop_" else "matrix M of its kernel"
    about = (
        f"The {matrix} of each model, divided by its trace, with one scale of colours. The columns are those with the "
        "largest diagonal in either."
    )
    return PageSection("Learned matrices", facts(pairs) + note(about) + tag("div", maps, class_="side"), "Matrices")


def _disagreement(models: Models, both: Both, tables: tuple[TableLike, TableLike], names: Names) -> str:
    if tables[0] is None:
        return note("Give X to see the rows on which the two models disagree most.")
    rows, known = both[0].rows, both[0].rows is not None
    if rows is None:
        rows = np.sort(np.random.default_rng(0).permutation(len(tables[0]))[:_MOST_PREDICTED])
    parts = [take(given, rows) for given in tables]
    classes = both[0].classes
    if classes:
        outputs = [probabilities(model, part) for model, part in zip(models, parts, strict=True)]
        gap = np.abs(outputs[0] - outputs[1]).sum(axis=1) / 2
        about = "Half the sum of the differences between the probabilities of all classes: 0 if equal, 1 if disjoint."
    else:
        outputs = [predicted(model, part).reshape(len(rows), -1) for model, part in zip(models, parts, strict=True)]
        gap = np.abs(outputs[0] - outputs[1]).max(axis=1)
        about = "The difference of the predictions, of the target with the largest difference."
    lines = []
    for i in np.argsort(-gap, kind="stable")[:_ROWS]:
        cells: list[Entry] = [_prediction(output[i], classes) for output in outputs]
        cells.append(number_cell(float(gap[i]), format_score))
        if known:
            true = both[0].y[i]
            cells.append(classes[true] if classes else ", ".join(format_number(float(v)) for v in np.ravel(true)))
        lines.append([f"row {rows[i]}", *cells])
    data = Table(["row", *names, "difference", *(["y"] if known else [])], lines)
    return note(about) + table(data, sortable=True)


def _prediction(values: np.ndarray, classes: tuple[str, ...]) -> Cell:
    if classes:
        best = int(values.argmax())
        return Cell(f"{classes[best]} ({values[best]:.1%})")
    return Cell(", ".join(format_number(float(value)) for value in values), sort=float(values[0]))


def _settings(estimators: tuple[Estimator, Estimator], models: Models, names: Names) -> PageSection:
    one, two = (estimator.get_params(deep=False) for estimator in estimators)
    differing = [
        (name, format_setting(one[name]), format_setting(two.get(name)))
        for name in sorted(one)
        if format_setting(one[name]) != format_setting(two.get(name))
    ]
    if type(estimators[0]) is not type(estimators[1]):
        differing.insert(0, ("estimator", type(estimators[0]).__name__, type(estimators[1]).__name__))
    values = [
        (m.machine.kernel, m.history.update, m.history.ridge, m.history.best_round, fitted_rows(m).fitted)
        for m in models
    ]
    settings = ("kernel", "update of M", "ridge", "round", "rows it was fitted to")
    selected = [(name, *map(format_setting, pair)) for name, *pair in zip(settings, *values, strict=True)]

    def listed(entries: Sequence[tuple[str, ...]], title: str) -> str:
        rows: list[list[Entry]] = [[name, *(code_cell(value) for value in values)] for name, *values in entries]
        columns: list[str | Column] = ["setting", *(Column(name, "left") for name in names)]
        return table(Table(columns, rows), title=title) if rows else ""

    differ = listed(differing, "Arguments that differ") or note("All arguments are the same.")
    return PageSection("Settings", differ + listed(selected, "Selected settings"))
