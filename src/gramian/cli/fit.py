"""``gramian fit``: fit a model to a table, score it on held-out rows, and save it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from sklearn.model_selection import train_test_split

from gramian import RFMClassifier, RFMRegressor, __version__
from gramian import report as pages
from gramian.cli.completion import complete_column
from gramian.cli.interrupts import INTERRUPTED, noticing_interrupts
from gramian.cli.options import missing_option
from gramian.cli.output import emit, make_console
from gramian.cli.remarks import remarks, without_repeated_remarks
from gramian.cli.shares import share_table
from gramian.cli.target import read_target, score_with_baseline
from gramian.core import format_bytes
from gramian.core.paths import check_writable
from gramian.core.splits import hold_out
from gramian.display import Bar, Cell, Column, Section, Table, format_number, to_rich
from gramian.tables import ColumnRecord, TableEncoder
from gramian.tables.frame_files import check_columns, read_frame
from gramian.tables.split_columns import split_condition
from gramian.tables.target_column import TASKS, PredictionTask, choose_task

_LISTED_COLUMNS = 40
"""The columns of a table that are listed before the fit."""


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, shell_complete=complete_column, help="Column to predict.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File for the model, such as m.gramian.")
@click.option("--task", type=click.Choice(TASKS), default="auto", show_default=True, help="The task of the model.")
@click.option(
    "--drop",
    multiple=True,
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Leave a column out; may be given several times.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Rows with equal entries here (a patient, a household) are fitted or held out together.",
)
@click.option(
    "--time",
    "times",
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Held-out rows have later entries here than the rows that are fitted.",
)
@missing_option
@click.option("--preset", type=click.Choice(["fast", "default", "best"]), help="How much work to spend on the fit.")
@click.option(
    "--metric",
    type=click.Choice(["log_loss", "brier", "auc", "accuracy", "rmse", "mae"]),
    help="Loss by which models are selected; by default squared errors.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit of all fits together.",
)
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the rows held out to measure the score; 0 for none.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the split and the fit.")
@click.option("--report", "page", type=click.Path(path_type=Path), help="File for a page about the model (HTML).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def fit(
    data: Path,
    target: str,
    out: Path,
    task: str,
    drop: tuple[str, ...],
    groups: str | None,
    times: str | None,
    missing: tuple[str, ...],
    preset: str | None,
    metric: str | None,
    time_limit: float | None,
    test_size: float,
    seed: int,
    page: Path | None,
    as_json: bool,
) -> None:
    """Fit a model to a table and save it.

    DATA is a CSV, TSV or Parquet file with a line of column names (.csv, .csv.gz, .tsv, .parquet). Rows without a
    target are left out. The score is measured on rows held out from a first fit; the saved model is fitted to all rows.
    Ctrl-C saves the last complete model.

    \b
    Examples:
      gramian fit houses.csv --target price --out houses.gramian
      gramian fit houses.csv --target price --out m.gramian --report m.html
      gramian fit houses.csv --target price --out m.gramian --json > fit.json
      gramian fit churn.parquet --target left --drop id --out churn.gramian
      gramian fit churn.csv --target left --missing NA --out m.gramian
      gramian fit visits.csv --target pain --groups patient --out m.gramian
    """
    begin = time.perf_counter()
    check_writable(out, data)
    if page is not None:
        check_writable(page, data, out)
    console = make_console()
    frame = read_frame(data, missing)
    by = {name: column for name, column in (("groups", groups), ("time", times)) if column is not None}
    check_columns([target, *drop, *by.values()], frame, data)
    if target in (*drop, *by.values()):
        raise ValueError(f"{target!r} is the target and cannot be dropped, nor split the rows")
    known, y = read_target(frame[target])
    split_by = {name: _numbers_or_texts(frame.loc[known, column]) for name, column in by.items()}
    split_condition(split_by.get("groups"), split_by.get("time"))  # refused now, not after the first fit
    X = frame.loc[known].drop(columns=list(dict.fromkeys([target, *drop, *by.values()])))
    if X.shape[1] == 0:
        raise ValueError(f"{data} has no columns besides {', '.join(map(repr, (target, *drop)))} to predict from")
    if len(y) < 10:
        raise ValueError(f"{data} has {len(y)} rows with a {target!r}: a fit needs at least 10")
    chosen = choose_task(y, task)
    if chosen.classifies and y.dtype.kind == "f" and bool((y == y.round()).all()):
        y = y.astype("int64")  # whole numbers that became decimals because others are missing
    columns, notes = describe(X), remarks(X)
    if not as_json:
        _print_table(console, data, X, target, int((~known).sum()), columns)
        for line in notes:
            console.print(f"[yellow]Note:[/] {escape(line)}", soft_wrap=True)
        other = f" (--task {chosen.other} overrides this)" if chosen.other else ""
        console.print(
            f"[bold]{chosen.name.capitalize()}[/]: {escape(target)} — {chosen.reason}{other}\n", soft_wrap=True
        )
    options: dict[str, Any] = {"random_state": seed, "verbose": 0 if as_json else 1}
    if preset is not None:
        options["preset"] = preset
    if metric is not None:
        options["metric"] = metric
    if time_limit is not None:
        options["time_limit"] = time_limit / (1 if test_size == 0 else 2)
    fitted = _fit(X, y, split_by, chosen, options, test_size, seed, None if as_json else console)
    fitted.model.save(out)
    if page is not None:
        # The page is about the scored model: the saved one was fitted to the held-out rows, which would flatter it.
        X_page, y_page = _rows_with_known_labels(fitted, target)
        pages.write_report(fitted.scored, page, X=X_page, y=y_page, title=f"{target} from {data.name}")
    seconds = time.perf_counter() - begin
    importances = named_importances(fitted.model)
    if as_json:
        record = {
            "gramian": __version__,
            "data": data,
            "rows": len(y),
            "rows_without_target": int((~known).sum()),
            "columns": columns,
            "remarks": notes,
            "target": target,
            "task": chosen.name,
            "reason": chosen.reason,
            "preset": fitted.model.preset,
            "seed": seed,
            "held_out": None if fitted.scores is None else {"rows": len(fitted.y_test), "scores": fitted.scores},
            "importances": importances,
            "fitted_rows": fitted.rows,
            "interrupted": fitted.interrupted,
            "model": out,
            "bytes": out.stat().st_size,
            "report": page,
            "seconds": round(seconds, 2),
        }
        emit(record)
    else:
        console.print(to_rich([Section("Columns that the prediction is sensitive to", share_table(importances))]))
        rows = f"{'all ' if fitted.rows == len(y) else ''}{fitted.rows:,} rows"
        name, size, took = escape(str(out)), format_bytes(out.stat().st_size), f"{seconds:.1f} s"
        then = f"Next: gramian predict {name} new.csv"
        console.print(f"\n[bold]{name}[/]: fitted to {rows}, {size}, {took}. {then}", soft_wrap=True)
        if page is not None:
            which = "" if fitted.scores is None else " (the model of the scores above, on the held-out rows)"
            console.print(f"[bold]{escape(str(page))}[/]: a page about the model{which}", soft_wrap=True)
    if fitted.interrupted:
        click.echo(f"Interrupted: {out} is the model of {fitted.rows:,} of {len(y):,} rows", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The model to save with the number of its rows, and the model that was scored, with the held-out rows.

    Both are the same model if no rows were held out, or if the second fit was interrupted.
    """

    model: RFMClassifier | RFMRegressor
    rows: int
    interrupted: bool
    scored: RFMClassifier | RFMRegressor
    scores: dict[str, dict[str, float]] | None = None
    X_test: Any = None
    y_test: Any = None


def _fit(
    X: Any,
    y: Any,
    split_by: dict[str, Any],
    task: PredictionTask,
    options: dict[str, Any],
    test_size: float,
    seed: int,
    console: Console | None,
) -> _Fitted:
    """Fit to a part of the rows, score on the others, then fit to all; after Ctrl-C return the last complete model.

    ``split_by`` are groups or times of the rows, as ``fit`` takes them.
    """
    estimator: Callable[..., Any] = RFMClassifier if task.classifies else RFMRegressor
    scored = None
    with noticing_interrupts() as interrupted, without_repeated_remarks():
        if test_size > 0:
            train, test = _split(y, split_by, test_size, seed, task)
            X_test, y_train, y_test = X.iloc[test], y.iloc[train], y.iloc[test]
            own = {name: values[train] for name, values in split_by.items()}
            model = estimator(**options).fit(X.iloc[train], y_train.to_numpy(), **own)
            scores = score_with_baseline(model, X_test, y_test, y_train)
            scored = _Fitted(model, len(y_train), interrupted(), model, scores, X_test, y_test.to_numpy())
            if console is not None:
                console.print(to_rich([_score_section(scores, len(y_train), len(y_test), task)]))
                console.print()
            if scored.interrupted:
                return scored
        try:
            model = estimator(**options).fit(X, y.to_numpy(), **split_by)
        except KeyboardInterrupt:
            if scored is None:
                raise
        if scored is None:
            return _Fitted(model, len(y), interrupted(), model)
        if interrupted():
            # The scored model is complete; the one whose fit was interrupted may be anything.
            return replace(scored, interrupted=True)
        return replace(scored, model=model, rows=len(y))


def _rows_with_known_labels(fitted: _Fitted, target: str) -> tuple[Any, Any]:
    """Return the held-out rows without those of a class that the scored model does not know: no page can score them."""
    if fitted.y_test is None or not hasattr(fitted.scored, "classes_"):
        return fitted.X_test, fitted.y_test
    known = np.isin(fitted.y_test, fitted.scored.classes_)
    if not known.all():
        classes = ", ".join(sorted({repr(str(label)) for label in fitted.y_test[~known]}))
        left_out = f"{(~known).sum():,} of {len(known):,} held-out rows are left out of the page"
        warnings.warn(f"{left_out}: no training row has the {target} {classes}", stacklevel=2)
    return (fitted.X_test[known], fitted.y_test[known]) if known.any() else (None, None)


def describe(X: Any) -> list[dict[str, Any]]:
    """Return a record per column: its kind, its missing and distinct values, and how the table encoder uses it."""
    return [
        {
            "name": record.name,
            "kind": record.kind,
            "missing": record.missing,
            "distinct": int(X[record.name].nunique()),
            "use": record.done if _is_encoded(record) else "",
        }
        for record in TableEncoder().fit(X).records_
    ]


def _is_encoded(record: ColumnRecord) -> bool:
    """Return whether a column is more than numbers that are used as they are."""
    return record.kind not in ("number", "boolean") or record.missing > 0


def named_importances(model: Any) -> dict[str, float]:
    """Return the importances of the user's columns by name, largest first."""
    shares = model.feature_importances_
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    return {str(names[j]): float(shares[j]) for j in np.argsort(-shares, kind="stable")}


def _numbers_or_texts(column: Any) -> NDArray[Any]:
    """Return a column as numbers if all of its entries are; a file of text has only texts."""
    try:
        return np.asarray(column.astype("float64"))
    except (TypeError, ValueError):
        return np.asarray(column)


def _split(y: Any, split_by: dict[str, Any], test_size: float, seed: int, task: PredictionTask) -> list[Any]:
    """Return training and held-out rows: whole groups, the latest, or at random with a share of each class."""
    condition = split_condition(split_by.get("groups"), split_by.get("time"))
    if condition is not None:
        test, train = hold_out(len(y), max(1, round(test_size * len(y))), seed, condition)
        return [train.sort().values.numpy(), test.numpy()]
    stratified = task.classifies and y.value_counts().min() >= 2
    held_out = max(round(test_size * len(y)), y.nunique() if stratified else 1)
    strata = y if stratified else None
    return train_test_split(np.arange(len(y)), test_size=held_out, random_state=seed, stratify=strata)


def _print_table(
    console: Console, data: Path, X: Any, target: str, left_out: int, columns: list[dict[str, Any]]
) -> None:
    rest = f"; {left_out:,} rows without a {target} are left out" if left_out else ""
    size = f"{len(X):,} rows × {X.shape[1]} columns"
    console.print(f"[bold]{escape(str(data))}[/]: {size}, target {escape(target + rest)}", soft_wrap=True)
    headings = [Column("column", "left"), Column("kind", "left"), Column("missing"), Column("distinct")]
    rows = [
        [
            column["name"],
            column["kind"],
            f"{column['missing']:,}" if column["missing"] else "",
            f"{column['distinct']:,}",
            column["use"],
        ]
        for column in columns[:_LISTED_COLUMNS]
    ]
    more = len(columns) - _LISTED_COLUMNS
    note = f"and {more} more columns" if more > 0 else ""
    console.print(to_rich([Section("", Table([*headings, Column("use", "left")], rows), note)]))


def _score_section(scores: dict[str, dict[str, float]], n_train: int, n_test: int, task: PredictionTask) -> Section:
    baseline = "most frequent class" if task.classifies else "mean of the target"
    rows: list[list[str | Cell | Bar]] = [
        [name, format_number(pair["model"]), Cell(format_number(pair["baseline"]), "quiet")]
        for name, pair in scores.items()
    ]
    return Section("", Table([f"{n_test:,} held-out rows", f"fitted to {n_train:,}", baseline], rows))
