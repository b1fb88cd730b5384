"""``gramian reproduce``: run the experiments of the papers and compare the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from gramian.cli.options import Seconds

_SCALES = ("smoke", "small", "paper")
"""Those of :mod:`gramian.experiments.registry`."""


def _complete_id(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from gramian.experiments.index import read_index

    return [CompletionItem(id, help=title) for id, title in read_index().items() if id.startswith(incomplete)]


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=_complete_id)
@click.option(
    "--paper",
    "names",
    multiple=True,
    metavar="NAME",
    help="All experiments of a paper: D, FACT, boix-adsera2025, or words of its title; may be repeated.",
)
@click.option("--all", "everything", is_flag=True, help="All experiments.")
@click.option(
    "--scale",
    type=click.Choice(_SCALES),
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
    type=Seconds(),
    default=math.inf,
    help="Seconds after which a cell counts as failed; by default no limit.",
)
@click.option("--keep-failed", is_flag=True, help="Do not repeat cells that failed before.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help="Folder of records, figures and the page; finished cells in it are not repeated.  [reproduction]",
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
    names: tuple[str, ...],
    everything: bool,
    scale: str | None,
    seeds: int | None,
    jobs: int,
    time_limit: float,
    keep_failed: bool,
    out: Path | None,
    merge: tuple[Path, ...],
    only_page: bool,
    only_list: bool,
    only_plan: bool,
    as_json: bool,
) -> None:
    """Reproduce figures, tables and theorems of the papers: d/table2, 'a/*', --paper FACT, --all.

    Data is read from the folder that GRAMIAN_DATA names. After an interrupt the same command continues. The exit code
    is 1 if a cell failed; missing data does not count as a failure.

    \b
    Examples:
      gramian reproduce --list
      gramian reproduce d/table2
      gramian reproduce 'a/*' --scale smoke --seeds 1
      gramian reproduce --paper FACT --jobs 4 --json > verdicts.json
      gramian reproduce --paper "features at convergence" --list
      gramian reproduce --plan --scale paper
    """
    letters = _letters(names)
    _check_ids(ids)
    named = bool(ids or names)
    only_shows = only_list or only_plan or only_page or bool(merge and not named and not everything)
    if not named and not everything and not only_shows:
        raise click.UsageError("no experiment is given: name some (--list shows them), or use --paper NAME or --all")
    # Here: help and errors in the arguments need none of these, which import torch.
    from gramian.cli.output import console_for
    from gramian.cli.reproduce_list import print_list, print_plan
    from gramian.cli.reproduce_run import find_records, report, run_experiments
    from gramian.experiments import papers

    console = console_for(as_json)
    store = find_records(out, reads=(only_list or only_plan) and not merge)
    for other in merge:
        click.echo(f"{store.merge(other):,} records copied from {other}", err=True)
    chosen = papers.select(ids, letters) if named else papers.load()
    if only_list:
        print_list(console, chosen, store, as_json)
    elif only_plan:
        print_plan(console, chosen, store, _SCALES[1:] if scale is None else (scale,), seeds, as_json)
    elif not chosen:
        raise ValueError("there are no experiments")
    elif only_shows:
        report(console, chosen, store, _SCALES if scale is None else (scale,), as_json)
    else:
        run_experiments(console, chosen, store, scale or "small", seeds, jobs, time_limit, keep_failed, as_json)


def _letters(names: Sequence[str]) -> list[str]:
    """Return the letters of the papers that ``--paper`` names; an unknown name is an error that lists the papers."""
    from gramian.experiments.bibliography import find_letter
    from gramian.experiments.papers import PAPERS

    try:
        return [find_letter(name, PAPERS) for name in names]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--paper") from error


def _check_ids(ids: Sequence[str]) -> None:
    """Raise an error for an id that no experiment has, from the list of ids and not from the papers."""
    from gramian.experiments.index import check_patterns, read_index
    from gramian.experiments.papers import PAPERS

    known = read_index()
    if {id[0].upper() for id in known} == set(PAPERS):
        check_patterns(ids, known)
