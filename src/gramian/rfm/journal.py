"""Finished rounds on disk, so that a fit that was killed goes on where it was.

One file per round and per fold (safetensors and JSON: see :mod:`gramian.files`), in a folder named after the
fingerprint of everything the rounds depend on: data, options, version. Another fit therefore never finds them.
"""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from gramian.core.rows import Rows
from gramian.files import ModelFileError, fingerprint, read, write
from gramian.rfm.choice import Choice
from gramian.rfm.machine import KernelMachine
from gramian.rfm.rounds import Step
from gramian.rfm.selection import HeldOut

log = logging.getLogger(__name__)

Fold = list[tuple[HeldOut, tuple[KernelMachine, ...]]]
"""What one fold leaves behind: for each run its predictions of the rows held out, and perhaps its machines."""


@dataclass(frozen=True)
class Journal:
    """Writes what is finished and finds it again; without a folder it does neither.

    >>> Journal().steps("run-0", Rows(torch.zeros(1, 1), torch.zeros(1, 1)))
    ([], [])
    """

    folder: Path | None = None

    @classmethod
    def open(cls, folder: Any, fit: Any) -> Journal:
        """The journal of one fit inside the user's folder, which is made where it is not there.

        Parameters
        ----------
        folder : path or None
        fit : value
            Everything the rounds depend on, as :func:`gramian.files.fingerprint` takes it.
        """
        if folder is None:
            return cls()
        if not isinstance(folder, str | os.PathLike) or (Path(folder).exists() and not Path(folder).is_dir()):
            raise ValueError(f"checkpoint must be the path of a folder, got {folder!r}")
        own = Path(folder) / f"fit-{fingerprint(fit, 'checkpoint')[:16]}"
        own.mkdir(parents=True, exist_ok=True)
        return cls(own)

    def steps(self, run: str, data: Rows) -> tuple[list[Step], list[Choice]]:
        """The finished rounds of a run on these rows, from round 0 on, and what was chosen in each."""
        steps: list[Step] = []
        choices: list[Choice] = []
        while (found := self.recall(f"{run}-round-{len(steps)}")) is not None:
            record, machine, choice = found
            steps.append((record, _with_rows(machine, data)))
            choices.append(choice)
        if steps:
            log.info("%s: rounds 0 to %d were finished before", run, len(steps) - 1)
        return steps, choices

    def keep(self, run: str, step: Step, choice: Choice, data: Rows) -> None:
        """Write a round of a run on these rows, unless it is there already."""
        if self.folder is not None:
            record, machine = step
            self.remember(f"{run}-round-{record.index}", (record, _without_rows(machine, data), choice))

    def fold(self, number: int, data: Rows) -> Fold | None:
        """A finished fold, or None."""
        found = self.recall(f"fold-{number}")
        return None if found is None else [(held, tuple(_with_rows(m, data) for m in bag)) for held, bag in found]

    def keep_fold(self, number: int, fold: Fold, data: Rows) -> None:
        """Write a finished fold, unless it is there already."""
        if self.folder is not None:
            self.remember(f"fold-{number}", [(held, tuple(_without_rows(m, data) for m in bag)) for held, bag in fold])

    def close(self) -> None:
        """The fit is complete: nothing of it is needed any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder)

    def recall(self, name: str) -> Any:
        """Something that was finished under this name, or None."""
        path = self._path(name)
        if path is None or not path.exists():
            return None
        try:
            return read(path)
        except ModelFileError as error:
            warnings.warn(f"a checkpoint cannot be used, and its work is done again: {error}", stacklevel=2)
            path.unlink()
            return None

    def remember(self, name: str, value: Any) -> None:
        """Write something under a name, unless it is there already."""
        path = self._path(name)
        if path is not None and not path.exists():
            write(value, path, "checkpoint")

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}.gramian"


def _without_rows(machine: KernelMachine, data: Rows) -> KernelMachine:
    """The machine as a checkpoint stores it: where its rows are those of the data, an empty X stands for them."""
    if len(machine.X) != len(data) or not torch.equal(machine.X, data.X.to(machine.X.dtype)):
        return machine
    return KernelMachine(replace(machine.operator, X=machine.X[:0]), machine.coef)


def _with_rows(machine: KernelMachine, data: Rows) -> KernelMachine:
    """The machine of a checkpoint, with the rows and weights of the data where it was stored without them."""
    if machine.n:
        return machine
    operator = replace(machine.operator, X=data.X.to(machine.X.dtype))
    return KernelMachine(operator, machine.coef, data.weights)
