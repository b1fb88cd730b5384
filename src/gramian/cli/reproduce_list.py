"""The lists of ``gramian reproduce``: the experiments by paper, and the cells that have not run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gramian.cli.output import emit
from gramian.experiments.bibliography import BIBLIOGRAPHY
from gramian.experiments.cell import cells
from gramian.experiments.plan import plan, unfinished
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import count, findings


def print_list(console: Console, chosen: Sequence[Experiment], store: ExperimentStore, as_json: bool) -> None:
    """Print the experiments by paper, with their cells, seeds and verdicts."""
    rows: list[dict[str, Any]] = []
    for experiment in chosen:
        found = findings(experiment, store)
        progress = {scale: _progress(experiment, store, scale) for scale in SCALES}
        rows.append(
            {
                "id": experiment.id,
                "paper": experiment.paper,
                "title": experiment.title,
                "scales": {scale: entry["cells"]["declared"] for scale, entry in progress.items()},
                "cells": {scale: entry["cells"] for scale, entry in progress.items()},
                "seeds": {scale: entry["seeds"] for scale, entry in progress.items()},
                "ran": list(found.records),
                "verdict": count(found.best) if found.records else {},
            }
        )
    if as_json:
        emit(rows)
        return
    for letter, group in groupby(rows, key=lambda row: row["paper"]):
        paper = BIBLIOGRAPHY.get(letter)
        console.print(Text(f"Paper {letter if paper is None else paper.line}", style="bold"), soft_wrap=True)
        console.print(_table(list(group)))
        console.print()
    console.print(
        f"cells and seeds run/declared at the scales {', '.join(SCALES)}; gramian reproduce ID --scale SCALE runs",
        style="dim",
    )


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None)
    for name in ("id", "title", "cells", "seeds", "verdicts"):
        table.add_column(name, no_wrap=name == "id")
    for row in rows:
        verdict = ", ".join(f"{n:,} {outcome}" for outcome, n in row["verdict"].items())
        sizes, seeds = (
            " · ".join(f"{row[key][scale]['run']:,}/{row[key][scale]['declared']:,}" for scale in SCALES)
            for key in ("cells", "seeds")
        )
        table.add_row(
            row["id"], Text(row["title"]), sizes, seeds, Text(verdict or "not run", style="" if verdict else "dim")
        )
    return table


def print_plan(
    console: Console,
    chosen: Sequence[Experiment],
    store: ExperimentStore,
    scales: Sequence[str],
    seeds: int | None,
    as_json: bool,
) -> None:
    """Print the work that has not run, cheapest first, with the sum of the hours so far."""
    work = plan(chosen, store, scales, seeds)
    if as_json:
        emit([asdict(entry) for entry in work])
        return
    table = Table(box=None)
    for name, how in (("id", "left"), ("scale", "left"), ("cells", "right"), ("hours", "right"), ("sum", "right")):
        table.add_column(name, justify=how)  # type: ignore[arg-type]
    table.add_column("hours are", justify="left")
    total = 0.0
    for entry in work:
        hours = "–" if entry.hours is None else f"{entry.hours:.2f}"
        so_far = "–"
        if entry.hours is not None and entry.source != "guessed":
            total += entry.hours
            so_far = f"{total:.1f}"
        table.add_row(entry.experiment, entry.scale, f"{entry.missing}/{entry.all}", hours, so_far, entry.source)
    if work:
        console.print(table)
    missing = sum(entry.missing for entry in work)
    guessed = sum(entry.hours or 0.0 for entry in work if entry.source == "guessed")
    more = f", {guessed:.1f} more are guessed from cells of another scale" if guessed else ""
    console.print(f"{missing:,} cells have not run; {total:.1f} hours of one core are recorded or estimated{more}")


def _progress(experiment: Experiment, store: ExperimentStore, scale: str) -> dict[str, dict[str, int]]:
    """Return the numbers of cells and seeds that ran and are declared; a seed has run when all of its cells have."""
    wanted = cells(experiment, scale)
    waiting = unfinished(wanted, store)
    seeds = {cell.seed for cell in wanted}
    complete = seeds - {cell.seed for cell in waiting}
    return {
        "cells": {"declared": len(wanted), "run": len(wanted) - len(waiting)},
        "seeds": {"declared": len(seeds), "run": len(complete)},
    }
