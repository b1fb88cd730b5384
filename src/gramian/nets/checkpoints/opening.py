"""Opening a checkpoint for reading: a file, a folder with one file or with shards, a state dict or a module."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from gramian.core.paths import check_exists
from gramian.nets.checkpoints.sources import GgufSource, SafetensorsSource, StateDictSource, WeightSource
from gramian.nets.checkpoints.torch_files import read_torch_file

CheckpointLike = str | os.PathLike[str] | Mapping[str, Tensor] | nn.Module
"""A file or folder with weights, a state dict, or a module."""
SUFFIXES = (".safetensors", ".gguf", ".pt", ".pth", ".ckpt", ".bin")
"""Suffixes of files that hold weights."""
_TORCH_SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
_NOT_WEIGHTS = ("optimizer", "scheduler", "training_args", "rng_state", "scaler", "trainer_state")
"""Beginnings of the names of files beside the weights in the folder of a training run."""


@dataclass(frozen=True)
class OpenCheckpoint:
    """The tensors of a checkpoint, its config where the folder has one, and notes about how it was read."""

    name: str
    source: WeightSource
    config: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def open_checkpoint(checkpoint: CheckpointLike) -> OpenCheckpoint:
    """Open weights for reading one tensor at a time; see :data:`CheckpointLike`.

    A folder is one as Hugging Face writes it: ``*.safetensors`` (also shards with ``*.index.json``),
    ``pytorch_model.bin`` or ``*.gguf``, and ``config.json`` beside it. Files of torch are read with
    ``weights_only=True``; no code of a checkpoint is run.

    >>> open_checkpoint(nn.Linear(2, 1)).source.names()
    ['weight', 'bias']
    """
    if isinstance(checkpoint, nn.Module):
        return OpenCheckpoint(type(checkpoint).__name__, StateDictSource(checkpoint.state_dict()), {})
    if isinstance(checkpoint, Mapping):
        return OpenCheckpoint("weights", StateDictSource(checkpoint), {})
    path = Path(checkpoint)
    if path.is_dir():
        return _open_folder(path)
    check_exists(path, "a checkpoint is a file of weights or a folder of Hugging Face")
    source, note = _open_files([path], None)
    return OpenCheckpoint(path.name, source, read_config(path.parent), (note,) if note else ())


def read_config(folder: Path) -> dict[str, Any]:
    """Return the config of a folder, or an empty dict where it has none."""
    path = folder / "config.json"
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not JSON ({error}): copy it again") from error
    return config if isinstance(config, dict) else {}


def weight_files(folder: Path) -> list[Path]:
    """Return the files of a folder that hold its weights, or an empty list.

    A folder may hold the same weights in several formats; one is chosen, safetensors before torch before GGUF.
    """
    found = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES and path.is_file()]
    found = [path for path in found if not path.name.startswith(_NOT_WEIGHTS)]
    for suffixes in ((".safetensors",), _TORCH_SUFFIXES, (".gguf",)):
        chosen = [path for path in found if path.suffix.lower() in suffixes]
        if chosen:
            return chosen
    return []


def _open_folder(folder: Path) -> OpenCheckpoint:
    files = weight_files(folder)
    index = _index(folder, files)
    if not files and index is None:
        raise ValueError(
            f"{folder} holds no weights (*.safetensors, pytorch_model.bin, *.pt, *.gguf): name the folder of one "
            "checkpoint, or a folder of checkpoints with names such as step-100"
        )
    only = None if index is None else _shards(folder, index)
    source, note = _open_files(sorted(set(only.values())) if only is not None else files, only)
    return OpenCheckpoint(folder.resolve().name, source, read_config(folder), (note,) if note else ())


def _index(folder: Path, files: list[Path]) -> Path | None:
    """Return the index of the shards, unless the weights are also there as one whole file."""
    kind = files[0].suffix if files else ""
    found = sorted(folder.glob(f"*{kind}.index.json"))
    if not found:
        return None
    if len(found) > 1:
        usual = [path for path in found if path.name.startswith(("model.", "pytorch_model."))]
        if len(usual) != 1:
            raise ValueError(f"{folder} has several indices, {', '.join(path.name for path in found)}: keep one")
        found = usual
    return found[0]


def _shards(folder: Path, index: Path) -> dict[str, Path]:
    try:
        listed = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        names = {str(name): str(file) for name, file in listed.items()}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index} is not an index of shards ({error!r}): copy it again") from error
    for file in set(names.values()):
        if Path(file).name != file:
            raise ValueError(f"{index} names {file!r}, which is outside the folder: the index is damaged")
    absent = sorted({file for file in names.values() if not (folder / file).is_file()})
    if absent:
        raise ValueError(f"{folder} lacks {len(absent)} of its shards, such as {absent[0]}: copy them too")
    return {name: folder / file for name, file in names.items()}


def _open_files(files: list[Path], only: Mapping[str, Path] | None) -> tuple[WeightSource, str]:
    suffix = files[0].suffix.lower()
    if suffix == ".safetensors":
        return SafetensorsSource(files, only), ""
    if suffix == ".gguf":
        if len(files) > 1:
            raise ValueError(f"{files[0].parent} holds {len(files)} GGUF files: name one of them")
        return GgufSource(files[0]), ""
    if len(files) > 1 and only is None:
        listed = ", ".join(path.name for path in files[:4])
        raise ValueError(f"{files[0].parent} holds several checkpoints ({listed}): name one of them")
    weights: dict[str, Tensor] = {}
    note = ""
    for path in files:
        part, note = read_torch_file(path, mmap=True)
        weights |= part
    return StateDictSource(weights), note
