"""Loggers of a monitor's measurements: TensorBoard, Weights & Biases and MLflow.

Each is a function ``log(metrics, step)`` for ``Monitor(log=...)``. The trackers are extras: they are imported when a
logger is created, never before.
"""

from __future__ import annotations

import importlib
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar, runtime_checkable

MLFLOW_BATCH = 1000  # metrics that MLflow takes in one call

T = TypeVar("T", bound="Tracker")


@runtime_checkable
class ScalarWriter(Protocol):
    """The methods of TensorBoard's ``SummaryWriter`` that are used."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> object: ...

    def flush(self) -> object: ...

    def close(self) -> object: ...


class Tracker(ABC):
    """Write the chosen measurements of each step to a tracker; close it after the training, or use it in ``with``.

    Parameters
    ----------
    keys
        Patterns of the measurements to write, such as ``("loss", "*/fact_residual", "encoder.*")``; all by default. A
        pattern names the whole key, ``*`` stands for any text.
    prefix
        Written before each name, such as ``"gramian/"``.

    >>> class Memory(Tracker):
    ...     def write(self, metrics, step):
    ...         self.last = step, metrics
    ...
    ...     def close(self):
    ...         pass
    >>> log = Memory(keys=["loss"], prefix="probe/")
    >>> log({"loss": 1.0, "0/nfa_cos": 0.5}, 100)
    >>> log.last
    (100, {'probe/loss': 1.0})
    """

    def __init__(self, *, keys: Iterable[str] = ("*",), prefix: str = "") -> None:
        if isinstance(keys, str):
            raise ValueError(f'keys must be a list of patterns, got one string; write keys=["{keys}"]')
        self.keys, self.prefix = tuple(keys), prefix

    def __call__(self, metrics: Mapping[str, float], step: int) -> None:
        """Write the measurements of one step."""
        chosen = {
            f"{self.prefix}{key}": float(value)
            for key, value in metrics.items()
            if any(fnmatchcase(key, pattern) for pattern in self.keys)
        }
        if metrics and not chosen:
            raise ValueError(f"no measurement matches keys={list(self.keys)}; there are {sorted(metrics)}")
        self.write(chosen, step)

    @abstractmethod
    def write(self, metrics: dict[str, float], step: int) -> None:
        """Write all of these numbers."""

    @abstractmethod
    def close(self) -> None:
        """Finish a run or a file that this logger has opened; one that it was given stays open."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TensorBoardLog(Tracker):
    """Write measurements to TensorBoard, one scalar per key: ``Monitor(..., log=TensorBoardLog("runs/first"))``.

    Needs the extra ``gramian[tensorboard]``.

    Parameters
    ----------
    target
        The folder of the run, or a ``SummaryWriter`` that is open already.
    keys, prefix
        The measurements to write, and a text before their names; see :class:`Tracker`.
    """

    def __init__(self, target: str | Path | ScalarWriter, *, keys: Iterable[str] = ("*",), prefix: str = "") -> None:
        super().__init__(keys=keys, prefix=prefix)
        self.own = isinstance(target, str | Path)
        self.writer: ScalarWriter
        if isinstance(target, str | Path):
            self.writer = _imported("torch.utils.tensorboard", "TensorBoardLog", "tensorboard").SummaryWriter(
                str(target)
            )
        else:
            self.writer = target

    def write(self, metrics: dict[str, float], step: int) -> None:
        for key, value in metrics.items():
            self.writer.add_scalar(key, value, global_step=step)
        self.writer.flush()

    def close(self) -> None:
        if self.own:
            self.writer.close()


class WandbLog(Tracker):
    """Write measurements to Weights & Biases: ``Monitor(..., log=WandbLog(project="features"))``.

    Needs the extra ``gramian[wandb]``. The measurements have an axis of their own, ``monitor_step``: the tracker's own
    step counts calls of ``log``, and drops what arrives late.

    Parameters
    ----------
    run
        A run that is open already; by default ``wandb.run`` if there is one, or else a new run.
    keys, prefix
        The measurements to write, and a text before their names; see :class:`Tracker`.
    **init
        Arguments of ``wandb.init`` for a new run, such as ``project=`` and ``mode="offline"``.
    """

    def __init__(self, run: Any = None, *, keys: Iterable[str] = ("*",), prefix: str = "", **init: Any) -> None:
        super().__init__(keys=keys, prefix=prefix)
        wandb = _imported("wandb", "WandbLog", "wandb")
        found = run if run is not None else wandb.run
        if found is not None and init:
            raise ValueError(f"there is a run already, so that {sorted(init)} would have no effect: pass run= only")
        self.own = found is None
        self.run = wandb.init(**init) if self.own else found
        self._axis = f"{prefix}monitor_step"
        self._defined = {self._axis}
        self.run.define_metric(self._axis)

    def write(self, metrics: dict[str, float], step: int) -> None:
        for key in metrics.keys() - self._defined:
            self.run.define_metric(key, step_metric=self._axis)
        self._defined |= metrics.keys()
        self.run.log({**metrics, self._axis: step})

    def close(self) -> None:
        if self.own:
            self.run.finish()


class MlflowLog(Tracker):
    """Write measurements to MLflow: ``Monitor(..., log=MlflowLog(experiment="features"))``.

    Needs the extra ``gramian[mlflow]``. MLflow allows letters, digits and ``_-. :/`` in a name; other characters of a
    layer's name are written as ``_``.

    Parameters
    ----------
    run_id
        A run to write to; by default the active run if there is one, or else a new run.
    experiment, run_name
        Names of the experiment (created if there is none) and of a new run.
    tracking_uri
        The server or folder; by default the one MLflow is set to.
    keys, prefix
        The measurements to write, and a text before their names; see :class:`Tracker`.
    """

    def __init__(
        self,
        run_id: str | None = None,
        *,
        experiment: str = "Default",
        run_name: str | None = None,
        tracking_uri: str | None = None,
        keys: Iterable[str] = ("*",),
        prefix: str = "",
    ) -> None:
        super().__init__(keys=keys, prefix=prefix)
        mlflow = _imported("mlflow", "MlflowLog", "mlflow")
        # A client of its own leaves the global run and address of mlflow as they are.
        self.client: Any = mlflow.MlflowClient(tracking_uri)
        self._entry: Any = mlflow.entities.Metric
        active = mlflow.active_run() if tracking_uri is None else None
        if run_id is None and active is not None:
            run_id = active.info.run_id
        self.own = run_id is None
        self.run_id = run_id if run_id is not None else self._new_run(experiment, run_name)

    def _new_run(self, experiment: str, run_name: str | None) -> str:
        found = self.client.get_experiment_by_name(experiment)
        place = self.client.create_experiment(experiment) if found is None else found.experiment_id
        return str(self.client.create_run(place, run_name=run_name).info.run_id)

    def write(self, metrics: dict[str, float], step: int) -> None:
        now = int(1000 * time.time())
        entries = [self._entry(re.sub(r"[^\w\-. :/]", "_", key), value, now, step) for key, value in metrics.items()]
        for start in range(0, len(entries), MLFLOW_BATCH):
            self.client.log_batch(self.run_id, metrics=entries[start : start + MLFLOW_BATCH])

    def close(self) -> None:
        if self.own:
            self.client.set_terminated(self.run_id)


def _imported(module: str, name: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'{name} needs {extra}: pip install "gramian[{extra}]"') from error
