"""State shared by all stages of one fit: time limit, workspace, progress, callbacks, checkpoint, worker pool.

A checkpoint stores finished rounds on disk, so that an interrupted fit continues from them. There is one file per round
and per fold (safetensors and JSON: see :mod:`gramian.files`), in a folder named after the fingerprint of everything the
rounds depend on: data, options, version. Another fit therefore never finds them.

Callbacks are scikit-learn's (1.9 and later): each round is a task that they are notified of, and one may ask to stop.
Older versions have no callbacks, and the estimators then have no ``set_callbacks``.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from gramian.core.clock import Clock, Pace, TimeLimitReached
from gramian.core.log_lines import line_logger
from gramian.core.pool import Pool, Serial, side_by_side
from gramian.core.progress import Tick, progress
from gramian.core.rows import Rows
from gramian.core.selection import RoundPredictions
from gramian.core.warn import warn
from gramian.files import ModelFileError, fingerprint, read, write
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training.rounds import Candidate, Step
from gramian.rfm.training.tuning import RoundParams
from gramian.solvers import Workspace
from gramian.tables.types import TableLike, TargetLike, WeightsLike

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A stand-in for scikit-learn's class of that name, which older versions do not have."""

    def _with_callbacks(method: Any) -> Any:
        return method


Method = TypeVar("Method", bound=Callable[..., object])


def with_callbacks(method: Method) -> Method:
    """Let callbacks observe a method, as scikit-learn's decorator of that name does; its type stays known."""
    decorated: Method = _with_callbacks(method)
    return decorated


__all__ = ["CallbackSupportMixin", "Checkpoint", "FitContext", "FitObserver", "SklearnCallbacks", "with_callbacks"]

log = logging.getLogger(__name__)

_SPLIT_END = 0.6
"""Share of the time limit after which splits that are running end: the rest is for the final model."""

Snapshot = Callable[[Candidate, Sequence[Step], Tensor | None], dict[str, object]]
"""The attributes of an estimator whose fit had ended with the last of these rounds, on some of the rows (None: all)."""


class FitObserver:
    """Is notified of the rounds of a fit; this one ignores them.

    ``in_order`` asks for one round after the other, instead of candidates side by side.
    """

    in_order = False

    def begin(self, steps: int, part: Int[Tensor, " p"] | None) -> None:
        """At most ``steps`` rounds follow, on the rows ``part`` or (None) on all rows."""

    def after_round(self, candidate: Candidate, steps: Sequence[Step]) -> bool:
        """The last of these rounds is finished; True asks to stop and to select among the finished rounds."""
        return False

    def after_split_round(self) -> None:
        """A round of a further split is finished."""

    def end(self) -> None:
        """The estimator is fitted."""


class SklearnCallbacks(FitObserver):
    """Notifies the callbacks of an estimator: a task "fit" whose subtasks are the rounds, in the order they are run.

    A round passes on the training data and the attributes of an estimator as if the fit had ended there. Rounds of
    further splits pass on nothing and are only counted. They may run in several threads, so notifications take a lock.
    """

    in_order = True

    def __init__(self, estimator: Any, X: TableLike, y: TargetLike, sample_weight: WeightsLike) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        self.snapshot: Snapshot | None = None
        self.lock = threading.Lock()
        self.task: Any = None

    def begin(self, steps: int, part: Int[Tensor, " p"] | None) -> None:
        """Open the task "fit" and its first subtask."""
        self.part = part
        self.ahead = steps
        self.root = self.estimator._init_callback_context(max_subtasks=steps)
        self.root.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self._open()

    def after_round(self, candidate: Candidate, steps: Sequence[Step]) -> bool:
        """Close the subtask of a round, with the estimator as of this round."""
        done, snapshot = list(steps), self.snapshot
        assert snapshot is not None, "the estimator provides snapshots before it trains"
        return self._close(**self.data, reconstruction_attributes=lambda: snapshot(candidate, done, self.part))

    def after_split_round(self) -> None:
        """Close the subtask of a round of a further split."""
        self._close()

    def end(self) -> None:
        """Close the task "fit", and a subtask that is left where there were fewer rounds than possible."""
        if self.task is not None:
            self.task.call_on_fit_task_end(estimator=self.estimator)
        self.root.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes=lambda: vars(self.estimator)
        )

    def _open(self) -> None:
        self.task = None
        if self.ahead:
            self.ahead -= 1
            self.task = self.root.subcontext(task_name="round").call_on_fit_task_begin(estimator=self.estimator)

    def _close(self, **passed: Any) -> bool:
        with self.lock:
            stop = self.task.call_on_fit_task_end(estimator=self.estimator, **passed)
            self._open()
        return bool(stop)


SplitResult = list[tuple[RoundPredictions, tuple[KernelMachine, ...]]]
"""The result of one split: for each run its predictions of the held-out rows and, for bagging, its machines."""


@dataclass(frozen=True)
class Checkpoint:
    """Stores finished work and finds it again; without a folder it does neither.

    >>> Checkpoint().steps("run-0", Rows(torch.zeros(1, 1), torch.zeros(1, 1)))
    ([], [])
    """

    folder: Path | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str], fit: object) -> Checkpoint:
        """Open the checkpoint of one fit inside the user's folder, which is created if it does not exist.

        Parameters
        ----------
        folder : path
        fit : value
            Everything the rounds depend on, as :func:`gramian.files.fingerprint` takes it.
        """
        if Path(folder).exists() and not Path(folder).is_dir():
            raise ValueError(f"checkpoint must be the path of a folder, got {folder!r}")
        own = Path(folder) / f"fit-{fingerprint(fit, 'checkpoint')[:16]}"
        try:
            own.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(error.errno, f"no checkpoint can be stored ({error.strerror})", str(folder)) from error
        return cls(own)

    def steps(self, run: str, data: Rows) -> tuple[list[Step], list[RoundParams]]:
        """Return the finished rounds of a run on these rows, from round 0 on, and the parameters of each."""
        steps: list[Step] = []
        path: list[RoundParams] = []
        while (found := self.recall(f"{run}-round-{len(steps)}")) is not None:
            record, machine, params = found
            steps.append((record, _with_rows(machine, data)))
            path.append(params)
        if steps:
            log.info("%s: rounds 0 to %d were finished before", run, len(steps) - 1)
        return steps, path

    def store_step(self, run: str, step: Step, params: RoundParams, data: Rows) -> None:
        """Store a round of a run on these rows, unless it is stored already."""
        if self.folder is not None:
            record, machine = step
            self.store(f"{run}-round-{record.index}", (record, _without_rows(machine, data), params))

    def split(self, number: int, data: Rows) -> SplitResult | None:
        """Return a finished split, or None."""
        found = self.recall(f"split-{number}")
        if found is None:
            return None
        return [(predictions, tuple(_with_rows(m, data) for m in machines)) for predictions, machines in found]

    def store_split(self, number: int, split: SplitResult, data: Rows) -> None:
        """Store a finished split, unless it is stored already."""
        if self.folder is not None:
            stripped = [
                (predictions, tuple(_without_rows(m, data) for m in machines)) for predictions, machines in split
            ]
            self.store(f"split-{number}", stripped)

    def close(self) -> None:
        """Delete the checkpoint of a complete fit."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)  # the fit is complete, whatever happens to the folder

    def recall(self, name: str) -> Any:
        """Return the value stored under a name, or None."""
        path = self._path(name)
        if path is None or not path.exists():
            return None
        try:
            return read(path)
        except ModelFileError as error:
            warn(f"a checkpoint cannot be used, and its work is repeated: {error}")
            path.unlink()
            return None

    def store(self, name: str, value: object) -> None:
        """Store a value under a name, unless one is stored already; a fit does not fail where the disk does."""
        path = self._path(name)
        if path is not None and not path.exists():
            try:
                write(value, path, "checkpoint")
            except OSError as error:
                warn(
                    f"the checkpoint of {name.replace('-', ' ')} is not saved ({error.strerror or error}: {path}): the "
                    "fit goes on, and would repeat this part after an interruption. Free some space, or choose another "
                    "folder as checkpoint"
                )

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}.gramian"


def _without_rows(machine: KernelMachine, data: Rows) -> KernelMachine:
    """Remove the training rows from a machine on all rows of the data, which a resumed fit has anyway.

    Their weights are removed, too, unless they are those of a fold.
    """
    X = machine.X
    if len(X) != len(data) or not torch.equal(X, data.X.to(X.dtype)):
        return machine
    w, own = machine.weights, data.weights
    same = w is None or (own is not None and torch.equal(w, own.to(w)))
    return KernelMachine(replace(machine.operator, X=X[:0]), machine.coef, None if same else w)


def _with_rows(machine: KernelMachine, data: Rows) -> KernelMachine:
    if machine.n or not len(machine.coef):
        return machine
    weights = data.weights if machine.weights is None else machine.weights
    return KernelMachine(replace(machine.operator, X=data.X.to(machine.X.dtype)), machine.coef, weights)


@dataclass
class FitContext:
    """Time limit, workspace, progress, callbacks, checkpoint and worker pool of one fit.

    ``interrupted`` is True once Ctrl-C or the time limit has ended a stage early, ``stopped`` once a callback has,
    ``splits_cancelled`` once the splits that are still running are to end. ``pace`` forecasts the time of solves.
    ``workers`` bounds the models that are fitted side by side.
    """

    clock: Clock = field(default_factory=Clock)
    workspace: Workspace = field(default_factory=Workspace)
    observer: FitObserver = field(default_factory=FitObserver)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    pool: Pool = field(default_factory=Serial)
    verbose: int = 0
    tick: Tick = field(default_factory=Tick)
    interrupted: bool = False
    stopped: bool = False
    splits_cancelled: bool = False
    pace: Pace = field(default_factory=Pace)
    workers: int | None = None
    lines: logging.Logger = field(default_factory=lambda: line_logger("gramian.fit"))

    def say(self, text: str, least: int = 1) -> None:
        """Log a line, with the seconds so far, if ``verbose`` is at least ``least`` and no bar shows the same."""
        if self.verbose >= least and (self.verbose > 1 or not self.tick.visible):
            self.lines.info("%s, %.0f s", text, self.clock.seconds)

    @contextmanager
    def steps(self, count: int, part: Int[Tensor, " p"] | None) -> Iterator[None]:
        """Show a progress bar of ``count`` steps and notify the observer that they begin."""
        with progress("fitting", count, self.verbose > 0) as self.tick:
            self.lines = line_logger("gramian.fit")
            self.observer.begin(count, part)
            yield

    @contextmanager
    def side_by_side(self) -> Iterator[Pool]:
        """Yield the pool of this process for many small pieces of work, each on one thread."""
        if self.observer.in_order or self.pool.remote:
            yield Serial()
        else:
            with side_by_side(self.pool, self.workers) as pool:
                yield pool

    def own_workspace(self) -> Workspace:
        """Return the memory for solvers of the calling thread."""
        return self.workspace if threading.current_thread() is threading.main_thread() else Workspace()

    def after_round(self, candidate: Candidate, steps: Sequence[Step]) -> bool:
        """Count a finished round; True asks to stop and to select among the finished rounds."""
        self.tick()
        stop = self.observer.after_round(candidate, steps)
        self.stopped = self.stopped or stop
        return stop

    def conclude(self, text: str) -> None:
        """Log the last line of a fit, or leave it behind where the bar was."""
        if self.verbose:
            self.say(text)
            if self.tick.visible and self.verbose == 1:
                self.tick.leave(f"{text}, {self.clock.seconds:.0f} s")

    def split_round(self) -> None:
        """Count a finished round of a split; splits end here once they are cancelled or most of the time is used."""
        if self.splits_cancelled:
            raise TimeLimitReached
        self.clock.check(_SPLIT_END)
        self.tick()
        self.observer.after_split_round()

    def close(self) -> None:
        """Delete the checkpoint, unless something is left to continue from it."""
        if not self.interrupted:
            self.checkpoint.close()
