"""inspect_checkpoints: every column of every layer over the checkpoints of a training run."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from gramian.core.progress import progress
from gramian.display import Column, Entry, Renderable, Section, Table
from gramian.files import read, write
from gramian.nets.batches import can_repeat
from gramian.nets.checkpoints.pretrained import as_texts, load_pretrained, model_and_data, state_of
from gramian.nets.checkpoints.report import SHOWN_WEIGHTS, WEIGHT_COLUMNS
from gramian.nets.checkpoints.steps import RunCheckpoint, find_checkpoints
from gramian.nets.checkpoints.torch_files import fit_weights
from gramian.nets.checkpoints.weights import inspect_weights
from gramian.nets.collect import Outputs
from gramian.nets.inspection import inspect
from gramian.nets.losses import LossLike
from gramian.nets.metrics import columns
from gramian.nets.options import InspectOptions
from gramian.nets.report import FeatureReport
from gramian.nets.table import SHOWN, LayerColumn

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, float | int | str]
ModelFactory = Callable[[], nn.Module]


@dataclass(frozen=True, eq=False)
class Trajectory(Renderable):
    """Every column of every layer at each checkpoint of a training run.

    ``rows`` has one dict per checkpoint and layer. Printing shows the first and the last value of the main columns;
    :meth:`series` is one column of one layer over the steps, and :meth:`to_pandas` has all of them.
    :func:`gramian.report.write_report` writes a page with a chart per column.

    >>> import torch
    >>> from gramian.nets import Trajectory
    >>> rows = [{"step": s, "checkpoint": f"step-{s}", "layer": "0", "norm": s / 2} for s in (1, 2)]
    >>> Trajectory((1, 2), ("step-1", "step-2"), rows, kind="weights").series("0", "norm")
    [0.5, 1.0]
    """

    steps: Sequence[int]
    checkpoints: Sequence[str]
    rows: Sequence[Row]
    kind: str
    """``"features"`` where data was given, ``"weights"`` otherwise."""

    @property
    def layers(self) -> list[str]:
        """Names of the layers, in the order of the first checkpoint."""
        return list(dict.fromkeys(str(entry["layer"]) for entry in self.rows))

    @property
    def columns(self) -> list[str]:
        """The columns of numbers in which some layer has a value, in the order of :meth:`describe`."""
        known = [name for name in self.describe() if name not in ("layer", "kind", "shape", "dtype")]
        return [name for name in known if any(not math.isnan(_number(entry, name)) for entry in self.rows)]

    def series(self, layer: str, column: str) -> list[float]:
        """Return one column of a layer at every step; NaN where it was not measured."""
        if layer not in self.layers:
            raise ValueError(f"layer {layer!r} was not measured; there are {self.layers[:8]}")
        if column not in self.describe():
            raise ValueError(f"there is no column {column!r}; there are {', '.join(self.columns)}")
        found = {entry["step"]: _number(entry, column) for entry in self.rows if entry["layer"] == layer}
        return [found.get(step, math.nan) for step in self.steps]

    def describe(self) -> dict[str, str]:
        """The meaning of every column."""
        return dict(WEIGHT_COLUMNS) if self.kind == "weights" else columns()

    def shown(self) -> dict[str, LayerColumn]:
        """The main columns that have a value, with their headings and number formats."""
        main = SHOWN_WEIGHTS if self.kind == "weights" else SHOWN
        constant = ("random_rank", "agop_error")
        return {name: about for name, about in main.items() if name in self.columns and name not in constant}

    def to_pandas(self) -> pd.DataFrame:
        """All columns as a DataFrame indexed by layer and step (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas (rows has the same numbers)") from error
        return pd.DataFrame(list(self.rows)).set_index(["layer", "step"]).sort_index(kind="stable")

    def save(self, path: str | Path) -> None:
        """Write the trajectory to one file, which :meth:`load` reads without running any code."""
        value = {"steps": tuple(self.steps), "checkpoints": tuple(self.checkpoints), "kind": self.kind}
        write(value | {"rows": [dict(entry) for entry in self.rows]}, path, name="trajectory")

    @classmethod
    def load(cls, path: str | Path) -> Trajectory:
        """Read a trajectory that :meth:`save` wrote."""
        found = read(path, device="cpu")
        if not isinstance(found, dict) or set(found) != {"steps", "checkpoints", "kind", "rows"}:
            raise ValueError(f"{path} holds no trajectory: Trajectory.save writes one")
        return cls(**found)

    def headline(self) -> str:
        """One line about the run: checkpoints, steps and layers."""
        ends = f"step {self.steps[0]:,} to {self.steps[-1]:,}" if len(self.steps) > 1 else f"step {self.steps[0]:,}"
        return f"{len(self.steps)} checkpoints, {ends} · {len(self.layers)} layers"

    def sections(self) -> list[Section]:
        note = "each cell: the first → the last checkpoint at which it was measured"
        return [Section(self.headline(), self.table(), note)]

    def table(self) -> Table:
        """Return the table of the first and the last value of the main columns of every layer."""
        shown, meaning = self.shown(), self.describe()
        heads = [Column("layer", "left", hint=meaning["layer"])]
        heads += [Column(about.heading, group=about.group, hint=meaning[name]) for name, about in shown.items()]
        lines: list[list[Entry]] = []
        for layer in self.layers:
            ends = {name: _ends(self.series(layer, name)) for name in shown}
            cells = [f"{shown[name].form(a)} → {shown[name].form(b)}" for name, (a, b) in ends.items()]
            lines.append([layer, *cells])
        return Table(heads, lines)

    def __repr__(self) -> str:
        return f"Trajectory({len(self.steps)} checkpoints, {len(self.layers)} layers)"


def inspect_checkpoints(
    checkpoints: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    data: object = None,
    loss: LossLike | None = None,
    *,
    model: nn.Module | ModelFactory | None = None,
    layers: str | Sequence[str] | None = None,
    outputs: Outputs = "all",
    weight_decay: float | None = None,
    max_samples: int | None = None,
    batch_size: int = 256,
    seed: int = 0,
    options: InspectOptions | None = None,
) -> Trajectory:
    """Measure every checkpoint of a training run, as one trajectory per column and layer.

    The first checkpoint is the initial one of all others: with data it adds the centred NFA, and without data what has
    changed since.

    Parameters
    ----------
    checkpoints
        A folder that holds ``step-*`` or ``checkpoint-*``, a pattern such as ``"run/step-*"``, or paths.
    data, loss
        As :func:`gramian.nets.inspect` takes them; without data the weights alone are measured. Data is read once per
        checkpoint, so it must not be an iterator.
    model
        The network of the checkpoints, or a function that builds it; with data and without a model every checkpoint
        must be a folder of Hugging Face. It is copied and not changed.
    layers, outputs, weight_decay, max_samples, batch_size, seed, options
        As :func:`gramian.nets.inspect` takes them.

    Returns
    -------
    Trajectory

    Examples
    --------
    >>> import tempfile, torch
    >>> folder = Path(tempfile.mkdtemp())
    >>> for step in (0, 100):
    ...     torch.save({"a.weight": torch.eye(3) * (1 + step)}, folder / f"step-{step}.pt")
    >>> run = inspect_checkpoints(folder)
    >>> run.steps, run.series("a", "weight_change")
    ((0, 100), [nan, 100.0])
    """
    found = find_checkpoints(checkpoints)
    if data is None:
        if model is not None or loss is not None or weight_decay is not None:
            raise ValueError("model, loss and weight_decay need data: pass data, or leave them out")
        return _trajectory(found, lambda one: _weight_rows(one, found[0], layers), "weights")
    if not can_repeat(data):
        raise ValueError("data is an iterator, which can be read once only: pass a list of batches or a DataLoader")
    if model is None:
        texts = as_texts(data)
        data = data if texts is None else texts.first(max_samples)
    arguments = _Arguments(layers, outputs, weight_decay, max_samples, batch_size, seed, options)
    if model is None:
        network, batches, its_loss = model_and_data(found[0].path, data, loss, batch_size=batch_size)
        first = found[0].path
        return measure_run(
            found,
            lambda path: network if path == first else load_pretrained(path),
            lambda built, start: arguments.inspect(built, batches, its_loss, start),
        )
    return measure_run(
        found,
        lambda path: _filled(model, path),
        lambda built, start: arguments.inspect(built, data, loss, start),
    )


@dataclass(frozen=True)
class _Arguments:
    """Arguments of inspect that are the same for every checkpoint."""

    layers: str | Sequence[str] | None
    outputs: Outputs
    weight_decay: float | None
    max_samples: int | None
    batch_size: int
    seed: int
    options: InspectOptions | None

    def inspect(
        self, model: nn.Module, data: object, loss: LossLike | None, initial: Mapping[str, Tensor] | None
    ) -> FeatureReport:
        return inspect(
            model,
            data,
            loss,
            layers=self.layers,
            outputs=self.outputs,
            weight_decay=self.weight_decay,
            initial=initial,
            max_samples=self.max_samples,
            batch_size=self.batch_size,
            seed=self.seed,
            options=self.options,
        )


def measure_run(
    found: Sequence[RunCheckpoint],
    build: Callable[[Path], nn.Module],
    measure: Callable[[nn.Module, Mapping[str, Tensor] | None], FeatureReport],
) -> Trajectory:
    """Build the network of every checkpoint and measure it, with the weights of the first as the initial ones.

    ``measure(model, initial)`` returns a report; ``initial`` is None for the first checkpoint.
    """
    start: dict[str, Tensor] = {}

    def rows(one: RunCheckpoint) -> list[Row]:
        network = build(one.path)
        report = measure(network, start or None)
        if not start:
            start.update({key: value.detach().clone() for key, value in network.state_dict().items()})
        return [dict(row) for row in report.loaded_rows()]

    return _trajectory(found, rows, "features")


def _trajectory(found: Sequence[RunCheckpoint], measure: Callable[[RunCheckpoint], list[Row]], kind: str) -> Trajectory:
    rows: list[dict[str, Any]] = []
    with progress("checkpoints", len(found), show=True) as tick:
        for one in found:
            rows += [{"step": one.step, "checkpoint": one.name, **entry} for entry in measure(one)]
            tick()
    return Trajectory(tuple(one.step for one in found), tuple(one.name for one in found), rows, kind)


def _weight_rows(one: RunCheckpoint, first: RunCheckpoint, layers: str | Sequence[str] | None) -> list[Row]:
    return list(inspect_weights(one.path, initial=None if one is first else first.path, layers=layers).rows)


def _filled(model: nn.Module | ModelFactory, path: Path) -> nn.Module:
    """Return a copy of the model with the weights of a checkpoint."""
    made = copy.deepcopy(model) if isinstance(model, nn.Module) else model()
    if not isinstance(made, nn.Module):
        raise ValueError(f"model must be a module or a function that returns one, got {type(made).__name__}")
    fit_weights(made, state_of(path), path)
    return made


def _number(entry: Row, name: str) -> float:
    value = entry.get(name, math.nan)
    return float(value) if isinstance(value, int | float) else math.nan


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the first and the last value that were measured."""
    known = [value for value in values if not math.isnan(value)]
    return (known[0], known[-1]) if known else (math.nan, math.nan)
