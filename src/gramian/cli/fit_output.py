"""The output of ``gramian fit``: the table, the scores, the importances and the files, as text or as JSON."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from gramian import __version__
from gramian.cli.fit_data import FitData
from gramian.cli.fit_measure import FitResult, HeldOut, named_importances
from gramian.cli.shares import share_table
from gramian.core import format_bytes
from gramian.display import Bar, Cell, Column, Section, Table, format_score, to_rich
from gramian.report.model.fitted import fitted_rows, selected_kernels

_LISTED_COLUMNS = 40
"""The columns of a table that are listed before the fit."""


def print_data(console: Console, path: Path, data: FitData) -> None:
    """Print the size of the table, its columns, notes on them, and the task."""
    rest = f"; {data.without_target:,} rows without a {data.target} are left out" if data.without_target else ""
    size = f"{len(data.X):,} rows × {data.X.shape[1]:,} columns"
    console.print(f"[bold]{escape(str(path))}[/]: {size}, target {escape(data.target + rest)}", soft_wrap=True)
    headings = [Column("column", "left"), Column("kind", "left"), Column("missing"), Column("distinct")]
    rows = [
        [
            column["name"],
            column["kind"],
            f"{column['missing']:,}" if column["missing"] else "",
            f"{column['distinct']:,}",
            column["use"],
        ]
        for column in data.columns[:_LISTED_COLUMNS]
    ]
    more = len(data.columns) - _LISTED_COLUMNS
    note = f"and {more:,} more columns" if more > 0 else ""
    console.print(to_rich([Section("", Table([*headings, Column("use", "left")], rows), note)]))
    for line in data.notes:
        console.print(f"[yellow]Note:[/] {escape(line)}", soft_wrap=True)
    task = data.task
    other = f" (--task {task.other} overrides this)" if task.other else ""
    console.print(
        f"[bold]{task.name.capitalize()}[/]: {escape(data.target)} — {escape(task.reason)}{other}\n", soft_wrap=True
    )


def print_scores(console: Console, held_out: HeldOut, classifies: bool) -> None:
    """Print the scores of the first fit beside those of the baseline."""
    baseline = "most frequent class" if classifies else "mean of the target"
    rows: list[list[str | Cell | Bar]] = [
        [score.measure.name, format_score(score.value), Cell(format_score(score.baseline), "quiet")]
        for score in held_out.scores
    ]
    about = (
        f"The model of these scores was fitted to {held_out.n_fitted:,} rows and has not seen the {len(held_out.y):,} "
        "held-out rows. The same procedure is now fitted to all rows, and that model is saved."
    )
    headings = [f"{len(held_out.y):,} held-out rows", "model", f"baseline: {baseline}"]
    console.print(to_rich([Section("", Table(headings, rows), about)]))
    console.print()


def print_result(console: Console, result: FitResult, data: FitData, out: Path, page: Path | None, took: float) -> None:
    """Print the importances of the saved model, what it was really fitted to, and the files that were written."""
    console.print(
        to_rich([Section("Columns that the prediction is sensitive to", share_table(named_importances(result.model)))])
    )
    name, size = escape(str(out)), format_bytes(out.stat().st_size)
    rows = fitted_rows(result.model.fitted(), len(data.y)).description
    then = f"Next: gramian predict {name} new.csv"
    console.print(f"\n[bold]{name}[/]: fitted to {rows}, {size}, {took:.1f} s. {then}", soft_wrap=True)
    if (sentence := kernels_differ(result)) is not None:
        console.print(f"[yellow]Note:[/] {sentence}", soft_wrap=True)
    if page is not None:
        scored = "" if result.held_out is None else "; its scores are those above"
        console.print(f"[bold]{escape(str(page))}[/]: a page about this model{scored}", soft_wrap=True)


def kernels_differ(result: FitResult) -> str | None:
    """Return a sentence if the saved model has other kernels than the model that was scored."""
    if result.held_out is None:
        return None
    scored, saved = (" + ".join(selected_kernels(m.fitted())) for m in (result.held_out.model, result.model))
    if scored == saved:
        return None
    return f"the fit to all rows selected other kernels ({saved}) than the fit that was scored ({scored})"


def result_record(
    result: FitResult, data: FitData, path: Path, out: Path, page: Path | None, seed: int, took: float
) -> dict[str, object]:
    """Return the record that ``--json`` prints."""
    held_out = result.held_out
    model = result.model.fitted()
    rows = fitted_rows(model, len(data.y))
    scored = None
    if held_out is not None:
        pairs = {s.measure.name: {"model": s.value, "baseline": s.baseline} for s in held_out.scores}
        kernels = selected_kernels(held_out.model.fitted())
        scored = {"rows": len(held_out.y), "fitted_rows": held_out.n_fitted, "scores": pairs, "kernels": kernels}
    return {
        "gramian": __version__,
        "data": path,
        "rows": len(data.y),
        "rows_without_target": data.without_target,
        "columns": data.columns,
        "remarks": data.notes,
        "target": data.target,
        "task": data.task.name,
        "reason": data.task.reason,
        "preset": result.model.preset,
        "seed": seed,
        "held_out": scored,
        "importances": named_importances(result.model),
        "kernels": selected_kernels(model),
        "fitted_rows": rows.fitted,
        "centers": rows.centers,
        "interrupted": result.interrupted,
        "model": out,
        "bytes": out.stat().st_size,
        "report": page,
        "seconds": round(took, 2),
    }
