"""Model files and rows for them: what the commands open, and errors that say what to type instead."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gramian.core.paths import check_exists

if TYPE_CHECKING:
    import pandas as pd

_TABLES = (".csv", ".tsv", ".tab", ".gz", ".parquet", ".pq")
_CHECKPOINTS = (".pt", ".pth", ".ckpt", ".bin")


def open_model(path: Path) -> Any:
    """Open the model in a file; the error for any other file says which command takes it."""
    check_exists(path, "gramian fit writes models, and model.save")
    from gramian import load  # here: help and a mistyped name need none of it
    from gramian.files import ModelFileError

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


def rows_for(model: Any, frame: pd.DataFrame, path: Path) -> Any:
    """Return the columns that a model was fitted to, in its order; other columns, such as the target, are left out."""
    from gramian.tables.frame_files import check_columns  # here: help needs none of it

    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        # A column that the encoder dropped (an identifier, a constant) makes no difference and may be absent.
        encoder = getattr(model, "encoder_", None)
        used = names if encoder is None else [names[j] for j in sorted(set(encoder.groups_.tolist()))]
        check_columns(used, frame, path)
        _check_numbers(encoder, frame, path)
        return frame.reindex(columns=list(names))
    if frame.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{path} has {frame.shape[1]} columns, and the model was fitted to {model.n_features_in_} without names"
        )
    return frame.to_numpy()


def _check_numbers(encoder: Any, frame: pd.DataFrame, path: Path) -> None:
    """Raise a ValueError with the option to use if a column holds text where the model was fitted to numbers."""
    from gramian.tables.plain_texts import is_gap
    from gramian.tables.target_column import text_among_numbers

    for record in [] if encoder is None else encoder.records_:
        words = text_among_numbers(frame[record.name])[0] if record.kind == "number" and record.name in frame else []
        words = [word for word in words if not is_gap(word)]
        if words:
            options = " ".join(f"--missing {shlex.quote(word)}" for word in words[:5])
            raise ValueError(
                f"{path}: {record.name!r} holds {', '.join(map(repr, words[:5]))} where the model was fitted to "
                f"numbers; if that means an empty cell: {options}"
            )
