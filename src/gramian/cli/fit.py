"""``gramian fit``: fit a model to a table, score it on held-out rows, and save it."""

from __future__ import annotations

import time
from pathlib import Path

import click

from gramian.cli.completion import complete_column
from gramian.cli.interrupts import INTERRUPTED
from gramian.cli.options import NumberRange, Seconds, header_option, missing_option
from gramian.core.paths import check_suffix, check_writable
from gramian.tables.header import check_table

TASKS = ("auto", "regression", "classification")
"""The values of ``--task``; those of :mod:`gramian.tables.target_column`, whose import is slow."""
MODEL_SUFFIXES, PAGE_SUFFIXES = (".gramian", ".safetensors"), (".html", ".htm")


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, shell_complete=complete_column, help="Column to predict.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File for the model (.gramian).")
@click.option("--task", type=click.Choice(TASKS), default="auto", show_default=True, help="The task of the model.")
@click.option(
    "--drop",
    multiple=True,
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Leave a column out; may be given several times.",
)
@click.option(
    "--groups",
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Rows with equal entries here (a patient, a household) are fitted or held out together.",
)
@click.option(
    "--time",
    "times",
    metavar="COLUMN",
    shell_complete=complete_column,
    help="Held-out rows have later entries here than the rows that are fitted.",
)
@missing_option
@header_option
@click.option("--preset", type=click.Choice(["fast", "default", "best"]), help="How much work to spend on the fit.")
@click.option(
    "--metric",
    type=click.Choice(["log_loss", "brier", "auc", "accuracy", "rmse", "mae"]),
    help="Loss by which models are selected; by default squared errors.",
)
@click.option(
    "--time-limit",
    type=Seconds(),
    metavar="SECONDS",
    help="Time limit of all fits together.",
)
@click.option(
    "--test-size",
    type=NumberRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the rows held out to measure the score; 0 for none.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the split and the fit.")
@click.option("--report", "page", type=click.Path(path_type=Path), help="File for a page about the model (.html).")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def fit(
    data: Path,
    target: str,
    out: Path,
    task: str,
    drop: tuple[str, ...],
    groups: str | None,
    times: str | None,
    missing: tuple[str, ...],
    header: bool,
    preset: str | None,
    metric: str | None,
    time_limit: float | None,
    test_size: float,
    seed: int,
    page: Path | None,
    as_json: bool,
) -> None:
    """Fit a model to a table and save it.

    DATA is a table with a line of column names (.csv, .csv.gz, .tsv, .parquet, .xlsx, or - for a CSV from standard
    input). Rows without a target are left out. Scores are measured on rows that a first fit has not seen; then the same
    procedure is fitted to all rows, and that model is saved. Ctrl-C saves the last complete model.

    \b
    Examples:
      gramian fit houses.csv --target price --out houses.gramian
      gramian fit houses.csv --target price --out m.gramian --report m.html
      gramian fit houses.csv --target price --out m.gramian --json > fit.json
      gramian fit churn.parquet --target left --drop id --out churn.gramian
      gramian fit churn.csv --target left --missing NA --out m.gramian
      gramian fit visits.csv --target pain --groups patient --out m.gramian
    """
    begin = time.perf_counter()
    check_table(data, [name for name in (target, *drop, groups, times) if name is not None], header)
    check_writable(out, data)
    check_suffix(out, MODEL_SUFFIXES, "a model file")
    if page is not None:
        check_writable(page, data, out)
        check_suffix(page, PAGE_SUFFIXES, "a page")
    # Here: help and errors in the arguments need none of these, which import torch.
    from gramian import report as pages
    from gramian.cli.fit_data import read_fit_data
    from gramian.cli.fit_measure import HeldOut, fit_and_score
    from gramian.cli.fit_output import print_data, print_result, print_scores, result_record
    from gramian.cli.output import emit, make_console

    console = make_console()
    given = read_fit_data(
        data, target, task=task, drop=drop, groups=groups, times=times, missing=missing, header=header
    )
    if not as_json:
        print_data(console, data, given)

    def announce(held_out: HeldOut) -> None:
        if not as_json:
            print_scores(console, held_out, given.task.classifies)

    options: dict[str, str | float | int] = {"random_state": seed, "verbose": 0 if as_json else 1}
    if preset is not None:
        options["preset"] = preset
    if metric is not None:
        options["metric"] = metric
    if time_limit is not None:
        # Half for each fit: with unequal limits the scored procedure would not be the one whose model is saved.
        options["time_limit"] = time_limit / (1 if test_size == 0 else 2)
    result = fit_and_score(given, options, test_size, seed, announce)
    result.model.save(out)
    if page is not None:
        X, y, scored_by = (None, None, None) if (h := result.held_out) is None else (h.X, h.y, h.model)
        if scored_by is result.model:  # the second fit was interrupted: the model has not seen these rows
            scored_by = None
        title = f"{target} from {data.name}"
        pages.write_report(result.model, page, X=X, y=y, title=title, target=target, scored_by=scored_by)
    took = time.perf_counter() - begin
    if as_json:
        emit(result_record(result, given, data, out, page, seed, took))
    else:
        print_result(console, result, given, out, page, took)
    if result.interrupted:
        click.echo(f"Interrupted: {out} is the model of {result.n_given:,} of {len(given.y):,} rows", err=True)
        raise click.exceptions.Exit(INTERRUPTED)
