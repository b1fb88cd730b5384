"""``gramian reproduce``: run the papers again and say which of their numbers hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from gramian import __version__
from gramian.cli.interrupts import INTERRUPTED
from gramian.cli.output import emit, make_console
from gramian.experiments import papers
from gramian.experiments.clock import Clock
from gramian.experiments.page import write_page
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.run import run
from gramian.experiments.store import Cell, Record, Store, cells
from gramian.experiments.text import of_the_paper, with_interval
from gramian.experiments.verdict import (
    CANNOT_RUN,
    CLOSE,
    DIFFERS,
    NOT_RUN,
    REPRODUCED,
    Findings,
    Verdict,
    count,
    findings,
)
from gramian.report.web.numbers import duration

_MANY = 5
"""Above so many experiments the terminal shows a line for each; the page has the rest."""
_COLOURS = {REPRODUCED: "green", CLOSE: "yellow", DIFFERS: "red"}


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--paper", "letters", multiple=True, help="All experiments of a paper, such as A; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option("--scale", type=click.Choice(SCALES), default=None, help="Seconds, minutes, or as in the paper.  [small]")
@click.option("--seeds", type=click.IntRange(min=1), default=None, help="How many; each experiment's own number.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes of one thread each.")
@click.option("--time-limit", type=float, default=math.inf, help="Seconds after which a cell counts as failed; none.")
@click.option("--keep-failed", is_flag=True, help="Do not try again what failed before.")
@click.option("--resume", is_flag=True, help="Go on where an earlier run stopped: what happens anyway.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="The folder of records, figures and the page; finished cells in it are not run again.",
)
@click.option(
    "--merge", type=click.Path(exists=True, file_okay=False, path_type=Path), multiple=True, help="Take over records."
)
@click.option("--page", "only_page", is_flag=True, help="Draw figures and page from the records and run nothing.")
@click.option("--list", "only_list", is_flag=True, help="List the experiments and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts (or the list) as JSON.")
def reproduce(
    ids: tuple[str, ...],
    letters: tuple[str, ...],
    everything: bool,
    scale: str | None,
    seeds: int | None,
    jobs: int,
    time_limit: float,
    keep_failed: bool,
    resume: bool,
    out: Path,
    merge: tuple[Path, ...],
    only_page: bool,
    only_list: bool,
    as_json: bool,
) -> None:
    """Run figures, tables and theorems of the papers again: d/table2, 'a/*', --paper C, --all.

    Data is looked for in the folder GRAMIAN_DATA. Interrupt it when you like: the same command goes on where it was.
    Ends with 1 if something failed; data that is not at hand is no failure.

    \b
    Examples:
      gramian reproduce --list
      gramian reproduce d/table2
      gramian reproduce 'a/*' --scale smoke --seeds 1
      gramian reproduce --paper C --jobs 4 --json > verdicts.json
    """
    console, store = Console(stderr=True, highlight=False) if as_json else make_console(), Store(out)
    for other in merge:
        click.echo(f"{store.merge(other)} records taken from {other}", err=True)
    named = bool(ids or letters)
    chosen = papers.select(ids, letters) if named else papers.load()
    if only_list:
        _list(console, chosen, store, as_json)
        return
    if not chosen:
        raise ValueError("there are no experiments yet")
    if only_page or (merge and not named and not everything):
        _report(console, chosen, store, SCALES if scale is None else (scale,), as_json)
        return
    if not named and not everything:
        raise click.UsageError("which experiments? --list shows them; name some, or --paper A, or --all")
    scale = scale or "small"
    todo = [cell for experiment in chosen for cell in cells(experiment, scale, seeds)]
    what = chosen[0].id if len(chosen) == 1 else f"{len(chosen)} experiments"
    with _watching(f"{what}, {scale}", jobs) as watch:
        try:
            records = run(todo, store, jobs=jobs, keep_failed=keep_failed, time_limit=time_limit, **watch)
        except KeyboardInterrupt:
            click.echo(f"Interrupted: what is finished is in {out}; the same command goes on from there.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
    _report(console, chosen, store, (scale,), as_json)
    for record in records:
        if record["error"]:
            what = "[yellow]cannot run here[/]" if record["missing"] else "[red]failed[/]"
            console.print(f"{what} {record['experiment']}, seed {record['seed']}: ", Text(record["error"]), sep="")
    if any(record["error"] and not record["missing"] for record in records):
        raise click.exceptions.Exit(1)


@contextmanager
def _watching(what: str, jobs: int) -> Iterator[dict[str, Any]]:
    """Functions ``begin`` and ``tick`` for a run that draw its progress, on a terminal and only there."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield {}
        return
    left = _TimeLeft()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), left)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def begin(waiting: list[Cell], finished: list[Record]) -> None:
            left.clock = Clock(waiting, finished, jobs)
            before = f" ({len(finished)} done before)" if finished else ""
            bar.update(task, total=len(waiting), description=f"{what}{before}")

        def tick(record: Record) -> None:
            assert left.clock is not None
            left.clock.tick(record)
            bar.advance(task)

        yield {"begin": begin, "tick": tick}


class _TimeLeft(ProgressColumn):
    """What the clock says, anew each time the bar is drawn: a cell may take hours."""

    clock: Clock | None = None

    def render(self, task: Task) -> Text:
        seconds = None if self.clock is None else self.clock.left()
        return Text("" if seconds is None else f"about {duration(seconds)} left")


def _report(console: Console, chosen: Sequence[Experiment], store: Store, scales: Sequence[str], as_json: bool) -> None:
    """The table of verdicts, and the page of everything that the folder holds."""
    found = [findings(experiment, store, scales) for experiment in chosen]
    ran = [entry for entry in found if entry.verdicts]
    if as_json:
        path = write_page(papers.load(), store, redraw=[experiment.id for experiment in chosen])
        told = [{"id": e.experiment.id, "verdicts": [_record(v) for v in e.best]} for e in ran]
        emit({"gramian": __version__, "records": store.root, "page": path, "experiments": told})
        return
    if len(ran) > _MANY:
        console.print(_summary(ran))
    else:
        for entry in ran:
            console.print(_table(entry))
    verdicts = [verdict for entry in ran for verdict in entry.best]
    counts = ", ".join(f"[{_COLOURS.get(outcome, 'dim')}]{n} {outcome}[/]" for outcome, n in count(verdicts).items())
    console.print(f"{len(verdicts)} numbers and statements: {counts or 'none of them run'}")
    path = write_page(papers.load(), store, redraw=[experiment.id for experiment in chosen])
    console.print(f"records in [bold]{store.root}[/], page: [bold]{path}[/]")


def _record(verdict: Verdict) -> dict[str, Any]:
    claim, ours = verdict.claim, verdict.ours
    return {
        "key": claim.key,
        "scale": verdict.scale,
        "paper": of_the_paper(claim),
        "ours": None if ours is None else {"mean": ours.mean, "half_interval": ours.half, "values": ours.values},
        "outcome": verdict.outcome,
        "why": verdict.why or None,
    }


def _summary(found: Sequence[Findings]) -> Table:
    """A line for each experiment, and under it the numbers that differ."""
    table = Table(box=None)
    for name in ("experiment", "verdicts"):
        table.add_column(name, no_wrap=name == "experiment")
    for entry in found:
        outcomes = Text(", ").join(
            Text(f"{n} {outcome}", style=_COLOURS.get(outcome, "dim")) for outcome, n in count(entry.best).items()
        )
        table.add_row(entry.experiment.id, outcomes)
        for verdict in entry.best:
            if verdict.outcome == DIFFERS:
                claim = verdict.claim
                what = f"{claim.label or claim.key}: paper {of_the_paper(claim)}, ours {with_interval(verdict.ours)}"
                table.add_row("", Text(what, style="red"))
    return table


def _table(found: Findings) -> Table:
    experiment = found.experiment
    seconds = sum(record["seconds"] for records in found.records.values() for record in records)
    scales = ", ".join(found.verdicts)
    title = Text(f"{experiment.id}: {experiment.title} ({scales}, {duration(seconds)})")
    table = Table(title=title, title_justify="left", box=None)
    for name, how in (("number", "left"), ("paper", "right"), ("ours", "right"), ("verdict", "left")):
        table.add_column(name, justify=how, no_wrap=how == "right")  # type: ignore[arg-type]
    ran = [verdict for verdict in found.best if verdict.outcome != NOT_RUN]
    for verdict in ran:
        claim = verdict.claim
        outcome = Text(verdict.outcome, style=_COLOURS.get(verdict.outcome, "dim"))
        outcome.append(f": {verdict.why}" if verdict.outcome == CANNOT_RUN else "", style="dim")
        if claim.misprint:
            outcome.append(f" (misprint in the paper; as printed: {with_interval(verdict.printed)})", style="dim")
        table.add_row(Text(claim.label or claim.key), of_the_paper(claim), with_interval(verdict.ours), outcome)
    reasons = Counter(verdict.why for verdict in found.best if verdict.outcome == NOT_RUN)
    for why, n in reasons.items():
        table.add_row(Text(f"{n} more", style="dim"), "", "", Text(f"{NOT_RUN}: {why}", style="dim"))
    return table


def _list(console: Console, chosen: Sequence[Experiment], store: Store, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for experiment in chosen:
        found = findings(experiment, store)
        rows.append(
            {
                "id": experiment.id,
                "paper": experiment.paper,
                "title": experiment.title,
                "scales": {s: len(experiment.specs[s]) * experiment.seeds[s] for s in SCALES},
                "ran": list(found.records),
                "verdict": count(found.best) if found.records else {},
            }
        )
    if as_json:
        emit(rows)
        return
    table = Table(box=None)
    for name in ("id", "title", "cells", "verdict so far"):
        table.add_column(name)
    for row in rows:
        verdict = ", ".join(f"{n} {outcome}" for outcome, n in row["verdict"].items())
        sizes = " · ".join(str(row["scales"][scale]) for scale in SCALES)
        table.add_row(row["id"], Text(row["title"]), sizes, Text(verdict or "not run", style="" if verdict else "dim"))
    console.print(table)
    console.print(f"cells at the scales {', '.join(SCALES)}; gramian reproduce ID --scale SCALE runs them", style="dim")
