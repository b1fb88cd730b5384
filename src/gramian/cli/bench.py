"""``gramian bench tables``: the defaults of gramian and of other methods on the same rows."""

from __future__ import annotations

from pathlib import Path

import click

from gramian.cli.options import Seconds

# Copies of what gramian.bench has, whose import is slow; a test compares them.
_TIME_LIMIT = 600.0
_HALVED = ("uci-small", "grinsztajn-reg", "grinsztajn-clf")
_SUITES = (
    *("uci-small", "uci-rest", "uci-regression", "uci-paper", "grinsztajn-reg", "grinsztajn-clf", "frames", "sklearn"),
    *(f"{suite}-{half}" for suite in _HALVED for half in ("choosing", "untouched")),
)


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
    type=click.Choice(_SUITES),
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
@click.option("--time-limit", type=Seconds(), default=_TIME_LIMIT, show_default=True, help="Seconds of one fit.")
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
    # Here: help needs none of it.
    from gramian.cli.bench_tables import compare_on_tables, list_methods, show_records

    if only_list:
        list_methods(as_json)
    elif only_show:
        show_records(suite, wanted, named, out, as_json)
    else:
        compare_on_tables(suite, wanted, named, splits, jobs, time_limit, seed, out, as_json)
