"""Data and loss of ``gramian inspect``: samples from a file or from the user's code, as the network takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from gramian.cli.user_code import call, import_object
from gramian.core.paths import check_exists
from gramian.datasets.sample_files import SampleOptions, Samples, read_samples
from gramian.nets.checkpoints.texts import TEXT_SUFFIXES, Texts, is_text_file, read_texts
from gramian.nets.prepare import infer_loss, input_tensor, model_dtype, target_tensor, try_outputs

_LOSSES = ("mse", "cross_entropy", "model")
_NAMED_CLASSES = 8
_TRIED = 2
"""Samples that the network is tried on before the work."""


@dataclass(frozen=True, eq=False)
class InspectData:
    """Data and loss for ``gramian.inspect``, with the rows in the file, the names of classes, and remarks to print."""

    data: Any
    loss: str | Callable[..., Any] | None
    loss_name: str | None
    rows: int | None = None
    classes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def read_inspect_data(model: nn.Module, source: str, options: SampleOptions, loss: str) -> InspectData:
    """Read ``--data`` and choose the loss.

    ``source`` is a file, a folder of pictures, or ``package.module:function``, whose result is passed on unchanged.
    With the loss ``"auto"`` the targets decide, see :func:`gramian.nets.prepare.infer_loss`.
    """
    path = Path(source)
    if ":" in source and not path.exists():
        found = import_object(source, "--data")
        data = call(found, source, "--data") if callable(found) else found
        chosen = None if loss in ("auto", "none") else as_loss(loss)
        return InspectData(data, chosen, None if chosen is None else loss)
    if not path.is_dir():
        check_exists(path, "--data takes .npz, .npy, a table, a folder of pictures, or package.module:function")
    return _fit_to_model(model, read_samples(path, options), loss)


def read_text_data(source: str, options: SampleOptions, column: str | None) -> tuple[Texts, int] | InspectData:
    """Read ``--data`` for a folder of Hugging Face: texts and their number in the file, or batches of the user."""
    path = Path(source)
    if ":" in source and not path.exists():
        found = import_object(source, "--data")
        return InspectData(call(found, source, "--data") if callable(found) else found, None, None)
    if not is_text_file(path):
        raise ValueError(
            f"--data {source}: a folder of Hugging Face takes texts ({', '.join(TEXT_SUFFIXES)}) or package.module:"
            "function; for other data name the factory of the network with --model"
        )
    texts = read_texts(path, column=column, target=options.target)
    drawn = sorted(int(i) for i in options.draw(len(texts.texts)))
    labels = None if texts.labels is None else tuple(texts.labels[i] for i in drawn)
    return Texts(tuple(texts.texts[i] for i in drawn), labels, texts.classes), len(texts.texts)


def _fit_to_model(model: nn.Module, samples: Samples, loss: str) -> InspectData:
    """Convert inputs and targets to the precision and shape that the model and its loss take."""
    X = input_tensor(model, samples.X)
    outputs = try_outputs(model, X[:_TRIED])
    if samples.y is None:
        if loss not in ("auto", "none", "model"):
            raise ValueError(f"--loss {loss} needs targets: name them with --target")
        own = "model" if loss == "model" else None
        return InspectData(X, own, own, samples.total)
    y = torch.from_numpy(np.ascontiguousarray(samples.y))
    name = infer_loss(y, outputs) if loss == "auto" else loss
    remarks = [f"loss {name}, inferred from the targets (--loss changes it)"] if loss == "auto" else []
    if samples.classes:
        named = ", ".join(f"{i} {label}" for i, label in enumerate(samples.classes[:_NAMED_CLASSES]))
        more = ", …" if len(samples.classes) > _NAMED_CLASSES else ""
        remarks.append(f"classes in alphabetical order: {named}{more}")
    chosen = None if name == "none" else as_loss(name)
    data = (X, target_tensor(y, outputs, name, model_dtype(model)))
    loss_name = None if chosen is None else name
    return InspectData(data, chosen, loss_name, samples.total, samples.classes, tuple(remarks))


def as_loss(name: str) -> str | Callable[..., Any]:
    """Return the loss of a name that the library knows, or the function or criterion MODULE:FUNCTION of the user."""
    if name in _LOSSES:
        return name
    if ":" not in name:
        raise ValueError(f"--loss {name}: use one of auto, none, {', '.join(_LOSSES)}, or MODULE:FUNCTION")
    found: Callable[..., Any] = import_object(name, "--loss")
    return found() if isinstance(found, type) and issubclass(found, nn.Module) else found
