"""Model files as the commands open them: what is wrong with one, and what to type instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gramian.cli.frames import check_exists

_TABLES = (".csv", ".tsv", ".tab", ".gz", ".parquet", ".pq")
_CHECKPOINTS = (".pt", ".pth", ".ckpt", ".bin")


def open_model(path: Path) -> Any:
    """The model in a file; of any other file, what it seems to be and where that goes."""
    from gramian import load  # here: help needs none of it
    from gramian.files import ModelFileError

    check_exists(path, "gramian fit writes models, and model.save")
    try:
        return load(path)
    except ModelFileError as error:
        suffix = path.suffix.lower()
        if suffix in _TABLES:
            hint = ". A table comes after the model: gramian predict MODEL DATA"
        elif suffix in _CHECKPOINTS or (suffix == ".safetensors" and "not one of gramian's" in str(error)):
            hint = f". Weights of a network are for: gramian inspect {path} --model package.module:factory --data DATA"
        else:
            raise
        raise ModelFileError(f"{error}{hint}") from error
