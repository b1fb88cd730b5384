"""``gramian explain``: the contributions of columns to one prediction, and the training rows that influence it most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gramian import __version__
from gramian.cli.model_file import open_model, rows_for
from gramian.cli.options import header_option, missing_option
from gramian.cli.output import emit, make_console
from gramian.core.paths import check_exists
from gramian.tables.header import check_table

if TYPE_CHECKING:
    import pandas as pd

    from gramian.display import Section
    from gramian.rfm.explain import Explanation

_SHOWN_ENTRIES = 12
"""Entries of columns that the model does not use, at most, such as an id or the target."""


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--row", type=click.IntRange(min=0), default=0, show_default=True, help="The row, counted from 0.")
@click.option(
    "--influential",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Training rows to list: those whose removal changes the prediction most. 0 is quicker.",
)
@missing_option
@header_option
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(
    model: Path, data: Path, row: int, influential: int, missing: tuple[str, ...], header: bool, as_json: bool
) -> None:
    """Explain the prediction of a saved model for one row of a table.

    Shows how much each column adds to the prediction, and the training rows whose removal would change it most, with
    their entries. That is what the prediction is sensitive to, not what causes the target.

    \b
    Examples:
      gramian explain houses.gramian new.csv
      gramian explain houses.gramian new.csv --row 17 --json
    """
    check_exists(model, "gramian fit writes models, and model.save")
    check_table(data, header=header)
    from gramian.tables.frame_files import read_frame  # here: help needs none of it

    fitted = open_model(model)
    frame = read_frame(data, missing, header)
    if row >= len(frame):
        raise ValueError(f"{data} has {len(frame):,} rows: --row counts from 0 to {len(frame) - 1:,}")
    explanation = fitted.explain(rows_for(fitted, frame.iloc[[row]], data), n_influential=influential)
    if as_json:
        emit(_record(explanation, model, data, row))
        return
    from gramian.display import to_rich

    unused = _unused(frame.iloc[row], explanation, f"row {row:,} of {data.name}, columns that the model does not use")
    make_console().print(to_rich([*explanation.sections(), *unused]))


def _unused(row: pd.Series[Any], explanation: Explanation, title: str) -> list[Section]:
    """Return the entries of columns that the model was not fitted to, such as an id or the target."""
    from gramian.display import Column, Section, Table, format_value

    names = [name for name in row.index if str(name) not in explanation.columns]
    if not names or len(names) == len(row):  # a model of columns without names
        return []
    rows = [[str(name), format_value(_number_or_text(row[name]))] for name in names[:_SHOWN_ENTRIES]]
    left = len(names) - len(rows)
    note = f"{left:,} more" if left else ""
    return [Section(title, Table(["column", Column("value", "left")], rows), note)]


def _number_or_text(value: object) -> object:
    """Return text that is a number as that number: files may be read as text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _record(explanation: Explanation, model: Path, data: Path, row: int) -> dict[str, Any]:
    influence = explanation.influence
    listed = _records(influence.to_pandas().reset_index())
    contents = _records(influence.contents())
    return {
        "gramian": __version__,
        "model": model,
        "data": data,
        "row": row,
        "prediction": explanation.prediction,
        "probabilities": explanation.probabilities,
        "score": explanation.score,
        "score_name": explanation.output.name,
        "reference_score": explanation.reference_score,
        "gap": explanation.gap,
        "columns": _records(explanation.to_pandas().reset_index()),
        "training_rows": [{**one, "entries": entries} for one, entries in zip(listed, contents, strict=True)],
        "no_training_rows_because": influence.reason or None,
    }


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    # The JSON of pandas fails on dates among other values.
    cells = frame.astype(object).where(frame.notna(), None)
    return [dict(zip(cells.columns, row, strict=True)) for row in cells.itertuples(index=False, name=None)]
