"""The cells of a benchmark: one method on one split of one data set."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from gramian import __version__
from gramian.bench.methods import Method, find_method
from gramian.bench.scoring import failed, prior_log_loss, score
from gramian.bench.tasks import CLASSIFICATION, SUITES, BenchTask, Folder
from gramian.records import Record, WorkCell, hash_key

TIME_LIMIT = 600.0
"""Default limit of one cell, in seconds."""
_KEY_DIGITS = 16


@dataclass(frozen=True)
class BenchCell(WorkCell):
    """One method on one split of one data set.

    The record has ``key``, ``suite``, ``set``, ``split``, ``method``, ``seed``, the sizes of the task, ``versions``,
    ``revision`` and the entries of :func:`gramian.bench.scoring.score`.

    Attributes
    ----------
    suite, set : str
    split : int
    method : str
        Name of the method, optionally with ``@tag``.
    learner : Method
        The method itself.
    seed : int
    folder : path or None
        Folder of the data; by default the one that GRAMIAN_DATA names.
    """

    suite: str
    set: str
    split: int
    method: str
    learner: Method
    seed: int = 0
    folder: Folder = None

    @property
    def key(self) -> str:
        """Hash of everything that decides the result, with the package's version and the revisions of our settings.

        >>> a, b = cells("sklearn", ["SVM"], ["iris"], splits=2)
        >>> a.key == b.key
        False
        """
        identity = self._identity() | {
            "version": self.learner.version,
            "revision": self.learner.revision,
            "suite_revision": SUITES[self.suite].revision,
        }
        return hash_key(identity, _KEY_DIGITS)

    def head(self) -> Record:
        """Return the part of the record that is known before the data is read."""
        return {"key": self.key} | self._identity()

    def task(self) -> Callable[[], Record]:
        """Return the fit as a picklable function."""
        # Methods made by nested functions cannot be pickled; a registered one is found by its name in the worker.
        learner = None if _registered(self.method) is self.learner else self.learner
        return _Fit(self.suite, self.set, self.split, self.method, learner, self.seed, self.folder)

    def failure(self, error: str, seconds: float) -> Record:
        """Return the rest of the record of a method that crashed or exceeded the time limit."""
        task = SUITES[self.suite].task(self.set, self.split, self.folder)
        return _description(self.learner, task) | failed(task, error, seconds)

    def levels(self) -> tuple[str, ...]:
        """Return the groups of similar cells: the method, then the data set."""
        return self.method, self.set

    def seconds(self, record: Record) -> float:
        """Return the time to fit and predict."""
        return float(record["fit_seconds"] + (record["predict_seconds"] or 0.0))

    def summary(self, record: Record) -> str:
        """Describe the result in one line, for the log."""
        error = f" ({record['error']})" if record["error"] else ""
        return f"{self.method} {self.set}/{self.split}: {record['score']:.4f} in {record['fit_seconds']} s{error}"

    def _identity(self) -> Record:
        return {
            "suite": self.suite,
            "set": self.set,
            "split": self.split,
            "method": self.method,
            "seed": self.seed,
        }


def cells(
    suite: str,
    methods: Sequence[str],
    sets: Sequence[str],
    splits: int | None = None,
    seed: int = 0,
    *,
    folder: Folder = None,
    find: Callable[[str], Method] = find_method,
) -> list[BenchCell]:
    """Return all cells of a suite, one method after the other.

    Parameters
    ----------
    suite : str
    methods, sets : sequence of str
    splits : int, optional
        Number of splits of each data set; the suite's own number by default.
    seed : int
        Seed of the methods.
    folder : path, optional
        Folder of the data; by default the one that GRAMIAN_DATA names.
    find : function
        Returns the method of a name.

    >>> [(cell.set, cell.split) for cell in cells("sklearn", ["SVM"], ["iris"], splits=2)]
    [('iris', 0), ('iris', 1)]
    """
    count = SUITES[suite].n_splits if splits is None else splits
    return [
        BenchCell(suite, set, split, name, find(name), seed, folder)
        for name in methods
        for set in sets
        for split in range(count)
    ]


@dataclass(frozen=True)
class _Fit:
    """The work of a cell; ``learner`` is None for a registered method, which is found by its name."""

    suite: str
    set: str
    split: int
    method: str
    learner: Method | None
    seed: int
    folder: Folder

    def __call__(self) -> Record:
        learner = find_method(self.method) if self.learner is None else self.learner
        task = SUITES[self.suite].task(self.set, self.split, self.folder)
        return _description(learner, task) | score(task, learner, self.seed)


def _description(method: Method, task: BenchTask) -> Record:
    return {
        "kind": task.kind,
        "n_train": len(task.split.train),
        "n_test": len(task.split.test),
        "columns": int(task.data.X.shape[1]),
        "classes": len(np.unique(task.data.y)) if task.kind == CLASSIFICATION else None,
        "prior_log_loss": prior_log_loss(task) if task.kind == CLASSIFICATION else None,
        "versions": {
            "gramian": __version__,
            method.package: method.version,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "revision": method.revision,
    }


def _registered(name: str) -> Method | None:
    with suppress(ValueError):
        return find_method(name)
    return None
