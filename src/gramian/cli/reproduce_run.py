"""The work of ``gramian reproduce``: runs of cells, and the verdicts on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

import gramian
from gramian import __version__
from gramian.cli.cell_progress import cell_progress
from gramian.cli.output import emit
from gramian.display import format_duration
from gramian.experiments import papers
from gramian.experiments.cell import cells
from gramian.experiments.claims import KINDS
from gramian.experiments.counts import count_rows, single_verdicts
from gramian.experiments.formatting import format_estimate, format_paper_value
from gramian.experiments.page import write_page
from gramian.experiments.registry import Experiment
from gramian.experiments.shown import other_numbers, shown, small_run_note
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import (
    ANOTHER_SETTING,
    CANNOT_RUN,
    CLOSE,
    DIFFERS,
    NOT_DECIDABLE,
    NOT_RUN,
    NOT_TOLD_APART,
    REPRODUCED,
    Estimate,
    Findings,
    Verdict,
    count,
    findings,
)
from gramian.records import run

FOLDER = "reproduction"
"""The default folder of records, and that of the repository."""
_MANY = 5
"""With more experiments than this the terminal shows one line for each; the page has the details."""
_OTHERS = 12
"""Numbers without a counterpart in the paper that the terminal shows; the page has all of them."""
_COLOURS = {
    REPRODUCED: "green",
    CLOSE: "yellow",
    ANOTHER_SETTING: "yellow",
    NOT_TOLD_APART: "yellow",
    DIFFERS: "red",
}
_PLURAL = {kind: f"{kind}s" for kind in KINDS} | {"proved identity": "proved identities"}


def find_records(out: Path | None, reads: bool) -> ExperimentStore:
    """Return the store of the folder ``out``, or of the default folder.

    A command that only ``reads`` finds the records of the repository also from another folder, and says on standard
    error where they are.
    """
    if out is not None:
        return ExperimentStore(out)
    here, repository = Path(FOLDER), _repository_folder()
    if not reads or (here / "records").is_dir():
        return ExperimentStore(here)
    if repository is not None:
        click.echo(f"There is no folder {here} here: the verdicts are those of {repository}", err=True)
        return ExperimentStore(repository)
    click.echo(
        f"There is no folder {here} here, so no verdict is known. The folder of this name in the repository of gramian "
        "has the recorded runs: --out FOLDER reads another one",
        err=True,
    )
    return ExperimentStore(here)


def _repository_folder() -> Path | None:
    """Return the folder of records of the clone that gramian is imported from, if it is one."""
    folder = Path(gramian.__file__).resolve().parents[2] / FOLDER
    return folder if (folder / "records").is_dir() else None


def run_experiments(
    console: Console,
    chosen: Sequence[Experiment],
    store: ExperimentStore,
    scale: str,
    seeds: int | None,
    jobs: int,
    time_limit: float,
    keep_failed: bool,
    as_json: bool,
) -> None:
    """Run the cells of a scale that have no record, and report; the exit code is 1 if a cell failed."""
    todo = [cell for experiment in chosen for cell in cells(experiment, scale, seeds)]
    what = chosen[0].id if len(chosen) == 1 else f"{len(chosen)} experiments"
    with cell_progress(f"{what}, {scale}", jobs, store.folder) as progress:
        records = run(
            todo,
            store,
            jobs=jobs,
            keep_failed=keep_failed,
            time_limit=time_limit,
            begin=progress.begin,
            tick=progress.tick,
        )
    report(console, chosen, store, (scale,), as_json)
    for record in records:
        if record["error"]:
            what = "[yellow]cannot run here[/]" if record["missing"] else "[red]failed[/]"
            console.print(f"{what} {record['experiment']}, seed {record['seed']}: ", Text(record["error"]), sep="")
    if any(record["error"] and not record["missing"] for record in records):
        raise click.exceptions.Exit(1)


def report(
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
    verdicts = [verdict for entry in ran for verdict in single_verdicts(entry)]
    for kind in KINDS:
        alike = [verdict for verdict in verdicts if verdict.claim.kind == kind]
        counts = ", ".join(f"[{_COLOURS.get(outcome, 'dim')}]{n:,} {outcome}[/]" for outcome, n in count(alike).items())
        if alike:
            console.print(f"{_PLURAL[kind] if len(alike) > 1 else kind} ({len(alike):,}): {counts}")
    note = small_run_note(verdicts)
    if note:
        console.print(note)
    if not verdicts:
        console.print("no claim has run")
    path = write_page(papers.load(), store, redraw=[experiment.id for experiment in chosen])
    console.print(f"records in [bold]{store.root}[/], page: [bold]{path}[/]", soft_wrap=True)


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
        "withheld": verdict.withheld or None,
        "why": verdict.why or None,
    }


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
        if remark := shown(verdict):
            outcome = Text(remark)
        elif verdict.outcome == CANNOT_RUN or (verdict.outcome == NOT_DECIDABLE and not claim.column):
            outcome.append(f": {verdict.why}", style="dim")
        if claim.setting and verdict.judged:
            outcome.append(f" (in the printed setting: {format_estimate(verdict.printed)})", style="dim")
        if claim.misprint:
            outcome.append(f" (misprint in the paper; as printed: {format_estimate(verdict.printed)})", style="dim")
        table.add_row(Text(claim.label or claim.key), format_paper_value(claim), format_estimate(verdict.ours), outcome)
    others = _others(found)
    for key, ours in list(others.items())[:_OTHERS]:
        table.add_row(Text(key), "", format_estimate(ours), Text("measured; the paper has no such number", style="dim"))
    if len(others) > _OTHERS:
        table.add_row(Text(f"{len(others) - _OTHERS} more", style="dim"), "", "", Text("on the page", style="dim"))
    reasons = Counter(verdict.why for verdict in found.best if verdict.outcome == NOT_RUN)
    for why, n in reasons.items():
        table.add_row(Text(f"{n:,} of the paper", style="dim"), "", "", Text(f"{NOT_RUN}: {why}", style="dim"))
    return table


def _others(found: Findings) -> dict[str, Estimate]:
    """Return numbers of the largest scale that no claim names, if few of the paper's own were measured."""
    measured = sum(verdict.ours is not None for verdict in found.best)
    if not found.records or measured > _OTHERS:
        return {}
    return other_numbers(found.experiment, list(found.records.values())[-1])
