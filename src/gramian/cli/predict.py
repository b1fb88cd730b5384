"""``gramian predict`` and ``gramian explain``: a saved model on a table of new rows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

from gramian import load
from gramian.cli import show
from gramian.cli.frames import check_writable, read_frame, rows_for, write_frame


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="File for the predictions; standard output by default.")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="COVERAGE",
    help="Add bounds (or a set of classes) that hold the truth so often, such as 0.9.",
)
def predict(model: Path, data: Path, out: Path | None, proba: bool, interval: float | None) -> None:
    """Predict the rows of a table with a saved model.

    DATA needs the columns the model was fitted to, by name and in any order; others are left alone. One line per row,
    in the order of the table.

    \b
    Examples:
      gramian predict houses.gramian new.csv > predictions.csv
      gramian predict houses.gramian new.csv --interval 0.9 --out predictions.csv
      gramian predict churn.gramian new.parquet --proba --out predictions.parquet
    """
    if out is not None:
        check_writable(out)
    fitted = load(model)
    if proba and not hasattr(fitted, "classes_"):
        raise ValueError(f"--proba is for classes, and {model} predicts numbers: use --interval 0.9")
    frame = read_frame(data)
    made = _predictions(fitted, rows_for(fitted, frame, data), proba, interval)
    if out is None:
        made.to_csv(sys.stdout, index=False)
        return
    write_frame(made, out)
    show.make_console().print(f"{len(made):,} predictions in [bold]{escape(str(out))}[/]", soft_wrap=True)


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--row", type=click.IntRange(min=0), default=0, show_default=True, help="Which row, counted from 0.")
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(model: Path, data: Path, row: int, as_json: bool) -> None:
    """Say why a saved model predicts what it does for one row of a table.

    Shows how much each column adds to the prediction, and the training rows that speak for it. That is what the
    prediction is sensitive to, not what causes the target.

    \b
    Examples:
      gramian explain houses.gramian new.csv
      gramian explain houses.gramian new.csv --row 17 --json
    """
    fitted = load(model)
    frame = read_frame(data)
    if row >= len(frame):
        raise ValueError(f"{data} has {len(frame):,} rows: --row counts from 0 to {len(frame) - 1:,}")
    told = fitted.explain(rows_for(fitted, frame.iloc[[row]], data))
    if not as_json:
        show.make_console().print(told)
        return
    record = {
        "row": row,
        "prediction": _plain(told.prediction),
        "probabilities": told.probabilities and {str(label): p for label, p in told.probabilities.items()},
        "score": told.score,
        "reference_score": told.reference_score,
        "gap": told.gap,
        "columns": _records(told.to_pandas().reset_index()),
        "training_rows": _records(told.neighbours.to_pandas()),
        "other_training_rows": told.neighbours.others,
        "offset": told.neighbours.offset,
    }
    click.echo(json.dumps(record, indent=2, ensure_ascii=False))


def _predictions(model: Any, X: Any, proba: bool, interval: float | None) -> Any:
    import pandas as pd

    made = np.asarray(model.predict(X))
    if made.ndim == 1:
        columns: dict[str, Any] = {"prediction": made}
    else:
        columns = {f"prediction_{j}": made[:, j] for j in range(made.shape[1])}
    if proba:
        shares = model.predict_proba(X)
        columns |= {f"probability_{label}": shares[:, j] for j, label in enumerate(model.classes_)}
    if interval is not None:
        columns |= _bounds(model, X, interval)
    return pd.DataFrame(columns)


def _bounds(model: Any, X: Any, coverage: float) -> dict[str, Any]:
    if hasattr(model, "classes_"):
        chosen = model.predict_set(X, coverage)
        return {"set": ["|".join(map(str, model.classes_[row])) for row in chosen]}
    bounds = model.predict_interval(X, coverage)
    if bounds.ndim == 2:
        return {"lower": bounds[:, 0], "upper": bounds[:, 1]}
    return {f"{end}_{j}": bounds[:, j, k] for j in range(bounds.shape[1]) for k, end in enumerate(("lower", "upper"))}


def _records(frame: Any) -> Any:
    return json.loads(frame.to_json(orient="records", double_precision=15))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
