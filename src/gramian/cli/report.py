"""``gramian report``: the page of a saved model, or of two side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

from gramian import __version__
from gramian.cli import show
from gramian.cli.completion import complete_column
from gramian.cli.frames import check_columns, check_writable, missing_option, read_frame, rows_for
from gramian.cli.models import open_model
from gramian.cli.output import emit
from gramian.cli.target import read_target


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--data", type=click.Path(path_type=Path), help="Rows the model has not seen: adds scores and examples.")
@click.option("--target", shell_complete=complete_column, help="The column of DATA with the truth.")
@click.option("--compare", "other", type=click.Path(path_type=Path), metavar="MODEL", help="A second model beside it.")
@click.option("--out", type=click.Path(path_type=Path), help="File for the page; the model's name with .html.")
@click.option("--title", help="Heading of the page.")
@missing_option
@click.option("--json", "as_json", is_flag=True, help="Say as JSON what was written.")
def report(
    model: Path,
    data: Path | None,
    target: str | None,
    other: Path | None,
    out: Path | None,
    title: str | None,
    missing: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write a page about a saved model: importances, directions, settings; with data also scores and examples.

    One HTML file that needs no network: open it in a browser, send it, print it. Scores are honest for rows that the
    model has not learned from only: give it others than those of the fit.

    \b
    Examples:
      gramian report houses.gramian
      gramian report houses.gramian --data new.csv --target price
      gramian report houses.gramian --compare older.gramian --out both.html
    """
    from gramian import report as pages  # here: help needs none of it
    from gramian.core import format_bytes

    if target is not None and data is None:
        raise click.UsageError("--target names a column of a table: give the table with --data")
    if title is not None and other is not None:
        raise click.UsageError("--title is for the page of one model; with --compare the models' names head it")
    out = model.with_suffix(".html") if out is None else out
    check_writable(out, model, data, other)
    fitted = open_model(model)
    second = None if other is None else open_model(other)
    X, y = (None, None) if data is None else _rows(fitted, data, target, missing)
    if other is None or second is None:
        pages.write_report(fitted, out, X=X, y=y, title=title or model.stem)
    else:
        if X is not None and _columns(fitted) != _columns(second):
            raise ValueError(f"{model} and {other} were fitted to other columns: compare them without --data")
        pages.write_comparison(fitted, second, out, X=X, y=y, names=names_of(model, other))
    size = out.stat().st_size
    if as_json:
        record = {"gramian": __version__, "model": model, "compared_with": other, "data": data, "target": target}
        emit(record | {"rows": None if X is None else len(X), "page": out, "bytes": size})
        return
    show.make_console().print(
        f"[bold]{escape(str(out))}[/]: {format_bytes(size)}; open it in a browser", soft_wrap=True
    )


def _rows(model: Any, data: Path, target: str | None, missing: tuple[str, ...]) -> tuple[Any, Any]:
    """The rows of a table that have a target, and the targets as the model knows them."""
    frame = read_frame(data, missing)
    if target is None:
        return rows_for(model, frame, data), None
    check_columns([target], frame, data)
    known, y = read_target(frame[target])
    if not len(y):
        raise ValueError(f"{data} has no row with a {target!r}")
    return rows_for(model, frame.loc[known], data), _as_known(model, y, target)


def _as_known(model: Any, y: Any, target: str) -> np.ndarray:
    """Targets in the type of the model's own: text for text, whole numbers for whole numbers."""
    if not hasattr(model, "classes_"):
        if y.dtype.kind not in "iufb":
            raise ValueError(f"the column {target!r} holds text, and the model predicts numbers")
        return y.to_numpy(dtype=float)
    kind = model.classes_.dtype.kind
    found = y.astype(str).to_numpy() if kind in "OUST" else y.to_numpy()
    if kind not in "iuf" or found.dtype.kind not in "iuf":
        return found
    as_classes = found.astype(model.classes_.dtype)
    if not np.array_equal(as_classes, found):
        odd = found[as_classes != found][0]
        raise ValueError(f"the column {target!r} holds {odd}, and the model's classes are whole numbers: name another")
    return as_classes


def _columns(model: Any) -> Any:
    return sorted(getattr(model, "feature_names_in_", [])) or model.n_features_in_


def names_of(first: Path, second: Path) -> tuple[str, str]:
    """What tells two files apart: their names, their paths where those are equal, or their order.

    >>> names_of(Path("a.pt"), Path("b.pt")), names_of(Path("x/a.pt"), Path("y/a.pt")), names_of(Path("a"), Path("a"))
    (('a.pt', 'b.pt'), ('x/a.pt', 'y/a.pt'), ('a', 'a again'))
    """
    if first.name != second.name:
        return first.name, second.name
    return str(first), str(second) if first != second else f"{second} again"
