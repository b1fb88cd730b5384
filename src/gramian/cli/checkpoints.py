"""Checkpoints of ``gramian inspect``: those that the arguments name, and weights loaded into a network of the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from torch import Tensor, nn

from gramian.nets.checkpoints.opening import open_checkpoint
from gramian.nets.checkpoints.steps import find_checkpoints, is_pattern, is_run
from gramian.nets.checkpoints.torch_files import fit_weights

_HINT = """--model-args passes arguments to the factory, such as '{"width": 128}'"""


@dataclass(frozen=True)
class Chosen:
    """The checkpoints that the arguments name, in order; ``run`` if they are those of one training run."""

    paths: tuple[Path, ...]
    run: bool = False

    @property
    def name(self) -> str:
        """The checkpoints as they are named in the output."""
        if self.run:
            return f"{len(self.paths)} checkpoints from {self.paths[0]} to {self.paths[-1]}"
        return " and ".join(str(path) for path in self.paths)


def choose_checkpoints(given: Sequence[str]) -> Chosen:
    """Return the checkpoints of the arguments: one or two, or a run by a pattern, a folder of checkpoints, or 3 paths.

    >>> choose_checkpoints(["early.pt", "late.pt"])
    Chosen(paths=(PosixPath('early.pt'), PosixPath('late.pt')), run=False)
    """
    paths: list[Path] = []
    run = len(given) > 2
    for word in given:
        if is_pattern(word) or is_run(word):
            paths += [one.path for one in find_checkpoints(word)]
            run = True
        else:
            paths.append(Path(word))
    return Chosen(tuple(one.path for one in find_checkpoints(paths)) if run else tuple(paths), run)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read the weights of a file or folder; no code in it is run. Standard error tells the key they are under.

    ``.safetensors`` (also shards with an index) is read by safetensors, other files by
    ``torch.load(weights_only=True)``.
    """
    opened = open_checkpoint(path)
    for note in opened.notes:
        click.echo(f"{path}: {note}", err=True)
    return {name: opened.source.tensor(name) for name in opened.source.names()}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], path: Path) -> None:
    """Load weights into a model, also under the prefixes that DataParallel, torch.compile and Lightning add.

    Raises a ValueError with the missing and unexpected names, or with the shapes that differ.
    """
    note = fit_weights(model, weights, path, hint=_HINT)
    if note:
        click.echo(f"{path}: {note}", err=True)
