"""``gramian inspect``: measure what each layer of a network has learned, from a checkpoint and a factory."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import torch
from rich.markup import escape

import gramian
from gramian import __version__
from gramian import report as pages
from gramian.cli.checkpoints import load_weights, read_weights
from gramian.cli.inspect_data import read_inspect_data
from gramian.cli.options import missing_option
from gramian.cli.output import emit, make_console, to_json_types
from gramian.cli.report import names_of
from gramian.cli.user_code import build_model, current_folder_first
from gramian.core import format_bytes, resolve_device
from gramian.core.paths import check_writable
from gramian.datasets.sample_files import SampleOptions


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    parts = value.lower().replace("×", "x").split("x")
    if not (len(parts) <= 2 and all(part.isdigit() and int(part) for part in parts)):
        raise click.BadParameter("write a number of pixels, or height and width as 32x48")
    return int(parts[0]), int(parts[-1])


@click.command()
@click.argument("checkpoints", nargs=-1, type=click.Path(path_type=Path), metavar="[CHECKPOINT [CHECKPOINT]]")
@click.option(
    "--model",
    "factory",
    required=True,
    metavar="MODULE:FACTORY",
    help="Function or class that builds the network; the current folder is searched first.",
)
@click.option("--model-args", metavar="JSON", help="""Arguments of the factory, such as '{"width": 128}'.""")
@click.option(
    "--data",
    required=True,
    metavar="FILE|FOLDER|MODULE:FUNCTION",
    help=".npz (X, y), .npy, .csv, .parquet, a folder of pictures (a subfolder per class), or your own function.",
    type=click.Path(),
)
@click.option("--target", help="Column of a table, array of an .npz [y], or .npy file with the targets.")
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Leave a column of a table out; may be given several times."
)
@missing_option
@click.option(
    "--samples", type=click.IntRange(min=1), default=1000, show_default=True, help="Rows to draw from the data."
)
@click.option("--image-size", metavar="SIZE", callback=_size, help="Resize pictures, such as to 32 or 32x48.")
@click.option(
    "--layers",
    multiple=True,
    metavar="PATTERN",
    help="Only these layers, such as 'encoder.*'; may be given several times.",
)
@click.option(
    "--loss",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="The loss of the training: mse, cross_entropy, none, or MODULE:FUNCTION.",
)
@click.option(
    "--weight-decay", type=float, metavar="λ", help="Weight decay of the training: adds FACT and its residual."
)
@click.option("--initial", type=click.Path(path_type=Path), help="Weights at initialisation: adds the centred NFA.")
@click.option("--batch-size", type=click.IntRange(min=1), default=256, show_default=True, help="Samples per batch.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of draws and initial weights."
)
@click.option("--html", type=click.Path(path_type=Path), help="File for a page about the network.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a line per layer as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def inspect(
    checkpoints: tuple[Path, ...],
    factory: str,
    model_args: str | None,
    data: str,
    target: str | None,
    drop: tuple[str, ...],
    missing: tuple[str, ...],
    samples: int,
    image_size: tuple[int, int] | None,
    layers: tuple[str, ...],
    loss: str,
    weight_decay: float | None,
    initial: Path | None,
    batch_size: int,
    device: str,
    seed: int,
    html: Path | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what every layer of a PyTorch network has learned.

    CHECKPOINT holds the weights: what torch.save(model.state_dict(), path) writes, a checkpoint of a training loop or
    of Lightning that contains such a state dict, or .safetensors. Without a checkpoint the network is inspected as the
    factory makes it; two checkpoints are compared layer by layer.

    Importing the factory runs your own code. The checkpoint never does: only numbers are read from it.

    Numbers are passed to the network as they are in the file, and pixels are scaled to [0, 1]. If training prepared
    them in another way, give --data a function without arguments that returns (X, y) or a DataLoader.

    \b
    Examples:
      gramian inspect weights.pt --model net:Net --data test.npz
      gramian inspect --model net:Net --data test.npz
      gramian inspect early.pt late.pt --model net:Net --data test.npz --json
      gramian inspect w.pt --model net:Net --data test.csv --target y
      gramian inspect w.pt --model net:Net --data pictures/ --html net.html
      gramian inspect w.pt --model net:Net --data net:test_loader --loss mse
      gramian inspect w.pt --model net:f --data x.npy --model-args '{"width": 9}'
    """
    if len(checkpoints) > 2:
        raise click.UsageError(f"one checkpoint to inspect or two to compare, not {len(checkpoints)}")
    if as_csv and as_json:
        raise click.UsageError("--csv and --json: choose one")
    if html is not None:
        check_writable(html, *checkpoints, initial, Path(data), None if target is None else Path(target))
    place = device if device == "auto" else resolve_device(device)  # raises an error that names the devices
    weights = [read_weights(path) for path in checkpoints]
    start = None if initial is None else read_weights(initial)
    options = SampleOptions(samples, seed, target, drop, missing, image_size)
    reports, given = [], None
    with current_folder_first(), torch.random.fork_rng(devices=[]):
        for index in range(max(1, len(checkpoints))):
            model, before = build_model(factory, model_args, seed), None
            if start is not None:
                before = build_model(factory, model_args, seed)
                load_weights(before, start, initial)  # type: ignore[arg-type]
            if weights:
                load_weights(model, weights[index], checkpoints[index])
            if given is None:
                given = read_inspect_data(model, data, options, loss)
            reports.append(
                gramian.inspect(
                    model,
                    given.data,
                    loss=given.loss,
                    layers=list(layers) or None,
                    weight_decay=weight_decay,
                    initial=before,
                    device=place,
                    max_samples=samples,
                    batch_size=batch_size,
                    seed=seed,
                )
            )
    assert given is not None
    comparison = gramian.compare(*reports) if len(reports) == 2 else None
    if html is not None:
        _write_page(html, reports, checkpoints, factory)
    if as_json:
        common: dict[str, Any] = {
            "gramian": __version__,
            "model": factory,
            "data": data,
            "target": target,
            "loss": given.loss_name,
        }
        common |= {"rows_in_data": given.rows, "classes": given.classes or None, "html": html}
        records = [_record(r, path) for r, path in zip(reports, checkpoints or (None,), strict=True)]
        if comparison is None:
            emit(common | records[0])
        else:
            changes = {"layers": comparison.rows, "notes": comparison.notes}
            emit(common | {"first": records[0], "second": records[1], "comparison": changes})
        return
    if as_csv:
        _print_csv([dict(row) for row in reports[0].loaded_rows()] if comparison is None else comparison.rows)
        return
    _print(reports, comparison, checkpoints, factory, data, given.remarks, html)


def _record(report: Any, checkpoint: Path | None) -> dict[str, Any]:
    return {
        "checkpoint": checkpoint,
        "samples": report.settings.get("samples"),
        "settings": report.settings,
        "layers": [dict(row) for row in report.loaded_rows()],
        "skipped": report.skipped,
    }


def _write_page(html: Path, reports: list[Any], checkpoints: tuple[Path, ...], factory: str) -> None:
    if len(reports) == 2:
        pages.write_comparison(reports[0], reports[1], html, names=names_of(*checkpoints))
    else:
        title = checkpoints[0].name if checkpoints else f"{factory} at initialisation"
        pages.write_report(reports[0], html, title=title)


def _print(
    reports: list[Any],
    comparison: Any,
    checkpoints: tuple[Path, ...],
    factory: str,
    data: str,
    remarks: tuple[str, ...],
    html: Path | None,
) -> None:
    console = make_console()
    what = " and ".join(str(path) for path in checkpoints) or "at initialisation"
    console.print(f"[bold]{escape(factory)}[/], {escape(what)}, on {escape(data)}", soft_wrap=True)
    for line in remarks:
        console.print(escape(line), style="dim", soft_wrap=True)
    if comparison is not None:
        first, second = map(str, checkpoints)
        console.print(replace(comparison, title=f"From {first} to {second}:"))
    else:
        console.print(reports[0])
        console.print(
            "The NFA compares the weights WᵀW of a layer with the directions of its input to which the output is "
            "sensitive (AGOP): 1 means equal. --json has all numbers, and docs/networks.md explains them.",
            style="dim",
        )
    if html is not None:
        size = format_bytes(html.stat().st_size)
        console.print(f"[bold]{escape(str(html))}[/]: {size}; open it in a browser", soft_wrap=True)


def _print_csv(rows: list[dict[str, Any]]) -> None:
    """Print a line per layer; a number that was not measured is an empty cell."""
    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: "" if (cell := to_json_types(value)) is None else cell for name, value in row.items()})
