"""One cell of a benchmark: fit one method to the training rows of one split, score it on the test rows, record it."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score

from gramian import __version__
from gramian.bench import paper
from gramian.bench.methods import Method
from gramian.bench.tasks import CLASSIFICATION, SUITES, Folder, Task

Record = dict[str, Any]
_LEAST_PROBABILITY = 1e-15
_LONGEST_MESSAGE = 300


@dataclass(frozen=True)
class Cell:
    """What to run. Two cells with the same :meth:`key` would give the same record."""

    suite: str
    set: str
    split: int
    method: str
    """Name, perhaps with ``@tag``."""
    seed: int = 0

    def key(self, method: Method) -> str:
        """A hash of everything that decides the result: also the package's version and the revisions of our settings.

        >>> from gramian.bench.methods import METHODS
        >>> cell = Cell("sklearn", "iris", 0, "SVM")
        >>> cell.key(METHODS["SVM"]) == Cell("sklearn", "iris", 1, "SVM").key(METHODS["SVM"])
        False
        """
        spec = asdict(self) | {
            "version": method.version,
            "revision": method.revision,
            "suite_revision": SUITES[self.suite].revision,
        }
        return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def run_cell(cell: Cell, method: Method, folder: Folder = None) -> Record:
    """Fit, predict and score; whatever the method raises is recorded and scored as a failure.

    Returns
    -------
    dict
        The cell, its key, sizes, ``score`` (accuracy or R²), ``log_loss`` (classifiers with probabilities), seconds to
        fit and to predict, ``error`` (None, or what went wrong), versions.
    """
    task = SUITES[cell.suite].task(cell.set, cell.split, folder)
    begin = time.perf_counter()
    try:
        result = _paper(task, method) if method.paper else _fit_and_score(task, method, cell.seed)
    except Exception as error:  # any failure of any method is a result
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        result = failed(task, message[:_LONGEST_MESSAGE], time.perf_counter() - begin)
    return describe(cell, method, task) | result


def describe(cell: Cell, method: Method, task: Task) -> Record:
    """The part of a record that is known before anything has run."""
    return {
        "key": cell.key(method),
        **asdict(cell),
        "kind": task.kind,
        "n_train": len(task.split.train),
        "n_test": len(task.split.test),
        "columns": int(task.data.X.shape[1]),
        "classes": len(np.unique(task.data.y)) if task.kind == CLASSIFICATION else None,
        "versions": {
            "gramian": __version__,
            method.package: method.version,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "revision": method.revision,
    }


def failed(task: Task, error: str, seconds: float) -> Record:
    """The result of a method that raised, crashed or took too long: the score of the commonest class, or R² = 0."""
    return {
        "score": task.fallback,
        "log_loss": None,
        "fit_seconds": round(seconds, 4),
        "predict_seconds": None,
        "error": error,
    }


def log_loss(classes: NDArray[Any], P: NDArray[Any], y: NDArray[Any]) -> float:
    """``−mean log p(y)``; p is at least 1e-15, also for labels that the training rows did not hold.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])), 4)
    0.4904
    """
    at = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    p = np.where(classes[at] == y, P[np.arange(len(y)), at], 0.0)
    return float(-np.log(np.clip(p, _LEAST_PROBABILITY, 1.0)).mean())


def _fit_and_score(task: Task, method: Method, seed: int) -> Record:
    (X, y), (X_out, y_out) = task.train, task.test
    begin = time.perf_counter()
    classes = None
    if task.kind == CLASSIFICATION:
        classes, y = np.unique(y, return_inverse=True)
    model = method.make(task.kind, X, seed)
    model.fit(X, y)
    fitted = time.perf_counter()
    out = np.asarray(model.predict(X_out)).reshape(-1)
    done = time.perf_counter()
    if not np.isfinite(out.astype(np.float64)).all():
        raise ValueError("the predictions hold NaN or infinity")
    loss = None
    if classes is None:
        score = float(r2_score(y_out, out))
    else:
        score = float(np.mean(classes[out.astype(np.intp)] == y_out))
        if hasattr(model, "predict_proba"):
            loss = log_loss(classes, np.asarray(model.predict_proba(X_out), dtype=np.float64), y_out)
    return {
        "score": score,
        "log_loss": loss,
        "fit_seconds": round(fitted - begin, 4),
        "predict_seconds": round(done - fitted, 4),
        "error": None,
    }


def _paper(task: Task, method: Method) -> Record:
    begin = time.perf_counter()
    outcome = paper.evaluate(task.data, method.name)
    return {
        "score": outcome.score,
        "log_loss": None,
        "fit_seconds": round(time.perf_counter() - begin, 4),
        "predict_seconds": None,
        "error": None,
        "paper": outcome.as_dict(),
    }
