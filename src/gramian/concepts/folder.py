"""A folder of hidden states: one memory-mapped file per layer, with checksums, which an interruption leaves usable.

``plan.json`` describes the collection and never changes; ``batches.jsonl`` has a line with a checksum for each finished
batch; ``complete.json`` has the checksums of the plan and of each file, and exists only once all batches are there.
Nothing in the folder is code, and arrays are read as plain numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from gramian.core.atomic import append_bytes, atomic_write

FORMAT = 1
_PLAN, _BATCHES, _COMPLETE = "plan.json", "batches.jsonl", "complete.json"
_SAMPLED = 64
"""Numbers of each parameter that enter the fingerprint of a model."""


@dataclass(frozen=True, eq=False)
class TokenSelection:
    """The tokens that become rows: ``text (n,)`` and ``token (n,)`` of each row, rows of one text together."""

    text: Int[np.ndarray, " n"]
    token: Int[np.ndarray, " n"]
    count: Int[np.ndarray, " texts"]

    @classmethod
    def of(cls, chosen: Sequence[Sequence[int]]) -> TokenSelection:
        """Make a selection from the positions in each text.

        >>> TokenSelection.of([[0, 2], [], [1]]).text.tolist()
        [0, 0, 2]
        """
        count = np.array([len(tokens) for tokens in chosen], dtype=np.intp)
        token = np.array([at for tokens in chosen for at in tokens], dtype=np.intp)
        return cls(np.repeat(np.arange(len(chosen)), count), token, count)

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self.text)

    def rows(self, text: int) -> Int[np.ndarray, " m"]:
        """Return the numbers of the rows of one text."""
        start = int(np.searchsorted(self.text, text))
        return np.arange(start, start + self.count[text])

    def tokens(self, text: int) -> Int[np.ndarray, " m"]:
        """Return the token positions of one text."""
        return self.token[self.rows(text)]


def collection_key(
    model: nn.Module,
    encoded: Sequence[Int[Tensor, " _t"]],
    selection: TokenSelection,
    layers: Sequence[str],
    dtype: torch.dtype,
    batches: Sequence[Sequence[int]],
) -> dict[str, object]:
    """Describe a collection by everything its rows depend on; two collections with equal keys have equal rows."""
    texts = hashlib.sha256()
    for ids in encoded:
        texts.update(np.ascontiguousarray(ids.numpy(), dtype="<i8").tobytes() + b"|")
    weights = hashlib.sha256()
    for name, parameter in model.named_parameters():
        weights.update(f"{name}{tuple(parameter.shape)}".encode())
        flat = parameter.detach().flatten()
        step = max(1, len(flat) // _SAMPLED)
        weights.update(flat[::step][:_SAMPLED].float().cpu().numpy().tobytes())
    return {
        "format": FORMAT,
        "texts": texts.hexdigest(),
        "model": weights.hexdigest(),
        "layers": list(layers),
        "dtype": str(dtype).removeprefix("torch."),
        "text": selection.text.tolist(),
        "token": selection.token.tolist(),
        "count": selection.count.tolist(),
        "batches": [len(batch) for batch in batches],
    }


class ActivationFolder:
    """One folder: its plan, the arrays of its layers once their width is known, and the batches that are finished."""

    def __init__(self, path: Path, plan: Mapping[str, object]) -> None:
        self.path, self.plan = path, plan
        self.arrays: dict[str, np.ndarray] | None = None
        self.done = 0

    @property
    def layers(self) -> list[str]:
        """Names of the layers, in the order of their files."""
        layers = self.plan["layers"]
        assert isinstance(layers, list)
        return layers

    @property
    def selection(self) -> TokenSelection:
        """The tokens that become rows."""
        text, token, count = (np.array(self.plan[name], dtype=np.intp) for name in ("text", "token", "count"))
        return TokenSelection(text, token, count)

    @classmethod
    def prepared(cls, path: str | os.PathLike[str], key: Mapping[str, object]) -> ActivationFolder:
        """Create a folder for a collection, or open the one that an interrupted call has left."""
        folder = cls(Path(path), key)
        if not (folder.path / _PLAN).exists():
            if folder.path.exists() and any(folder.path.iterdir()):
                raise ValueError(f"folder: {folder.path} has other files in it: choose a new folder")
            atomic_write(folder.path / _PLAN, json.dumps(key))
            return folder
        plan = _read_json(folder.path / _PLAN)
        different = sorted(name for name in key if plan.get(name) != key[name])
        if different:
            raise ValueError(
                f"folder: {folder.path} holds another collection (different: {', '.join(different)}): choose a new "
                "folder, or delete this one"
            )
        folder._resume()
        return folder

    @classmethod
    def existing(cls, path: str | os.PathLike[str]) -> ActivationFolder:
        """Open a complete folder."""
        if not (Path(path) / _PLAN).is_file():
            raise ValueError(f"folder: {path} has no {_PLAN}, so it is no folder of activations")
        folder = cls(Path(path), _read_json(Path(path) / _PLAN))
        if folder.plan.get("format") != FORMAT:
            raise ValueError(f"folder: {path} has format {folder.plan.get('format')}, and format {FORMAT} can be read")
        if not (folder.path / _COMPLETE).exists():
            raise ValueError(f"folder: {path} is incomplete: call collect with the same arguments to finish it")
        folder._open_complete()
        return folder

    def create(self, shapes: Mapping[str, tuple[int, int]], selection: TokenSelection) -> dict[str, np.ndarray]:
        """Create the files of the layers, filled with zeros."""
        dtype = np.dtype(str(self.plan["dtype"]))
        self.arrays = {
            name: np.memmap(self._file(index), dtype=dtype, mode="w+", shape=shapes[name])
            for index, name in enumerate(self.layers)
        }
        return self.arrays

    def record(self, number: int, rows: Int[np.ndarray, " m"]) -> None:
        """Write a finished batch to the disk, and then the line that says so."""
        arrays = self.arrays or {}
        for array in arrays.values():
            assert isinstance(array, np.memmap)
            array.flush()
        width = {name: int(array.shape[1]) for name, array in arrays.items()}
        line = {"batch": number, "rows": rows.tolist(), "width": width, "sha256": _digest(arrays, rows)}
        append_bytes(self.path / _BATCHES, (json.dumps(line) + "\n").encode())
        self.done = number + 1

    def finished(self) -> ActivationFolder:
        """Write the checksums of the complete files, and reopen them for reading."""
        if not (self.path / _COMPLETE).exists():
            assert self.arrays is not None
            files = {
                name: {"width": int(array.shape[1]), "sha256": _file_digest(self._file(index))}
                for index, (name, array) in enumerate(self.arrays.items())
            }
            record = {"plan": _file_digest(self.path / _PLAN), "files": files}
            atomic_write(self.path / _COMPLETE, json.dumps(record))
        self._open_complete()
        return self

    def _resume(self) -> None:
        if (self.path / _COMPLETE).exists():
            self._open_complete()
            batches = self.plan["batches"]
            assert isinstance(batches, list)
            self.done = len(batches)
            return
        lines = self._finished_batches()
        width = {name: value for line in lines for name, value in line["width"].items()}
        if width:
            self.arrays = {name: self._map(index, width[name], "r+") for index, name in enumerate(self.layers)}
        for number, line in enumerate(lines):
            rows = np.array(line["rows"], dtype=np.intp)
            if line["batch"] != number or _digest(self.arrays or {}, rows) != line["sha256"]:
                raise self._damaged(f"batch {number} has a wrong checksum")
        self.done = len(lines)

    def _finished_batches(self) -> list[dict]:
        path = self.path / _BATCHES
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").split("\n")
        if lines[-1]:  # a line that was being written when the process was killed
            atomic_write(path, "".join(line + "\n" for line in lines[:-1]))
        try:
            return [json.loads(line) for line in lines[:-1]]
        except ValueError as error:
            raise self._damaged(f"{_BATCHES} cannot be read") from error

    def _open_complete(self) -> None:
        record = _read_json(self.path / _COMPLETE)
        if record.get("plan") != _file_digest(self.path / _PLAN) or list(record.get("files", {})) != self.layers:
            raise self._damaged(f"{_COMPLETE} belongs to another {_PLAN}")
        files = record["files"]
        for index, name in enumerate(self.layers):
            if not self._file(index).is_file() or _file_digest(self._file(index)) != files[name]["sha256"]:
                raise self._damaged(f"the checksum of {self._file(index).name} is wrong")
        self.arrays = {name: self._map(index, files[name]["width"], "r") for index, name in enumerate(self.layers)}

    def _map(self, index: int, width: int, mode: str) -> np.ndarray:
        dtype, shape = np.dtype(str(self.plan["dtype"])), (self.selection.total, int(width))
        path = self._file(index)
        if not path.is_file() or path.stat().st_size != shape[0] * shape[1] * dtype.itemsize:
            raise self._damaged(f"{path.name} is missing or has a wrong size")
        array: np.ndarray = np.memmap(path, dtype=dtype, mode=mode, shape=shape)  # type: ignore[call-overload]
        return array

    def _file(self, index: int) -> Path:
        return self.path / f"layer_{index:04d}.bin"

    def _damaged(self, reason: str) -> ValueError:
        return ValueError(f"folder: {self.path} is damaged ({reason}): delete it and collect again")


def _digest(arrays: Mapping[str, np.ndarray], rows: Int[np.ndarray, " m"]) -> str:
    sha = hashlib.sha256()
    for array in arrays.values():
        sha.update(np.ascontiguousarray(array[rows]).tobytes())
    return sha.hexdigest()


def _file_digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path: Path) -> dict:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"folder: {path} is damaged: delete the folder and collect again") from error
    if not isinstance(found, dict):
        raise ValueError(f"folder: {path} is damaged: delete the folder and collect again")
    return found
