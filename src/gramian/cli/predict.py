"""``gramian predict``: predict the rows of a table with a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.markup import escape as literal

from gramian import __version__
from gramian.cli.model_file import open_model, rows_for
from gramian.cli.options import escape_option, missing_option
from gramian.cli.output import emit, make_console
from gramian.core.paths import check_writable

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File for the predictions (.csv, .tsv, .parquet, .jsonl); standard output by default.",
)
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--interval",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="COVERAGE",
    help="Add an interval (or a set of classes) that contains the target with this probability, such as 0.9.",
)
@missing_option
@escape_option
@click.option(
    "--json", "as_json", is_flag=True, help="Print the predictions as JSON; with --out, a record of the file."
)
def predict(
    model: Path,
    data: Path,
    out: Path | None,
    proba: bool,
    interval: float | None,
    missing: tuple[str, ...],
    escape: bool,
    as_json: bool,
) -> None:
    """Predict the rows of a table with a saved model.

    DATA needs the columns the model was fitted to, by name and in any order; other columns are ignored. The output has
    one line per row, in the order of the table.

    \b
    Examples:
      gramian predict houses.gramian new.csv > predictions.csv
      gramian predict houses.gramian new.csv --interval 0.9 --out predictions.csv
      gramian predict churn.gramian new.parquet --proba --out predictions.parquet
      gramian predict houses.gramian new.csv --json | jq '.predictions[0]'
    """
    # Here: help needs none of it.
    from gramian.tables.frame_files import check_frame_suffix, csv_frame, read_frame, write_frame

    if out is not None:
        check_frame_suffix(out)
        check_writable(out, model, data)
    fitted = open_model(model)
    if proba and not hasattr(fitted, "classes_"):
        raise ValueError(f"--proba is for classes, and {model} predicts numbers: use --interval 0.9")
    frame = read_frame(data, missing)
    found = _predictions(fitted, rows_for(fitted, frame, data), proba, interval)
    if out is not None:
        write_frame(found, out, escape)
    if as_json:
        record = {"gramian": __version__, "model": model, "data": data, "rows": len(found), "columns": list(found)}
        emit(record | ({"predictions": found.to_dict("records")} if out is None else {"out": out}))
    elif out is None:
        csv_frame(found, escape).to_csv(sys.stdout, index=False)
    else:
        make_console().print(f"{len(found):,} predictions in [bold]{literal(str(out))}[/]", soft_wrap=True)


def _predictions(model: Any, X: Any, proba: bool, interval: float | None) -> pd.DataFrame:
    import pandas as pd

    predicted = np.asarray(model.predict(X))
    if predicted.ndim == 1:
        columns: dict[str, Any] = {"prediction": predicted}
    else:
        columns = {f"prediction_{j}": predicted[:, j] for j in range(predicted.shape[1])}
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
