"""The work of ``gramian bench tables``: which methods and data sets run, the run, and its summary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from gramian import __version__
from gramian.bench.cell import cells
from gramian.bench.losses import LossComparison, compare_losses
from gramian.bench.methods import METHODS, find_method
from gramian.bench.summary import SuiteSummary, summarize
from gramian.bench.tasks import SUITES
from gramian.cli.cell_progress import cell_progress
from gramian.cli.output import console_for, emit, make_console
from gramian.core.atomic import atomic_write
from gramian.records import LinesStore, Record, run


def compare_on_tables(
    suite: str,
    wanted: str | None,
    named: str | None,
    splits: int | None,
    jobs: int,
    time_limit: float,
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    """Run the methods on the data sets, print the summary, and write it beside the records.

    The arguments are the options of the command.
    """
    console = console_for(as_json)
    methods = _methods(suite, named, console)
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
    summaries, losses = summarize(records, suite, methods), _losses(records, suite, methods)
    _show(summaries, losses, suite, out, console, as_json)
    stem = out.with_name(f"{out.stem}-{suite}")
    text = _as_dicts(summaries, losses)
    atomic_write(stem.with_suffix(".json"), json.dumps(text, indent=1))
    tables = [*(s.markdown() for s in summaries if s.rows), *(one.markdown() for one in losses)]
    atomic_write(stem.with_suffix(".md"), "\n".join(tables))
    console.print(f"records in [bold]{out}[/], summary in {stem}.json and {stem}.md")


def show_records(suite: str, wanted: str | None, named: str | None, out: Path, as_json: bool) -> None:
    """Print the summary of the records in a file."""
    records = LinesStore(out).all()
    if not records:
        raise ValueError(f"{out} contains no records: run the benchmark without --show first")
    names = None if wanted is None else set(_sets(suite, wanted))
    records = [r for r in records if names is None or r["set"] in names]
    methods = _split(named)
    summaries, losses = summarize(records, suite, methods), _losses(records, suite, methods)
    _show(summaries, losses, suite, out, console_for(as_json), as_json)


def _losses(records: Sequence[Record], suite: str, methods: Sequence[str]) -> list[LossComparison]:
    """Compare by loss the methods that have one, for each kind of task; nothing where two of them cannot be compared.

    Records of earlier versions have no loss of the class shares, and none of the files of such records is compared.
    """
    found = [r for r in records if r["suite"] == suite and (not methods or r["method"] in methods)]
    out = []
    for kind in sorted({r["kind"] for r in found}):
        part = [r for r in found if r["kind"] == kind]
        if all("prior_log_loss" in r for r in part):
            with suppress(ValueError):  # no data set is finished by all
                out.append(compare_losses(part, [suite]))
    return [one for one in out if len(one.methods) > 1]


def _as_dicts(summaries: Sequence[SuiteSummary], losses: Sequence[LossComparison]) -> list[dict[str, object]]:
    by_kind = {one.kind: one.as_dict() for one in losses}
    return [summary.as_dict() | {"by_loss": by_kind.get(summary.kind)} for summary in summaries]


def _show(
    summaries: Sequence[SuiteSummary],
    losses: Sequence[LossComparison],
    suite: str,
    out: Path,
    console: Console,
    as_json: bool,
) -> None:
    if not summaries:
        raise ValueError(f"{out} contains no records of the suite {suite}")
    if as_json:
        emit({"gramian": __version__, "suite": suite, "records": out, "kinds": _as_dicts(summaries, losses)})
        return
    for summary in summaries:
        _print(console, summary)
    for one in losses:
        console.print(one.table())


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
        if int(wanted) == 0:
            raise ValueError("--sets must be 1 or more, or names of data sets")
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


def list_methods(as_json: bool) -> None:
    """Print the suites and the methods, with the reasons why some cannot run here."""
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
    console = make_console()
    for suite in SUITES.values():
        console.print(f"[bold]{suite.key}[/]: {suite.title}")
    for name, method in METHODS.items():
        console.print(f"  {name}: {method.missing or f'{method.package} {method.version}'}")
