"""``gramian fit``: from a table on disk to a model on disk, with a score on rows it has not seen."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from sklearn.model_selection import train_test_split

from gramian import RFMClassifier, RFMRegressor, __version__
from gramian import report as pages
from gramian.cli import show
from gramian.cli.completion import complete_column
from gramian.cli.frames import check_columns, check_writable, missing_option, read_frame
from gramian.cli.interrupts import INTERRUPTED, noticing_interrupts
from gramian.cli.output import emit
from gramian.cli.remarks import remarks
from gramian.cli.target import TASKS, Task, choose_task, measure, read_target
from gramian.core import format_bytes
from gramian.tables import TableEncoder

_MOST_LINES = 40


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, shell_complete=complete_column, help="Column to predict.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File for the model, such as m.gramian.")
@click.option("--task", type=click.Choice(TASKS), default="auto", show_default=True, help="What the target asks for.")
@click.option(
    "--drop",
    multiple=True,
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Leave a column out; may be given several times.",
)
@missing_option
@click.option("--preset", type=click.Choice(["fast", "default", "best"]), help="How much work to put in.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For all fits together."
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
    missing: tuple[str, ...],
    preset: str | None,
    time_limit: float | None,
    test_size: float,
    seed: int,
    page: Path | None,
    as_json: bool,
) -> None:
    """Fit a model to a table and save it.

    DATA is a CSV, TSV or Parquet file with a line of column names (.csv, .csv.gz, .tsv, .parquet). Rows without a
    target are left out. The score is measured on rows held out from a first fit; the model that is saved is fitted to
    all rows. Ctrl-C keeps the last model that is complete.

    \b
    Examples:
      gramian fit houses.csv --target price --out houses.gramian
      gramian fit houses.csv --target price --out m.gramian --report m.html
      gramian fit houses.csv --target price --out m.gramian --json > fit.json
      gramian fit churn.parquet --target left --drop id --out churn.gramian
      gramian fit churn.csv --target left --missing NA --out m.gramian
    """
    begin = time.perf_counter()
    check_writable(out, data)
    if page is not None:
        check_writable(page, data, out)
    console = show.make_console()
    frame = read_frame(data, missing)
    check_columns([target, *drop], frame, data)
    if target in drop:
        raise ValueError(f"{target!r} is the target and cannot be dropped")
    known, y = read_target(frame[target])
    X = frame.loc[known].drop(columns=[target, *drop])
    if X.shape[1] == 0:
        raise ValueError(f"{data} has no columns besides {', '.join(map(repr, (target, *drop)))} to predict from")
    if len(y) < 10:
        raise ValueError(f"{data} has {len(y)} rows with a {target!r}: a fit needs at least 10")
    chosen = choose_task(y, task)
    if chosen.classifies and y.dtype.kind == "f" and bool((y == y.round()).all()):
        y = y.astype("int64")  # whole numbers that became decimals where others are missing
    columns, said = describe(X), remarks(X)
    if not as_json:
        _say_table(console, data, X, target, int((~known).sum()), columns)
        for line in said:
            console.print(f"[yellow]Note:[/] {escape(line)}", soft_wrap=True)
        other = f" (--task {chosen.other} if you see it otherwise)" if chosen.other else ""
        console.print(
            f"[bold]{chosen.name.capitalize()}[/]: {escape(target)} — {chosen.reason}{other}\n", soft_wrap=True
        )
    options: dict[str, Any] = {"random_state": seed, "verbose": 0 if as_json else 1}
    if preset is not None:
        options["preset"] = preset
    if time_limit is not None:
        options["time_limit"] = time_limit / (1 if test_size == 0 else 2)
    fitted = _fit(X, y, chosen, options, test_size, seed, None if as_json else console)
    fitted.model.save(out)
    if page is not None:
        # Of the model that was scored: rows that the other has learned from would flatter it.
        X_page, y_page = _rows_with_known_labels(fitted, target)
        pages.write_report(fitted.judged, page, X=X_page, y=y_page, title=f"{target} from {data.name}")
    seconds = time.perf_counter() - begin
    importances = named_importances(fitted.model)
    if as_json:
        record = {
            "gramian": __version__,
            "data": data,
            "rows": len(y),
            "rows_without_target": int((~known).sum()),
            "columns": columns,
            "remarks": said,
            "target": target,
            "task": chosen.name,
            "reason": chosen.reason,
            "preset": fitted.model.preset,
            "seed": seed,
            "held_out": fitted.scores and {"rows": len(fitted.y_out), "scores": fitted.scores},
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
        console.print("  What the prediction depends on:")
        console.print(show.bars(importances))
        rows = f"{'all ' if fitted.rows == len(y) else ''}{fitted.rows:,} rows"
        name, size, took = escape(str(out)), format_bytes(out.stat().st_size), f"{seconds:.1f} s"
        then = f"Now: gramian predict {name} new.csv"
        console.print(f"\n[bold]{name}[/]: fitted to {rows}, {size}, {took}. {then}", soft_wrap=True)
        if page is not None:
            which = "" if fitted.scores is None else " (the model of the scores above, on the rows held out)"
            console.print(f"[bold]{escape(str(page))}[/]: a page to look at{which}", soft_wrap=True)
    if fitted.interrupted:
        click.echo(f"Interrupted: {out} is the model of {fitted.rows:,} of {len(y):,} rows", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """The model to keep, the rows it was fitted to, and the model that was judged on rows held out (or the same)."""

    model: Any
    rows: int
    interrupted: bool
    judged: Any
    scores: dict[str, Any] | None = None
    X_out: Any = None
    y_out: Any = None


def _fit(X: Any, y: Any, task: Task, options: dict[str, Any], test_size: float, seed: int, console: Any) -> _Fitted:
    """Fit to a part of the rows and score on the others, then fit to all; after Ctrl-C, what is complete by then."""
    estimator: type[Any] = RFMClassifier if task.classifies else RFMRegressor
    scored = None
    with noticing_interrupts() as interrupted:
        if test_size > 0:
            X_in, X_out, y_in, y_out = _split(X, y, test_size, seed, task)
            model = estimator(**options).fit(X_in, y_in.to_numpy())
            scores = measure(model, X_out, y_out, y_in)
            scored = _Fitted(model, len(y_in), interrupted(), model, scores, X_out, y_out.to_numpy())
            if console is not None:
                console.print(_scores(scores, len(y_in), len(y_out), task))
            if scored.interrupted:
                return scored
        try:
            model = estimator(**options).fit(X, y.to_numpy())
        except KeyboardInterrupt:
            if scored is None:
                raise
        if scored is None:
            return _Fitted(model, len(y), interrupted(), model)
        if interrupted():
            # The model whose score was shown is whole; the one that was cut short may be anything.
            return replace(scored, interrupted=True)
        return replace(scored, model=model, rows=len(y))


def _rows_with_known_labels(fitted: _Fitted, target: str) -> tuple[Any, Any]:
    """The rows held out, without those of a class that the judged model has never seen: no page can score them."""
    if fitted.y_out is None or not hasattr(fitted.judged, "classes_"):
        return fitted.X_out, fitted.y_out
    known = np.isin(fitted.y_out, fitted.judged.classes_)
    if not known.all():
        classes = ", ".join(sorted({repr(str(label)) for label in fitted.y_out[~known]}))
        left_out = f"{(~known).sum():,} of {len(known):,} held-out rows are left out of the page"
        warnings.warn(f"{left_out}: no row that was fitted to has the {target} {classes}", stacklevel=2)
    return (fitted.X_out[known], fitted.y_out[known]) if known.any() else (None, None)


def describe(X: Any) -> list[dict[str, Any]]:
    """What each column of a frame is taken for, and what is done with it: the records of the table encoder."""
    return [
        {
            "name": record.name,
            "kind": record.kind,
            "missing": int(X[record.name].isna().sum()),
            "distinct": int(X[record.name].nunique()),
            "use": record.done if _worth_saying(record, X) else "",
        }
        for record in TableEncoder().fit(X).records_
    ]


def _worth_saying(record: Any, X: Any) -> bool:
    return record.kind not in ("number", "boolean") or bool(X[record.name].isna().any())


def named_importances(model: Any) -> dict[str, float]:
    """Shares of the user's columns in the sensitivity of the prediction, largest first."""
    shares = model.feature_importances_
    names = list(getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)]))
    encoder = getattr(model, "encoder_", None)
    if encoder is not None and len(shares) == len(encoder.groups_):
        shares = np.bincount(encoder.groups_, weights=shares, minlength=len(names))
    return {str(names[j]): float(shares[j]) for j in np.argsort(-shares, kind="stable")}


def _split(X: Any, y: Any, test_size: float, seed: int, task: Task) -> list[Any]:
    """Rows to fit to and rows held out; by class where each class has a row for either side."""
    by_class = task.classifies and y.value_counts().min() >= 2
    held_out = max(round(test_size * len(y)), y.nunique() if by_class else 1)
    return train_test_split(X, y, test_size=held_out, random_state=seed, stratify=y if by_class else None)


def _say_table(console: Any, data: Path, X: Any, target: str, left_out: int, columns: list[dict[str, Any]]) -> None:
    rest = f"; {left_out:,} rows without a {target} are left out" if left_out else ""
    size = f"{len(X):,} rows × {X.shape[1]} columns"
    console.print(f"[bold]{escape(str(data))}[/]: {size}, target {escape(target + rest)}", soft_wrap=True)
    lines = Table(box=None, padding=(0, 2, 0, 2), header_style="dim")
    for heading in ("column", "kind", "missing", "distinct", "use"):
        lines.add_column(
            heading, justify="right" if heading in ("missing", "distinct") else "left", overflow="ellipsis"
        )
    for column in columns[:_MOST_LINES]:
        missing = f"{column['missing']:,}" if column["missing"] else ""
        cells = (column["name"], column["kind"], missing, f"{column['distinct']:,}", column["use"])
        lines.add_row(*map(Text, cells))  # as they are: a name in brackets is no markup
    console.print(lines)
    if len(columns) > _MOST_LINES:
        console.print(f"  and {len(columns) - _MOST_LINES} more columns", style="dim")


def _scores(scores: dict[str, dict[str, float]], n_in: int, n_out: int, task: Task) -> Table:
    lines = Table(box=None, padding=(0, 2, 0, 2), header_style="dim", title_justify="left")
    lines.add_column(f"{n_out:,} held-out rows")
    lines.add_column(f"fitted to {n_in:,}", justify="right", style="bold")
    lines.add_column("most frequent class" if task.classifies else "mean of the target", justify="right", style="dim")
    for name, pair in scores.items():
        lines.add_row(name, *map(show.number, (pair["model"], pair["baseline"])))
    lines.add_row()
    return lines
