"""``gramian predict``: predict the rows of a table with a saved model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gramian import __version__
from gramian.cli.completion import complete_column
from gramian.cli.options import NumberRange, escape_option, header_option, missing_option
from gramian.core.paths import check_exists, check_writable
from gramian.tables.formats import STANDARD_STREAM, output_suffix
from gramian.tables.header import check_table

_ALL = "all"


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    help="File for the predictions (.csv, .tsv, .parquet, .xlsx, .jsonl); - is standard output, the default.",
)
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--interval",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    metavar="COVERAGE",
    help="Add an interval (or a set of classes) that contains the target with this probability, such as 0.9.",
)
@click.option(
    "--keep",
    "--id",
    "keep",
    multiple=True,
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Put a column of the table, such as an id, before the predictions; may be repeated. all keeps every column.",
)
@missing_option
@header_option
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
    keep: tuple[str, ...],
    missing: tuple[str, ...],
    header: bool,
    escape: bool,
    as_json: bool,
) -> None:
    """Predict the rows of a table with a saved model.

    DATA is a CSV, TSV, Parquet or Excel file, or - for a CSV on standard input. It needs the columns the model was
    fitted to, by name and in any order; other columns are ignored. The output has one line per row, in the order of the
    table.

    \b
    Examples:
      gramian predict houses.gramian new.csv > predictions.csv
      gramian predict houses.gramian new.csv --keep id --out predictions.csv
      gramian predict houses.gramian new.xlsx --keep all --out predictions.xlsx
      gramian predict houses.gramian new.csv --interval 0.9 --out predictions.csv
      gramian predict churn.gramian new.parquet --proba --out predictions.parquet
      cat new.csv | gramian predict houses.gramian - | head
      gramian predict houses.gramian new.csv --json | jq '.predictions[0]'
    """
    file = None if out is None or out == STANDARD_STREAM else out
    if file is not None:
        output_suffix(file)
    check_exists(model, "gramian fit writes models, and model.save")
    check_table(data, [] if keep == (_ALL,) else keep, header)
    if file is not None:
        check_writable(file, model, None if data == STANDARD_STREAM else data)
    # Here: help and errors in the arguments need none of these, which import torch.
    from gramian.cli.model_file import open_model, rows_for
    from gramian.cli.output import emit, make_console
    from gramian.cli.predict_rows import join_columns, note_bare_percent, note_unseen, predict_rows
    from gramian.tables.frame_files import check_columns, csv_frame, read_frame, write_frame

    fitted = open_model(model)
    if proba and not hasattr(fitted, "classes_"):
        raise ValueError(f"--proba is for classes, and {model} predicts numbers: use --interval 0.9")
    frame = read_frame(data, missing, header)
    kept = list(frame.columns) if _ALL in keep and _ALL not in frame.columns else list(dict.fromkeys(keep))
    check_columns(kept, frame, data)
    X = rows_for(fitted, frame, data)
    note_unseen(fitted, X)
    note_bare_percent(fitted, X)
    found = join_columns(frame[kept], predict_rows(fitted, X, proba, interval, show=not as_json))
    if file is not None:
        write_frame(found, file, escape)
    if as_json:
        record = {"gramian": __version__, "model": model, "data": data, "rows": len(found), "columns": list(found)}
        emit(record | ({"predictions": found.to_dict("records")} if file is None else {"out": file}))
    elif file is None:
        csv_frame(found, escape).to_csv(sys.stdout, index=False)
    else:
        from rich.markup import escape as literal

        make_console().print(f"{len(found):,} predictions in [bold]{literal(str(file))}[/]", soft_wrap=True)
