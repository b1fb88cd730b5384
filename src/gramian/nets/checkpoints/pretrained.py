"""Models and tokenizers from a folder of Hugging Face, by transformers, without remote code and without a network."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stderr
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from gramian.nets.checkpoints.opening import CheckpointLike, open_checkpoint, read_config, weight_files
from gramian.nets.checkpoints.texts import Texts, Tokenizer, is_text_file, read_texts, text_batches
from gramian.nets.losses import LossLike

_AUTO = {
    "ForCausalLM": "AutoModelForCausalLM",
    "LMHeadModel": "AutoModelForCausalLM",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForMaskedLM": "AutoModelForMaskedLM",
}
"""Endings of the architecture in a config, with the class of transformers that builds it; AutoModel otherwise."""
MOST_TEXTS = 16
"""Largest number of texts in a batch: the outputs of 16 texts of 25 tokens and 50,000 words take 80 MB."""


def is_pretrained_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder with a config or a GGUF file, from which transformers can build a model.

    >>> is_pretrained_folder("no/such/folder")
    False
    """
    folder = Path(path)
    return folder.is_dir() and ((folder / "config.json").is_file() or any(folder.glob("*.gguf")))


def load_pretrained(folder: str | os.PathLike[str]) -> nn.Module:
    """Build the model of a folder in float32, on the CPU and in eval mode (needs transformers).

    The head follows from the architecture in ``config.json``: causal language models, classifiers of sequences, masked
    language models, and otherwise the model without a head. A folder with a GGUF file and no other weights is read as a
    causal language model. Code in the folder is not run, and nothing is downloaded.
    """
    folder = Path(folder)
    transformers = _transformers(folder)
    file = _gguf_file(folder)
    name = "AutoModelForCausalLM" if file else _auto_class(folder)
    options = _options(file) | {_dtype_option(transformers): torch.float32}
    try:
        with _without_bars(transformers, file is not None):
            model = getattr(transformers, name).from_pretrained(str(folder), **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ValueError(f"{folder} cannot be built by transformers' {name}: {_one_line(error)}") from error
    return cast(nn.Module, model).eval()


def load_tokenizer(folder: str | os.PathLike[str]) -> Tokenizer:
    """Return the tokenizer of a folder (needs transformers)."""
    folder = Path(folder)
    transformers = _transformers(folder)
    file = _gguf_file(folder)
    try:
        with _without_bars(transformers, file is not None):
            return cast(Tokenizer, transformers.AutoTokenizer.from_pretrained(str(folder), **_options(file)))
    except (OSError, ValueError, KeyError, ImportError, TypeError) as error:
        raise ValueError(
            f"{folder} has no tokenizer that can be read ({_one_line(error)}): copy tokenizer.json into it, or pass "
            "batches of tokens as data"
        ) from error


def model_and_data(
    folder: str | os.PathLike[str],
    data: object,
    loss: LossLike | None = None,
    *,
    batch_size: int = 256,
    max_length: int = 128,
) -> tuple[nn.Module, object, LossLike | None]:
    """Build the model of a folder, and turn texts into batches with the loss they were trained by.

    ``data`` is a list of texts, a pair ``(texts, labels)``, :class:`gramian.nets.checkpoints.Texts`, or the path of a
    file of texts; anything else is passed on as it is. Texts for a causal language model get the loss ``"model"`` over
    their next tokens, unless another loss is given; texts with labels for a classifier the same over its classes. A
    batch has at most 16 texts.
    """
    texts = as_texts(data)
    if not is_pretrained_folder(folder):
        raise ValueError(
            f"{folder} is not a folder of Hugging Face (config.json, or a GGUF file): build the model yourself and "
            "pass it in place of the path, or leave data out to measure the weights alone"
        )
    model = load_pretrained(folder)
    if texts is None:
        return model, data, loss
    batches, own = batches_for(model, load_tokenizer(folder), texts, batch_size=batch_size, max_length=max_length)
    return model, batches, own if loss is None else loss


def batches_for(
    model: nn.Module, tokenizer: Tokenizer, texts: Texts, *, batch_size: int, max_length: int
) -> tuple[list[dict[str, Tensor]], LossLike | None]:
    """Cut texts into batches with the labels that suit the model, and return the loss ``"model"`` where it has one."""
    causal = predicts_next_token(model)
    labelled = texts.labels is not None and predicts_labels(model)
    found = texts if labelled else Texts(texts.texts)
    size = min(batch_size, MOST_TEXTS)
    batches = text_batches(tokenizer, found, next_token=causal, batch_size=size, max_length=max_length)
    return batches, "model" if causal or labelled else None


def state_of(checkpoint: CheckpointLike) -> dict[str, Tensor]:
    """Return the whole state dict of a checkpoint; a folder of Hugging Face under the names of its model.

    >>> sorted(state_of(nn.Linear(2, 1)))
    ['bias', 'weight']
    """
    if isinstance(checkpoint, nn.Module):
        return checkpoint.state_dict()
    if isinstance(checkpoint, Mapping):
        return dict(checkpoint)
    if is_pretrained_folder(checkpoint):
        return load_pretrained(checkpoint).state_dict()  # which has tied weights under both names
    source = open_checkpoint(checkpoint).source
    return {name: source.tensor(name) for name in source.names()}


def as_texts(data: object) -> Texts | None:
    """Return the texts that ``data`` holds, or None where it holds none.

    >>> as_texts(["good", "bad"])
    Texts(texts=('good', 'bad'), labels=None, classes=())
    >>> as_texts((["good", "bad"], [1, 0])).labels
    (1, 0)
    """
    if isinstance(data, Texts):
        return data
    if isinstance(data, str | Path):
        if not is_text_file(data):
            raise ValueError(f"data: {data} is no file of texts (.txt, .csv, .tsv, also .gz); wrap one text in a list")
        return read_texts(data)
    if isinstance(data, list) and data and all(isinstance(text, str) for text in data):
        return Texts(tuple(data))
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], list | tuple):
        texts, labels = data
        if texts and all(isinstance(text, str) for text in texts) and isinstance(labels, Iterable):
            return Texts(tuple(texts), tuple(int(label) for label in labels))
    return None


def predicts_next_token(model: nn.Module) -> bool:
    """Return whether a model of transformers is a causal language model, by the name of its class."""
    return type(model).__name__.endswith(("ForCausalLM", "LMHeadModel"))


def predicts_labels(model: nn.Module) -> bool:
    """Return whether a model of transformers classifies texts, by the name of its class."""
    return type(model).__name__.endswith("ForSequenceClassification")


def _auto_class(folder: Path) -> str:
    config = read_config(folder)
    if not config:
        raise ValueError(f"{folder} has no config.json, which says how to build the model: copy it beside the weights")
    listed = config.get("architectures")
    architecture = str(listed[0]) if isinstance(listed, list) and listed else ""
    return next((name for ending, name in _AUTO.items() if architecture.endswith(ending)), "AutoModel")


def _gguf_file(folder: Path) -> str | None:
    """Return the name of the GGUF file of a folder without other weights."""
    files = weight_files(folder)
    if not files or files[0].suffix.lower() != ".gguf":
        return None
    if len(files) > 1:
        raise ValueError(f"{folder} holds {len(files)} GGUF files: keep one of them in the folder")
    return files[0].name


def _options(gguf_file: str | None) -> dict[str, Any]:
    """Return the options of every call: no network, no code of the folder."""
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    return safe | ({"gguf_file": gguf_file} if gguf_file else {})


def _dtype_option(transformers: Any) -> str:
    """Return the name of the option for the type of the weights, which has changed in transformers 4.56.

    >>> from types import SimpleNamespace
    >>> _dtype_option(SimpleNamespace(__version__="4.46.3")), _dtype_option(SimpleNamespace(__version__="5.0.0.dev1"))
    ('torch_dtype', 'dtype')
    """
    major, minor = (int(part) for part in str(transformers.__version__).split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"


@contextmanager
def _without_bars(transformers: Any, quiet: bool) -> Iterator[None]:
    """Turn the progress bars of transformers off, which it draws into pipes too, and on again if they were on."""
    logging = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(io.StringIO()) if quiet else nullcontext():  # the bar of a GGUF file ignores the setting
            yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _transformers(folder: Path) -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ImportError(
            f'{folder} is built by transformers, which is not installed: pip install "gramian[hf]", or leave data out '
            "to measure the weights alone"
        ) from error
    return transformers


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
