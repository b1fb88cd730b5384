"""``gramian bench tables``: our defaults beside those of others, on the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from gramian import __version__
from gramian.bench.methods import METHODS, find_method
from gramian.bench.runner import TIME_LIMIT, cells, read_records, run
from gramian.bench.summary import Summary, summarize
from gramian.bench.tasks import SUITES
from gramian.cli.interrupts import INTERRUPTED
from gramian.cli.output import emit, make_console
from gramian.core.progress import progress


@click.group()
def bench() -> None:
    """Measure gramian beside other methods.

    \b
    Examples:
      gramian bench tables --list
      gramian bench tables --sets 5
    """


@bench.command()
@click.option("--suite", type=click.Choice(list(SUITES)), default="sklearn", show_default=True, help="Which tables.")
@click.option(
    "--sets", "wanted", default=None, help="A number (that many, smallest first) or names with commas between; all."
)
@click.option("--methods", "named", default=None, help="Names with commas between, name@tag to tell runs apart; all.")
@click.option("--splits", type=click.IntRange(min=1), default=None, help="Splits of each set; the suite's own number.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes of one thread each.")
@click.option("--time-limit", type=float, default=TIME_LIMIT, show_default=True, help="Seconds for one fit.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the methods.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("bench-output/tables.jsonl"),
    show_default=True,
    help="Records, one a line; finished ones are not run again. The summary goes beside it, as .json and .md.",
)
@click.option("--show", "only_show", is_flag=True, help="Show what the file holds and run nothing.")
@click.option("--list", "only_list", is_flag=True, help="List suites and methods, and which of them can run here.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary (or the list) as JSON.")
def tables(
    suite: str,
    wanted: str | None,
    named: str | None,
    splits: int | None,
    jobs: int,
    time_limit: float,
    seed: int,
    out: Path,
    only_show: bool,
    only_list: bool,
    as_json: bool,
) -> None:
    """Compare untuned defaults on tables: accuracy or R², rank, PMA, P90, P95, ADTM, wins, log loss, time.

    Data is looked for in the folder GRAMIAN_DATA. Interrupt it when you like: the same command goes on where it was.

    \b
    Examples:
      gramian bench tables --sets iris,wine --methods gramian,SVM
      gramian bench tables --suite uci --sets 10 --jobs 4 --out uci.jsonl
      gramian bench tables --show --json
    """
    console = Console(stderr=True, highlight=False) if as_json else make_console()
    if only_list:
        _list(console, as_json)
        return
    methods = _methods(suite, named, console) if not only_show else _split(named)
    if only_show:
        records = read_records(out)
        if not records:
            raise ValueError(f"{out} holds no records: run the benchmark without --show first")
        names = None if wanted is None else set(_sets(suite, wanted))
        records = [r for r in records if names is None or r["set"] in names]
    else:
        todo = cells(suite, methods, _sets(suite, wanted), splits, seed)
        with progress(f"{suite}, {len(methods)} methods", len(todo), show=True) as tick:
            try:
                records = run(todo, out, jobs=jobs, time_limit=time_limit, tick=lambda record: tick())
            except KeyboardInterrupt:
                click.echo(f"Interrupted: what is finished is in {out}; the same command goes on from there.", err=True)
                raise click.exceptions.Exit(INTERRUPTED) from None
    summaries = summarize(records, suite, methods)
    if not summaries:
        raise ValueError(f"{out} holds no records of the suite {suite}")
    if as_json:
        emit({"gramian": __version__, "suite": suite, "records": out, "kinds": [s.as_dict() for s in summaries]})
    else:
        for summary in summaries:
            _print(console, summary)
    if not only_show:
        stem = out.with_name(f"{out.stem}-{suite}")
        text = [summary.as_dict() for summary in summaries]
        stem.with_suffix(".json").write_text(json.dumps(text, indent=1), encoding="utf-8")
        stem.with_suffix(".md").write_text("\n".join(s.markdown() for s in summaries if s.rows), encoding="utf-8")
        console.print(f"records in [bold]{out}[/], summary in {stem}.json and {stem}.md")


def _methods(suite: str, named: str | None, console: Any) -> list[str]:
    """Those asked for, or all that fit the suite; what cannot run here is named with the reason."""
    paper = SUITES[suite].paper
    chosen = _split(named) or [name for name, method in METHODS.items() if method.paper == paper]
    runnable = []
    for name in chosen:
        method = find_method(name)
        if method.paper != paper:
            raise ValueError(
                f"{name} does not run in {suite}: methods named paper-… belong to uci-paper, and only they"
            )
        if method.missing:
            console.print(f"[yellow]{name}[/]: {method.missing}")
        else:
            runnable.append(name)
    if not runnable:
        raise ValueError("none of these methods can run here; gramian bench tables --list says why")
    return runnable


def _sets(suite: str, wanted: str | None) -> list[str]:
    known = SUITES[suite].names(None)
    if wanted is None:
        return known
    if wanted.isdigit():
        return known[: int(wanted)]
    chosen = _split(wanted)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        raise ValueError(f"--sets: {suite} has no {', '.join(unknown)}; it has {', '.join(known)}")
    return chosen


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _print(console: Any, summary: Summary) -> None:
    if not summary.rows:
        console.print(f"{summary.title}: no set is finished by every method yet; --methods narrows the comparison")
        return
    console.print(summary.table())
    failures = sum(row["failures"] for row in summary.rows)
    if failures:
        console.print(f"{failures:.0f} failures count as the commonest class or R² = 0; the file says what happened")


def _list(console: Any, as_json: bool) -> None:
    if as_json:
        methods = {
            name: {
                "package": method.package,
                "version": None if method.missing else method.version,
                "missing": method.missing,
            }
            for name, method in METHODS.items()
        }
        emit({"suites": {suite.key: suite.title for suite in SUITES.values()}, "methods": methods})
        return
    for suite in SUITES.values():
        console.print(f"[bold]{suite.key}[/]: {suite.title}")
    for name, method in METHODS.items():
        console.print(f"  {name}: {method.missing or f'{method.package} {method.version}'}")
