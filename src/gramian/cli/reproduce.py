"""``gramian reproduce``: run the experiments of the papers and compare the numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gramian import __version__
from gramian.cli.cell_progress import cell_progress
from gramian.cli.output import emit, make_console
from gramian.display import format_duration
from gramian.experiments import papers
from gramian.experiments.cell import cells
from gramian.experiments.claims import KINDS
from gramian.experiments.counts import count_rows
from gramian.experiments.formatting import format_estimate, format_paper_value
from gramian.experiments.page import write_page
from gramian.experiments.plan import plan
from gramian.experiments.registry import SCALES, Experiment
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import (
    ANOTHER_SETTING,
    CANNOT_RUN,
    CLOSE,
    DIFFERS,
    NOT_RUN,
    NOT_TOLD_APART,
    REPRODUCED,
    Findings,
    Verdict,
    count,
    findings,
)
from gramian.records import run

_MANY = 5
"""With more experiments than this the terminal shows one line for each; the page has the details."""
_COLOURS = {
    REPRODUCED: "green",
    CLOSE: "yellow",
    ANOTHER_SETTING: "yellow",
    NOT_TOLD_APART: "yellow",
    DIFFERS: "red",
}
_PLURAL = {kind: f"{kind}s" for kind in KINDS} | {"proved identity": "proved identities"}


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--paper", "letters", multiple=True, help="All experiments of a paper, for example A; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default=None,
    help="Runs of seconds, of minutes, or of the paper's size.  [small]",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=None, help="Number of seeds; by default each experiment's own."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes, of one thread each."
)
@click.option(
    "--time-limit",
    type=float,
    default=math.inf,
    help="Seconds after which a cell counts as failed; by default no limit.",
)
@click.option("--keep-failed", is_flag=True, help="Do not repeat cells that failed before.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Folder of records, figures and the page; finished cells in it are not repeated.",
)
@click.option(
    "--merge",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="Copy the records of a folder.",
)
@click.option("--page", "only_page", is_flag=True, help="Only draw figures and page from the records.")
@click.option("--list", "only_list", is_flag=True, help="Only list the experiments.")
@click.option(
    "--plan", "only_plan", is_flag=True, help="Only show the cells that have not run, with hours, cheapest first."
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts (or the list, or the plan) as JSON.")
def reproduce(
    ids: tuple[str, ...],
    letters: tuple[str, ...],
    everything: bool,
    scale: str | None,
    seeds: int | None,
    jobs: int,
    time_limit: float,
    keep_failed: bool,
    out: Path,
    merge: tuple[Path, ...],
    only_page: bool,
    only_list: bool,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Reproduce figures, tables and theorems of the papers: d/table2, 'a/*', --paper C, --all.

    Data is read from the folder that GRAMIAN_DATA names. After an interrupt the same command continues. The exit code
    is 1 if a cell failed; missing data does not count as a failure.

    \b
    Examples:
      gramian reproduce --list
      gramian reproduce d/table2
      gramian reproduce 'a/*' --scale smoke --seeds 1
      gramian reproduce --paper C --jobs 4 --json > verdicts.json
      gramian reproduce --plan --scale paper
    """
    console, store = Console(stderr=True, highlight=False) if as_json else make_console(), ExperimentStore(out)
    for other in merge:
        click.echo(f"{store.merge(other)} records copied from {other}", err=True)
    named = bool(ids or letters)
    chosen = papers.select(ids, letters) if named else papers.load()
    if only_list:
        _list(console, chosen, store, as_json)
        return
    if only_plan:
        _plan(console, chosen, store, SCALES[1:] if scale is None else (scale,), as_json)
        return
    if not chosen:
        raise ValueError("there are no experiments")
    if only_page or (merge and not named and not everything):
        _report(console, chosen, store, SCALES if scale is None else (scale,), as_json)
        return
    if not named and not everything:
        raise click.UsageError("no experiment is given: name some (--list shows them), or use --paper A or --all")
    scale = scale or "small"
    todo = [cell for experiment in chosen for cell in cells(experiment, scale, seeds)]
    what = chosen[0].id if len(chosen) == 1 else f"{len(chosen)} experiments"
    with cell_progress(f"{what}, {scale}", jobs, out) as progress:
        records = run(
            todo,
            store,
            jobs=jobs,
            keep_failed=keep_failed,
            time_limit=time_limit,
            begin=progress.begin,
            tick=progress.tick,
        )
    _report(console, chosen, store, (scale,), as_json)
    for record in records:
        if record["error"]:
            what = "[yellow]cannot run here[/]" if record["missing"] else "[red]failed[/]"
            console.print(f"{what} {record['experiment']}, seed {record['seed']}: ", Text(record["error"]), sep="")
    if any(record["error"] and not record["missing"] for record in records):
        raise click.exceptions.Exit(1)


def _report(
    console: Console, chosen: Sequence[Experiment], store: ExperimentStore, scales: Sequence[str], as_json: bool
) -> None:
    """Print the table of verdicts, and write the page of all records in the folder."""
    found = [findings(experiment, store, scales) for experiment in chosen]
    ran = [entry for entry in found if entry.verdicts]
    if as_json:
        path = write_page(papers.load(), store, redraw=[experiment.id for experiment in chosen])
        entries = [{"id": e.experiment.id, "verdicts": [_record(v) for v in e.best]} for e in ran]
        counted = [{"claims": r.group, "kind": r.kind, "scale": r.scale or None, **r.outcomes} for r in count_rows(ran)]
        emit({"gramian": __version__, "records": store.root, "page": path, "counts": counted, "experiments": entries})
        return
    if len(ran) > _MANY:
        console.print(_summary(ran))
    else:
        for entry in ran:
            console.print(_table(entry))
    verdicts = [verdict for entry in ran for verdict in entry.best]
    for kind in KINDS:
        alike = [verdict for verdict in verdicts if verdict.claim.kind == kind]
        counts = ", ".join(f"[{_COLOURS.get(outcome, 'dim')}]{n} {outcome}[/]" for outcome, n in count(alike).items())
        if alike:
            console.print(f"{_PLURAL[kind] if len(alike) > 1 else kind} ({len(alike)}): {counts}")
    if not verdicts:
        console.print("no claim has run")
    path = write_page(papers.load(), store, redraw=[experiment.id for experiment in chosen])
    console.print(f"records in [bold]{store.root}[/], page: [bold]{path}[/]")


def _record(verdict: Verdict) -> dict[str, Any]:
    claim, ours = verdict.claim, verdict.ours
    return {
        "key": claim.key,
        "kind": claim.kind,
        "null": None if claim.null is None else {"value": claim.null.value, "what": claim.null.what},
        "scale": verdict.scale,
        "paper": format_paper_value(claim),
        "ours": None if ours is None else {"mean": ours.mean, "half_interval": ours.half, "values": ours.values},
        "outcome": verdict.outcome,
        "why": verdict.why or None,
    }


def _plan(
    console: Console, chosen: Sequence[Experiment], store: ExperimentStore, scales: Sequence[str], as_json: bool
) -> None:
    """Print the work that has not run, cheapest first, with the sum of the hours so far."""
    work = plan(chosen, store, scales)
    if as_json:
        emit([asdict(entry) for entry in work])
        return
    table = Table(box=None)
    for name, how in (("id", "left"), ("scale", "left"), ("cells", "right"), ("hours", "right"), ("sum", "right")):
        table.add_column(name, justify=how)  # type: ignore[arg-type]
    table.add_column("hours are", justify="left")
    total = 0.0
    for entry in work:
        total += entry.hours or 0.0
        hours = "–" if entry.hours is None else f"{entry.hours:.2f}"
        so_far = "–" if entry.hours is None else f"{total:.1f}"
        table.add_row(entry.experiment, entry.scale, f"{entry.missing}/{entry.all}", hours, so_far, entry.source)
    if work:
        console.print(table)
    console.print(f"{sum(entry.missing for entry in work)} cells have not run; {total:.1f} hours of one core are known")


def _seeds(found: Findings, scale: str) -> int:
    return len({record["seed"] for record in found.records.get(scale, ()) if not record["error"]})


def _summary(found: Sequence[Findings]) -> Table:
    """Return a table with a line for each experiment, followed by the numbers that differ."""
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
                claim, ours = verdict.claim, format_estimate(verdict.ours)
                what = f"{claim.label or claim.key}: paper {format_paper_value(claim)}, ours {ours}"
                table.add_row("", Text(what, style="red"))
    return table


def _table(found: Findings) -> Table:
    experiment = found.experiment
    seconds = sum(record["seconds"] for records in found.records.values() for record in records)
    scales = ", ".join(found.verdicts)
    title = Text(f"{experiment.id}: {experiment.title} ({scales}, {format_duration(seconds)})")
    table = Table(title=title, title_justify="left", box=None)
    for name, how in (("number", "left"), ("paper", "right"), ("ours", "right"), ("verdict", "left")):
        table.add_column(name, justify=how, no_wrap=how == "right")  # type: ignore[arg-type]
    ran = [verdict for verdict in found.best if verdict.outcome != NOT_RUN]
    for verdict in ran:
        claim = verdict.claim
        outcome = Text(verdict.outcome, style=_COLOURS.get(verdict.outcome, "dim"))
        outcome.append(f": {verdict.why}" if verdict.outcome == CANNOT_RUN else "", style="dim")
        if claim.setting and verdict.judged:
            outcome.append(f" (in the printed setting: {format_estimate(verdict.printed)})", style="dim")
        if claim.misprint:
            outcome.append(f" (misprint in the paper; as printed: {format_estimate(verdict.printed)})", style="dim")
        table.add_row(Text(claim.label or claim.key), format_paper_value(claim), format_estimate(verdict.ours), outcome)
    reasons = Counter(verdict.why for verdict in found.best if verdict.outcome == NOT_RUN)
    for why, n in reasons.items():
        table.add_row(Text(f"{n} more", style="dim"), "", "", Text(f"{NOT_RUN}: {why}", style="dim"))
    return table


def _list(console: Console, chosen: Sequence[Experiment], store: ExperimentStore, as_json: bool) -> None:
    rows: list[dict[str, Any]] = []
    for experiment in chosen:
        found = findings(experiment, store)
        rows.append(
            {
                "id": experiment.id,
                "paper": experiment.paper,
                "title": experiment.title,
                "scales": {s: len(cells(experiment, s)) for s in SCALES},
                "seeds": {s: {"declared": experiment.seeds[s], "run": _seeds(found, s)} for s in SCALES},
                "ran": list(found.records),
                "verdict": count(found.best) if found.records else {},
            }
        )
    if as_json:
        emit(rows)
        return
    table = Table(box=None)
    for name in ("id", "title", "cells", "seeds", "verdicts"):
        table.add_column(name)
    for row in rows:
        verdict = ", ".join(f"{n} {outcome}" for outcome, n in row["verdict"].items())
        sizes = " · ".join(str(row["scales"][scale]) for scale in SCALES)
        seeds = " · ".join(f"{row['seeds'][s]['run']}/{row['seeds'][s]['declared']}" for s in SCALES)
        table.add_row(
            row["id"], Text(row["title"]), sizes, seeds, Text(verdict or "not run", style="" if verdict else "dim")
        )
    console.print(table)
    console.print(
        f"cells, and seeds run/declared, at the scales {', '.join(SCALES)}; gramian reproduce ID --scale SCALE runs",
        style="dim",
    )
