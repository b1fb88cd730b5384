"""Fit one method to the training rows of a task and score it on the test rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import r2_score, roc_auc_score

from gramian.bench import uci_protocol
from gramian.bench.methods import Method
from gramian.bench.tasks import CLASSIFICATION, BenchTask
from gramian.records import Record

_MIN_PROBABILITY = 1e-15
_MAX_MESSAGE = 300


def score(task: BenchTask, method: Method, seed: int = 0) -> Record:
    """Fit, predict and score; an exception of the method is recorded and scored as a failure.

    Returns
    -------
    dict
        ``score`` (accuracy or R²), ``log_loss`` and ``auc`` (classifiers with probabilities), ``rmse`` (regression),
        wall and processor seconds to fit, wall seconds to predict, and ``error`` (None, or the exception).
    """
    begin = time.perf_counter()
    try:
        return _by_protocol(task, method) if method.paper else _fit_and_score(task, method, seed)
    except Exception as error:  # any failure of any method is a result
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return failed(task, message[:_MAX_MESSAGE], time.perf_counter() - begin)


def failed(task: BenchTask, error: str, seconds: float) -> Record:
    """Score a method that raised, crashed or took too long: as the most frequent class, or R² = 0.

    Its log loss is that of the shares of the classes in the training rows, its root mean squared error that of their
    mean, its AUC one half.
    """
    (_, y), (_, y_out) = task.train, task.test
    loss = auc = rmse = None
    if task.kind == CLASSIFICATION:
        loss, auc = prior_log_loss(task), 0.5
    else:
        rmse = float(np.sqrt(np.mean((y_out - y.mean()) ** 2)))
    return {
        "score": task.fallback,
        "log_loss": loss,
        "auc": auc,
        "rmse": rmse,
        "fit_seconds": round(seconds, 4),
        "fit_processor_seconds": None,
        "predict_seconds": None,
        "error": error,
    }


def log_loss(classes: NDArray[Any], P: NDArray[Any], y: NDArray[Any]) -> float:
    """Compute ``−mean log p(y)`` with p ≥ 1e-15, also for labels that are absent from the training rows.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])), 4)
    0.4904
    """
    at = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    p = np.where(classes[at] == y, P[np.arange(len(y)), at], 0.0)
    return float(-np.log(np.clip(p, _MIN_PROBABILITY, 1.0)).mean())


def prior_log_loss(task: BenchTask) -> float:
    """Compute the log loss, on the test rows, of the shares of the classes in the training rows."""
    (_, y), (_, y_out) = task.train, task.test
    classes, counts = np.unique(y, return_counts=True)
    return log_loss(classes, np.tile(counts / len(y), (len(y_out), 1)), y_out)


def area_under_curve(P: NDArray[Any], y: NDArray[np.intp]) -> float | None:
    """Compute the area under the ROC curve; with several classes the mean over pairs of classes (Hand and Till, 2001).

    None where a class is absent from the test rows or from the training rows, so that there is no such curve.

    >>> area_under_curve(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), np.array([0, 0, 1]))
    1.0
    """
    if len(np.unique(y)) != P.shape[1]:
        return None
    if P.shape[1] == 2:
        return float(roc_auc_score(y, P[:, 1]))
    return float(roc_auc_score(y, P / P.sum(axis=1, keepdims=True), multi_class="ovo"))


def _fit_and_score(task: BenchTask, method: Method, seed: int) -> Record:
    (X, y), (X_out, y_out) = task.train, task.test
    begin, processor = time.perf_counter(), time.process_time()
    classes = None
    if task.kind == CLASSIFICATION:
        classes, y = np.unique(y, return_inverse=True)
    model = method.make(task.kind, X, seed)
    model.fit(X, y)
    fitted, processor = time.perf_counter(), time.process_time() - processor
    out = np.asarray(model.predict(X_out)).reshape(-1)
    done = time.perf_counter()
    if not np.isfinite(out.astype(np.float64)).all():
        raise ValueError("the predictions contain NaN or infinity")
    loss = auc = rmse = None
    if classes is None:
        value = float(r2_score(y_out, out))
        rmse = float(np.sqrt(np.mean((y_out - out) ** 2)))
    else:
        value = float(np.mean(classes[out.astype(np.intp)] == y_out))
        if hasattr(model, "predict_proba"):
            P = np.asarray(model.predict_proba(X_out), dtype=np.float64)
            known = np.isin(y_out, classes)
            loss = log_loss(classes, P, y_out)
            auc = area_under_curve(P[known], np.searchsorted(classes, y_out[known]))
    return {
        "score": value,
        "log_loss": loss,
        "auc": auc,
        "rmse": rmse,
        "fit_seconds": round(fitted - begin, 4),
        "fit_processor_seconds": round(processor, 4),
        "predict_seconds": round(done - fitted, 4),
        "error": None,
    }


def _by_protocol(task: BenchTask, method: Method) -> Record:
    begin = time.perf_counter()
    outcome = uci_protocol.evaluate(task.data, method.name)
    return {
        "score": outcome.score,
        "log_loss": None,
        "auc": None,
        "rmse": None,
        "fit_seconds": round(time.perf_counter() - begin, 4),
        "fit_processor_seconds": None,
        "predict_seconds": None,
        "error": None,
        "paper": outcome.as_dict(),
    }
