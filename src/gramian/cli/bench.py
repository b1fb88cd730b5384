"""``gramian bench tables``: the defaults of gramian and of other methods on the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from gramian import __version__
from gramian.bench.cell import TIME_LIMIT, cells
from gramian.bench.methods import METHODS, find_method
from gramian.bench.summary import SuiteSummary, summarize
from gramian.bench.tasks import SUITES
from gramian.cli.cell_progress import cell_progress
from gramian.cli.output import emit, make_console
from gramian.core.atomic import atomic_write
from gramian.records import LinesStore, run


@click.group()
def bench() -> None:
    """Compare gramian with other methods.

    \b
    Examples:
      gramian bench tables --list
      gramian bench tables --sets 5
    """


@bench.command()
@click.option(
    "--suite",
    type=click.Choice(list(SUITES)),
    default="sklearn",
    show_default=True,
    metavar="NAME",
    help="The data sets; --list names all suites.",
)
@click.option(
    "--sets",
    "wanted",
    default=None,
    help="A number of data sets, smallest first, or names separated by commas; by default all.",
)
@click.option(
    "--methods", "named", default=None, help="Names separated by commas, name@tag to distinguish runs; by default all."
)
@click.option(
    "--splits",
    type=click.IntRange(min=1),
    default=None,
    help="Splits of each data set; by default the suite's own number.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Worker processes, of one thread each."
)
@click.option("--time-limit", type=float, default=TIME_LIMIT, show_default=True, help="Limit of one fit in seconds.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the methods.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("bench-output/tables.jsonl"),
    show_default=True,
    help="File of records; finished cells are not repeated. The summary is written next to it, as .json and .md.",
)
@click.option("--show", "only_show", is_flag=True, help="Only show the records of the file.")
@click.option(
    "--list", "only_list", is_flag=True, help="Only list suites and methods, with those that cannot run here."
)
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

    Data is read from the folder that GRAMIAN_DATA names. After an interrupt the same command continues.

    \b
    Examples:
      gramian bench tables --sets iris,wine --methods gramian,SVM
      gramian bench tables --suite uci-small --sets 10 --jobs 4 --out uci.jsonl
      gramian bench tables --show --json
    """
    console = Console(stderr=True, highlight=False) if as_json else make_console()
    if only_list:
        _list(console, as_json)
        return
    methods = _methods(suite, named, console) if not only_show else _split(named)
    if only_show:
        records = LinesStore(out).all()
        if not records:
            raise ValueError(f"{out} contains no records: run the benchmark without --show first")
        names = None if wanted is None else set(_sets(suite, wanted))
        records = [r for r in records if names is None or r["set"] in names]
    else:
        todo = cells(suite, methods, _sets(suite, wanted), splits, seed)
        with cell_progress(f"{suite}, {len(methods)} methods", jobs, out) as progress:
            records = run(
                todo,
                LinesStore(out),
                jobs=jobs,
                keep_failed=True,  # a failure is a result of the method
                time_limit=time_limit,
                begin=progress.begin,
                tick=progress.tick,
            )
    summaries = summarize(records, suite, methods)
    if not summaries:
        raise ValueError(f"{out} contains no records of the suite {suite}")
    if as_json:
        emit({"gramian": __version__, "suite": suite, "records": out, "kinds": [s.as_dict() for s in summaries]})
    else:
        for summary in summaries:
            _print(console, summary)
    if not only_show:
        stem = out.with_name(f"{out.stem}-{suite}")
        text = [summary.as_dict() for summary in summaries]
        atomic_write(stem.with_suffix(".json"), json.dumps(text, indent=1))
        atomic_write(stem.with_suffix(".md"), "\n".join(s.markdown() for s in summaries if s.rows))
        console.print(f"records in [bold]{out}[/], summary in {stem}.json and {stem}.md")


def _methods(suite: str, named: str | None, console: Console) -> list[str]:
    """Return the named methods, or all of the suite; print those that cannot run here with the reason."""
    paper = SUITES[suite].paper
    chosen = _split(named) or [name for name, method in METHODS.items() if method.paper == paper]
    runnable = []
    for name in chosen:
        method = find_method(name)
        if method.paper != paper:
            raise ValueError(
                f"{name} does not run in {suite}: the methods named paper-… run in uci-paper, and only there"
            )
        if method.missing:
            console.print(f"[yellow]{name}[/]: {method.missing}")
        else:
            runnable.append(name)
    if not runnable:
        raise ValueError("none of these methods can run here; gramian bench tables --list gives the reasons")
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


def _print(console: Console, summary: SuiteSummary) -> None:
    if not summary.rows:
        console.print(f"{summary.title}: no data set is finished by every method yet; use --methods to compare fewer")
        return
    console.print(summary.table())
    failures = sum(row["failures"] for row in summary.rows)
    if failures:
        console.print(
            f"{failures:.0f} failures are scored as the most frequent class or R² = 0; the file has the errors"
        )


def _list(console: Console, as_json: bool) -> None:
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
