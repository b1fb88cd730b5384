"""``gramian explain``: the contributions of columns and training rows to one prediction of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gramian import __version__
from gramian.cli.model_file import open_model, rows_for
from gramian.cli.options import missing_option
from gramian.cli.output import emit, make_console
from gramian.core.paths import check_exists
from gramian.tables.header import check_table


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--row", type=click.IntRange(min=0), default=0, show_default=True, help="The row, counted from 0.")
@missing_option
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(model: Path, data: Path, row: int, missing: tuple[str, ...], as_json: bool) -> None:
    """Explain the prediction of a saved model for one row of a table.

    Shows how much each column adds to the prediction, and which training rows add most. That is what the prediction is
    sensitive to, not what causes the target.

    \b
    Examples:
      gramian explain houses.gramian new.csv
      gramian explain houses.gramian new.csv --row 17 --json
    """
    check_exists(model, "gramian fit writes models, and model.save")
    check_table(data)
    from gramian.tables.frame_files import read_frame  # here: help needs none of it

    fitted = open_model(model)
    frame = read_frame(data, missing)
    if row >= len(frame):
        raise ValueError(f"{data} has {len(frame):,} rows: --row counts from 0 to {len(frame) - 1:,}")
    explanation = fitted.explain(rows_for(fitted, frame.iloc[[row]], data))
    if not as_json:
        make_console().print(explanation)
        return
    record = {
        "gramian": __version__,
        "model": model,
        "data": data,
        "row": row,
        "prediction": explanation.prediction,
        "probabilities": explanation.probabilities,
        "score": explanation.score,
        "reference_score": explanation.reference_score,
        "gap": explanation.gap,
        "columns": _records(explanation.to_pandas().reset_index()),
        "training_rows": _records(explanation.neighbours.to_pandas()),
        "other_training_rows": explanation.neighbours.others,
        "offset": explanation.neighbours.offset,
    }
    emit(record)


def _records(frame: Any) -> list[dict[str, Any]]:
    # The JSON of pandas fails on dates among other values.
    cells = frame.astype(object).where(frame.notna(), None)
    return [dict(zip(cells.columns, row, strict=True)) for row in cells.itertuples(index=False, name=None)]
