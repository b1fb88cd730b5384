"""``gramian concept``: find a concept in the hidden states of a language model, score texts by it, steer along it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click
import numpy as np
from rich.markup import escape

from gramian import __version__
from gramian.cli.output import emit, make_console
from gramian.core.paths import check_exists, check_writable

if TYPE_CHECKING:
    from torch import nn

    from gramian.concepts import Concept
    from gramian.concepts.generation import TextTokenizer

METHODS = ("rfm", "logistic", "mean_difference", "pca")
model_option = click.option(
    "--model",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of a Hugging Face model on disk, also one with a GGUF file.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group()
def concept() -> None:
    """Find, read and steer concepts in the hidden states of a language model (needs gramian[hf]).

    \b
    Examples:
      gramian concept fit texts.csv --model FOLDER --label label --out joy.concept
      gramian concept score joy.concept new.csv --model FOLDER
      gramian concept steer joy.concept --model FOLDER --prompt "The film was"
    """


@concept.command()
@click.argument("texts", type=click.Path(path_type=Path))
@model_option
@click.option("--label", help="Column of the labels [label, or the only column of whole numbers].")
@click.option("--text", "column", help="Column of the texts [text, sentence, or the only other column].")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File for the concept.")
@click.option("--name", help="Name of the concept [that of the file].")
@click.option(
    "--position",
    type=click.Choice(["last", "mean"]),
    default="last",
    show_default=True,
    help="Position of a text whose hidden state is used.",
)
@click.option("--folder", "cache", type=click.Path(path_type=Path), help="Folder for hidden states, to continue later.")
@click.option("--page", type=click.Path(path_type=Path), help="File for a page about the concept (HTML).")
@json_option
def fit(
    texts: Path,
    folder: Path,
    label: str | None,
    column: str | None,
    out: Path,
    name: str | None,
    position: Literal["last", "mean"],
    cache: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Find the directions of a concept in every layer of a model, and save them.

    TEXTS is a CSV or TSV file with a column of texts and one of labels. Scores are out-of-fold: every text is scored by
    probes that were fitted without it.

    \b
    Examples:
      gramian concept fit texts.csv --model FOLDER --label label --out joy.concept
      gramian concept fit t.csv --model FOLDER --out joy.concept --page joy.html
    """
    from gramian.concepts import collect, fit_concept  # here: help needs none of it
    from gramian.nets.checkpoints.texts import read_texts

    check_writable(out, texts)
    if page is not None:
        check_writable(page, texts, out)
    found = read_texts(texts, column=column, target=label)
    if found.labels is None:
        raise ValueError(f"{texts} has no column of labels: name it with --label")
    labels = [found.classes[i] if found.classes else i for i in found.labels]
    model, tokenizer = load_folder(folder)
    states = collect(model, list(found.texts), tokenizer=tokenizer, position=position, folder=cache, show=not as_json)
    made = fit_concept(states, labels, name=name or out.stem, show=not as_json)
    made.save(out)
    if page is not None:
        from gramian.report.concept import write_concept_page
        from gramian.report.concept.gather import concept_record

        examples = list(zip(found.texts, map(str, labels), strict=True))
        write_concept_page(concept_record(made, model, tokenizer=tokenizer, texts=examples), page)
    scores = {method: [one.value for one in found] for method, found in made.aucs.items()}
    if as_json:
        record = {"gramian": __version__, "texts": texts, "rows": len(labels), "classes": made.classes, "out": out}
        emit(record | {"page": page, "layers": made.layers, "scores": scores})
        return
    console = make_console()
    console.print(made)
    console.print(f"[bold]{escape(str(out))}[/]: {len(made.layers)} layers, {len(labels):,} texts", soft_wrap=True)


@concept.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("texts", type=click.Path(path_type=Path))
@model_option
@click.option("--text", "column", help="Column of the texts [text, sentence, or the only column].")
@json_option
def score(file: Path, texts: Path, folder: Path, column: str | None, as_json: bool) -> None:
    """Score texts by a concept: the probability that each has it.

    TEXTS is a file with a text per line (.txt), or a CSV or TSV file.

    \b
    Examples:
      gramian concept score joy.concept new.txt --model FOLDER
      gramian concept score joy.concept new.csv --model FOLDER --json | jq .scores
    """
    from gramian.nets.checkpoints.texts import read_texts

    made = _open(file)
    found = list(read_texts(texts, column=column).texts)
    model, tokenizer = load_folder(folder)
    scores = made.score(found, model=model, tokenizer=tokenizer, show=not as_json)
    if as_json:
        emit({"gramian": __version__, "concept": file, "texts": texts, "classes": made.classes, "scores": scores})
        return
    for text, row in zip(found, scores, strict=True):
        click.echo("\t".join([*(f"{value:.4f}" for value in np.atleast_1d(row)), text]))


@concept.command()
@click.argument("file", type=click.Path(path_type=Path))
@model_option
@click.option("--prompt", "prompts", multiple=True, help="Beginning of a text; may be given several times.")
@click.option(
    "--strength",
    "strengths",
    type=float,
    multiple=True,
    default=(-0.015, 0.0, 0.015),
    show_default=True,
    help="Strength in units of the typical length of hidden states; may be given several times.",
)
@click.option("--layer", "layers", multiple=True, help="Layer to steer [those in the middle]; may be repeated.")
@click.option(
    "--method", type=click.Choice(METHODS), default="rfm", show_default=True, help="Method of the directions."
)
@click.option(
    "--max-tokens", type=click.IntRange(min=1), default=24, show_default=True, help="Length of continuations."
)
@click.option("--seed", type=click.IntRange(min=0), help="Sample with this seed [take the most probable token].")
@click.option(
    "--export", type=click.Path(path_type=Path), help="File for a control vector (.gguf or .pt) at strength 1."
)
@json_option
def steer(
    file: Path,
    folder: Path,
    prompts: tuple[str, ...],
    strengths: tuple[float, ...],
    layers: tuple[str, ...],
    method: str,
    max_tokens: int,
    seed: int | None,
    export: Path | None,
    as_json: bool,
) -> None:
    """Continue prompts with a model that is steered along a concept, at several strengths.

    \b
    Examples:
      gramian concept steer joy.concept --model FOLDER --prompt "The film was"
      gramian concept steer joy.concept --model FOLDER --prompt "We" --seed 1
      gramian concept steer joy.concept --model FOLDER --export joy.gguf
    """
    import torch  # here: help needs none of it

    from gramian.concepts.control_vectors import write_control_vector
    from gramian.concepts.generation import continue_prompts
    from gramian.concepts.steering import steer as steering

    if not prompts and export is None:
        raise click.UsageError("give --prompt to see continuations, or --export to write a control vector")
    directions = _open(file).directions(method)
    chosen = list(layers) or "auto"
    if export is not None:
        check_writable(export, file)
        write_control_vector(export, directions, layers=chosen)
    rows = []
    if prompts:
        model, tokenizer = load_folder(folder)
        for strength in strengths:
            rng = None if seed is None else torch.Generator().manual_seed(seed)
            with steering(model, [(directions, strength)], layers=chosen):
                made = continue_prompts(model, prompts, tokenizer=tokenizer, max_new_tokens=max_tokens, rng=rng)
            rows += [{"prompt": p, "strength": strength, "text": t} for p, t in zip(prompts, made, strict=True)]
    if as_json:
        emit({"gramian": __version__, "concept": file, "method": method, "export": export, "continuations": rows})
        return
    console = make_console()
    for row in rows:
        words = " ".join(str(row["text"]).split())
        console.print(f"[bold]{row['strength']:+g}[/]  {escape(str(row['prompt']))} … {escape(words)}", soft_wrap=True)
    if export is not None:
        console.print(f"[bold]{escape(str(export))}[/]: control vector; its scale is the strength", soft_wrap=True)


def _open(file: Path) -> Concept:
    from gramian.concepts import Concept

    check_exists(file, "gramian concept fit writes concepts")
    return Concept.load(file)


def load_folder(folder: Path) -> tuple[nn.Module, TextTokenizer]:
    """Return the model of a folder and its tokenizer."""
    from gramian.nets.checkpoints.pretrained import is_pretrained_folder, load_pretrained, load_tokenizer

    if not is_pretrained_folder(folder):
        raise ValueError(f"--model {folder} is not a folder of a Hugging Face model (config.json, or a GGUF file)")
    return load_pretrained(folder), cast("TextTokenizer", load_tokenizer(folder))
