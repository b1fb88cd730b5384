"""``gramian explain``: why a saved model predicts what it does for one row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gramian import __version__
from gramian.cli import show
from gramian.cli.frames import missing_option, read_frame, rows_for
from gramian.cli.models import open_model
from gramian.cli.output import emit


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--row", type=click.IntRange(min=0), default=0, show_default=True, help="Which row, counted from 0.")
@missing_option
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(model: Path, data: Path, row: int, missing: tuple[str, ...], as_json: bool) -> None:
    """Say why a saved model predicts what it does for one row of a table.

    Shows how much each column adds to the prediction, and the training rows that speak for it. That is what the
    prediction is sensitive to, not what causes the target.

    \b
    Examples:
      gramian explain houses.gramian new.csv
      gramian explain houses.gramian new.csv --row 17 --json
    """
    fitted = open_model(model)
    frame = read_frame(data, missing)
    if row >= len(frame):
        raise ValueError(f"{data} has {len(frame):,} rows: --row counts from 0 to {len(frame) - 1:,}")
    told = fitted.explain(rows_for(fitted, frame.iloc[[row]], data))
    if not as_json:
        show.make_console().print(told)
        return
    record = {
        "gramian": __version__,
        "model": model,
        "data": data,
        "row": row,
        "prediction": told.prediction,
        "probabilities": told.probabilities,
        "score": told.score,
        "reference_score": told.reference_score,
        "gap": told.gap,
        "columns": _records(told.to_pandas().reset_index()),
        "training_rows": _records(told.neighbours.to_pandas()),
        "other_training_rows": told.neighbours.others,
        "offset": told.neighbours.offset,
    }
    emit(record)


def _records(frame: Any) -> list[dict[str, Any]]:
    # Not by pandas' own JSON, which fails on dates among other values.
    cells = frame.astype(object).where(frame.notna(), None)
    return [dict(zip(cells.columns, row, strict=True)) for row in cells.itertuples(index=False, name=None)]
