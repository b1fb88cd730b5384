"""``gramian inspect``: measure what each layer of a network has learned, from checkpoints, with data or without."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from gramian.cli.options import NumberRange, escape_option, missing_option
from gramian.core.paths import check_exists, check_writable

if TYPE_CHECKING:
    from gramian.cli.checkpoints import Chosen

_SAMPLES, _TEXTS = 1000, 64
"""Rows and texts that are drawn from the data unless ``--samples`` says otherwise."""
_NEED_DATA = ("target", "text_column", "drop", "missing", "samples", "image_size", "loss", "weight_decay", "outputs",
              "batch_size", "max_length", "device")  # fmt: skip


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    parts = value.lower().replace("×", "x").split("x")
    if not (len(parts) <= 2 and all(part.isdigit() and int(part) for part in parts)):
        raise click.BadParameter("write a number of pixels, or height and width as 32x48")
    return int(parts[0]), int(parts[-1])


def _outputs(ctx: click.Context, param: click.Parameter, value: str) -> str | int:
    if value == "all":
        return value
    if not (value.isdigit() and int(value) >= 2):
        raise click.BadParameter("write all, or a number of random projections of at least 2")
    return int(value)


@click.command()
@click.argument("checkpoints", nargs=-1, type=click.Path(), metavar="[CHECKPOINT]...")
@click.option(
    "--model",
    "factory",
    metavar="MODULE:FACTORY",
    help="Function or class that builds the network, searched in the current folder first; a folder of Hugging Face "
    "needs none.",
)
@click.option("--model-args", metavar="JSON", help="""Arguments of the factory, such as '{"width": 128}'.""")
@click.option(
    "--data",
    metavar="FILE|FOLDER|MODULE:FUNCTION",
    help=".npz (X, y), .npy, .csv, .parquet, a folder of pictures (a subfolder per class), your own function, or texts "
    "(.txt, .csv, .tsv) for a folder of Hugging Face. Without data the weights alone are measured.",
    type=click.Path(),
)
@click.option("--target", help="Column of a table, array of an .npz [y], or .npy file with the targets.")
@click.option("--text", "text_column", metavar="COLUMN", help="Column of the texts in a table [text, sentence].")
@click.option(
    "--drop", multiple=True, metavar="COLUMN", help="Leave a column of a table out; may be given several times."
)
@missing_option
@click.option(
    "--samples", type=click.IntRange(min=1), help=f"Rows to draw from the data [{_SAMPLES}], or texts [{_TEXTS}]."
)
@click.option("--max-length", type=click.IntRange(min=1), default=128, show_default=True, help="Tokens of a text.")
@click.option("--image-size", metavar="SIZE", callback=_size, help="Resize pictures, such as to 32 or 32x48.")
@click.option(
    "--layers",
    multiple=True,
    metavar="PATTERN",
    help="Only these layers, such as 'encoder.*'; may be given several times.",
)
@click.option(
    "--layers-at-a-time",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Hold this many layers in memory and read the data again for the next ones: for large networks.",
)
@click.option(
    "--outputs",
    default="all",
    show_default=True,
    metavar="all|NUMBER",
    callback=_outputs,
    help="All outputs of the network, or a number of random projections of them.",
)
@click.option(
    "--loss",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="The loss of the training: mse, cross_entropy, model (the network's own), none, or MODULE:FUNCTION.",
)
@click.option(
    "--weight-decay",
    type=NumberRange(min=0),
    metavar="λ",
    help="Weight decay of the training: adds FACT and its residual.",
)
@click.option(
    "--initial",
    type=click.Path(path_type=Path),
    help="Weights at initialisation: adds the centred NFA, or without data what has changed.",
)
@click.option("--batch-size", type=click.IntRange(min=1), default=256, show_default=True, help="Samples per batch.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of draws and initial weights."
)
@click.option("--html", type=click.Path(path_type=Path), help="File for a page about the network.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File for the numbers: .csv, .json, or .gramian (the report with all matrices).",
)
@escape_option
@click.option("--csv", "as_csv", is_flag=True, help="Print a line per layer as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.pass_context
def inspect(
    ctx: click.Context,
    checkpoints: tuple[str, ...],
    factory: str | None,
    model_args: str | None,
    data: str | None,
    target: str | None,
    text_column: str | None,
    drop: tuple[str, ...],
    missing: tuple[str, ...],
    samples: int | None,
    max_length: int,
    image_size: tuple[int, int] | None,
    layers: tuple[str, ...],
    layers_at_a_time: int | None,
    outputs: str | int,
    loss: str,
    weight_decay: float | None,
    initial: Path | None,
    batch_size: int,
    device: str,
    seed: int,
    html: Path | None,
    out: Path | None,
    escape: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show what every layer of a PyTorch network has learned.

    CHECKPOINT holds the weights: what torch.save(model.state_dict(), path) writes, a checkpoint of a training loop or
    of Lightning that contains such a state dict, .safetensors, or a folder of Hugging Face (also with shards). Without
    a checkpoint the network is inspected as the factory makes it; two checkpoints are compared layer by layer. More of
    them, a pattern, or a folder that holds step-* or checkpoint-* are one training run, followed from the first
    checkpoint to the last.

    Without --data the weights alone are measured, one matrix at a time, so a checkpoint may be larger than the memory.

    Importing the factory runs your own code. The checkpoint never does: only numbers are read from it. The network of a
    folder of Hugging Face is built by transformers, without code of the folder and without a download.

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
      gramian inspect SmolLM2-135M/ --html weights.html
      gramian inspect SmolLM2-135M/ --data texts.txt --samples 16
      gramian inspect 'run/step-*' --html run.html
      gramian inspect run/ --model net:Net --data test.npz --out run.csv
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json: choose one")
    if not checkpoints and (factory is None or data is None):
        raise click.UsageError("name a checkpoint, or the network with --model MODULE:FACTORY and --data")
    _check_given(checkpoints, out)
    # Here: help and errors in the arguments need none of these, which import torch.
    from gramian.cli.checkpoints import choose_checkpoints
    from gramian.cli.inspect_measure import InspectRequest, measure_network, measure_pretrained, measure_weights
    from gramian.cli.inspect_output import check_has_file, show, write_out, write_page
    from gramian.core import resolve_device
    from gramian.datasets.sample_files import SampleOptions

    chosen = choose_checkpoints(checkpoints)
    _check(ctx, chosen, factory, data, initial)
    for path in (html, out):
        if path is not None:
            used = [*chosen.paths, initial, None if data is None else Path(data)]
            check_writable(path, *used, None if target is None else Path(target), out if path is html else None)
    if out is not None and out.suffix.lower() == ".gramian" and data is not None and not chosen.run:
        check_has_file(chosen)
    names = list(layers) or None
    if data is None:
        result = measure_weights(chosen, initial, names)
    else:
        request = InspectRequest(
            chosen=chosen,
            data=data,
            rows=SampleOptions(
                samples or (_TEXTS if factory is None else _SAMPLES), seed, target, drop, missing, image_size
            ),
            loss=loss,
            initial=initial,
            layers=names,
            outputs=outputs,
            weight_decay=weight_decay,
            batch_size=batch_size,
            device=device if device == "auto" else resolve_device(device),  # raises an error that names the devices
            seed=seed,
            layers_at_a_time=layers_at_a_time,
        )
        if factory is None:
            result = measure_pretrained(request, text_column, max_length)
        else:
            result = measure_network(request, factory, model_args)
    if html is not None:
        write_page(result, html)
    show(result, html, as_json=as_json, as_csv=as_csv, escape_text=escape)
    if out is not None:  # last, so that numbers are not lost where the report is too large for the disk or the memory
        write_out(result, out, say=not (as_json or as_csv), escape_text=escape)


def _check_given(checkpoints: Sequence[str], out: Path | None) -> None:
    """Raise an error for a checkpoint that does not exist, or for a suffix of ``--out`` that is not written."""
    for word in checkpoints:
        if not any(mark in word for mark in "*?[") and not Path(word).is_dir():
            check_exists(Path(word), "weights end in .pt, .pth, .ckpt, .bin or .safetensors")
    if out is not None and out.suffix.lower() not in (".csv", ".json", ".gramian"):
        raise ValueError(f"--out {out}: the file must end in .csv, .json or .gramian")


def _check(ctx: click.Context, chosen: Chosen, factory: str | None, data: str | None, initial: Path | None) -> None:
    """Raise an error where arguments do not go together, with what to add or leave out."""
    from gramian.nets.checkpoints.pretrained import is_pretrained_folder

    if initial is not None and (chosen.run or (data is None and len(chosen.paths) == 2)):
        raise click.UsageError("the first checkpoint is the initial one of the others: leave --initial out")
    if data is None:
        if factory is not None:
            raise click.UsageError("--model needs --data; leave both out to measure the weights alone")
        given = [name for name in _NEED_DATA if ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE]
        if given:
            option = next(p.opts[0] for p in ctx.command.params if p.name == given[0])
            raise click.UsageError(f"{option} needs --data: without it the weights alone are measured")
    elif factory is None:
        others = [path for path in chosen.paths if not is_pretrained_folder(path)]
        if others:
            raise click.UsageError(
                f"{others[0]} is not a folder of Hugging Face (config.json, or a GGUF file): name the network of these "
                "weights with --model MODULE:FACTORY, or leave --data out to measure the weights alone"
            )
