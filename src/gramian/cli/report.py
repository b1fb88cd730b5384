"""``gramian report``: write a page about a saved model, or about two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

from gramian import __version__
from gramian.cli.completion import complete_column
from gramian.cli.fit import PAGE_SUFFIXES
from gramian.cli.model_file import open_model, rows_for
from gramian.cli.options import header_option, missing_option
from gramian.cli.output import emit, make_console
from gramian.cli.target import read_target
from gramian.core.paths import check_exists, check_suffix, check_writable
from gramian.tables.header import check_table


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--data", type=click.Path(path_type=Path), help="Rows the model was not fitted to: adds scores and examples."
)
@click.option("--target", shell_complete=complete_column, help="The column of DATA with the targets.")
@click.option(
    "--compare", "other", type=click.Path(path_type=Path), metavar="MODEL", help="A second model to compare with."
)
@click.option("--out", type=click.Path(path_type=Path), help="File for the page [the name of the model with .html].")
@click.option("--title", help="Heading of the page.")
@missing_option
@header_option
@click.option("--json", "as_json", is_flag=True, help="Print a record of the page as JSON.")
def report(
    model: Path,
    data: Path | None,
    target: str | None,
    other: Path | None,
    out: Path | None,
    title: str | None,
    missing: tuple[str, ...],
    header: bool,
    as_json: bool,
) -> None:
    """Write a page about a saved model: scores and errors, importances, effects of columns, examples, settings.

    The page is one HTML file that needs no internet: open it in a browser, send it, print it. Scores are those of
    held-out rows within the fit; with --data and --target they are those of your rows, which must not be training rows.

    \b
    Examples:
      gramian report houses.gramian
      gramian report houses.gramian --data new.csv --target price
      gramian report houses.gramian --compare older.gramian --out both.html
    """
    if target is not None and data is None:
        raise click.UsageError("--target names a column of a table: give the table with --data")
    if title is not None and other is not None:
        raise click.UsageError("--title is for the page of one model; with --compare the models' names head it")
    out = model.with_suffix(".html") if out is None else out
    check_writable(out, model, data, other)
    check_suffix(out, PAGE_SUFFIXES, "a page")
    for path in (model, other):
        if path is not None:
            check_exists(path, "gramian fit writes models, and model.save")
    if data is not None:
        check_table(data, [] if target is None else [target], header)
    # Here: help and errors in the arguments need none of it.
    from gramian import report as pages
    from gramian.core import format_bytes

    fitted = open_model(model)
    second = None if other is None else open_model(other)
    X, y = (None, None) if data is None else _rows(fitted, data, target, missing, header)
    if other is None or second is None:
        pages.write_report(fitted, out, X=X, y=y, title=title or model.stem, target=target)
    else:
        if X is not None and _columns(fitted) != _columns(second):
            raise ValueError(f"{model} and {other} were fitted to different columns: compare them without --data")
        pages.write_comparison(fitted, second, out, X=X, y=y, names=names_of(model, other))
    size = out.stat().st_size
    if as_json:
        record = {"gramian": __version__, "model": model, "compared_with": other, "data": data, "target": target}
        emit(record | {"rows": None if X is None else len(X), "page": out, "bytes": size})
        return
    make_console().print(f"[bold]{escape(str(out))}[/]: {format_bytes(size)}; open it in a browser", soft_wrap=True)


def _rows(model: Any, data: Path, target: str | None, missing: tuple[str, ...], header: bool) -> tuple[Any, Any]:
    """Return the rows of a table that have a target, and the targets in the type of the model's own."""
    from gramian.tables.frame_files import check_columns, read_frame  # here: help needs none of it

    frame = read_frame(data, missing, header)
    if target is None:
        return rows_for(model, frame, data), None
    check_columns([target], frame, data)
    known, y = read_target(frame[target])
    if not len(y):
        raise ValueError(f"{data} has no row with a {target!r}")
    return rows_for(model, frame.loc[known], data), _typed_like(model, y, frame.loc[known, target])


def _typed_like(model: Any, y: Any, written: Any) -> np.ndarray:
    """Convert targets to the type of the model's own: text as ``written`` for text, whole numbers for whole numbers."""
    from gramian.tables.target_column import read_amounts  # here: for quick help

    if not hasattr(model, "classes_"):
        y, _ = read_amounts(y, "regression")
        if y.dtype.kind not in "iufb":
            raise ValueError(f"the column {y.name!r} holds text, and the model predicts numbers")
        return y.to_numpy(dtype=float)
    kind = model.classes_.dtype.kind
    found = written.astype(str).to_numpy() if kind in "OUST" else y.to_numpy()
    if kind not in "iuf" or found.dtype.kind not in "iuf":
        return found
    as_classes = found.astype(model.classes_.dtype)
    if not np.array_equal(as_classes, found):
        odd = found[as_classes != found][0]
        raise ValueError(f"the column {y.name!r} holds {odd}, and the model's classes are whole numbers: name another")
    return as_classes


def _columns(model: Any) -> Any:
    return sorted(getattr(model, "feature_names_in_", [])) or model.n_features_in_


def names_of(first: Path, second: Path) -> tuple[str, str]:
    """Return names that distinguish two files: their file names, else their paths, else their order.

    >>> names_of(Path("a.pt"), Path("b.pt")), names_of(Path("x/a.pt"), Path("y/a.pt")), names_of(Path("a"), Path("a"))
    (('a.pt', 'b.pt'), ('x/a.pt', 'y/a.pt'), ('a', 'a again'))
    """
    if first.name != second.name:
        return first.name, second.name
    return str(first), str(second) if first != second else f"{second} again"
