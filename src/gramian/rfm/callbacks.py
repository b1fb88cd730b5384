"""scikit-learn's callbacks (1.9 and later): each round is a task they are told of, and one may ask to stop.

Older versions have no callbacks; the estimators then have no ``set_callbacks``. This is the one place that looks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from gramian.rfm.rounds import Problem, Step

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands where scikit-learn has its own from 1.9 on."""

    def with_callbacks(method: Any) -> Any:
        """Leave a method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "Silent", "Telling", "Watch", "watch_for", "with_callbacks"]


class Silent:
    """Looks on while the rounds run, and tells nobody."""

    def begin(self, steps: int, part: Tensor | None) -> None:
        """At most so many rounds are ahead, on the rows ``part`` or (None) on all."""

    def after_round(self, problem: Problem, steps: Sequence[Step]) -> bool:
        """The last of these rounds is done; True asks to try nothing more and choose among what is there."""
        return False

    def after_fold_round(self) -> None:
        """A round was repeated without a fold."""

    def end(self) -> None:
        """The estimator is fitted."""


class Telling:
    """Tells the callbacks of an estimator: a task "fit" whose subtasks are the rounds, in the order they are run.

    A round hands over the training data and an estimator as if the fit had ended there. Rounds on folds hand over
    nothing: they are only counted. Folds may run side by side, so one at a time may speak.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self.estimator = estimator
        self.data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        self.lock = threading.Lock()
        self.task: Any = None

    def begin(self, steps: int, part: Tensor | None) -> None:
        """See :meth:`Silent.begin`."""
        self.part = part
        self.ahead = steps
        self.root = self.estimator._init_callback_context(max_subtasks=steps)
        self.root.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self._open()

    def after_round(self, problem: Problem, steps: Sequence[Step]) -> bool:
        """See :meth:`Silent.after_round`."""
        done = list(steps)
        return self._close(**self.data, reconstruction_attributes=lambda: self._snapshot(problem, done))

    def after_fold_round(self) -> None:
        """See :meth:`Silent.after_fold_round`."""
        self._close()

    def end(self) -> None:
        """See :meth:`Silent.end`."""
        if self.task is not None:  # fewer rounds than there might have been
            self.task.call_on_fit_task_end(estimator=self.estimator)
        self.root.call_on_fit_task_end(
            estimator=self.estimator, **self.data, reconstruction_attributes=lambda: vars(self.estimator)
        )

    def _open(self) -> None:
        self.task = None
        if self.ahead:
            self.ahead -= 1
            self.task = self.root.subcontext(task_name="round").call_on_fit_task_begin(estimator=self.estimator)

    def _close(self, **told: Any) -> bool:
        with self.lock:
            stop = self.task.call_on_fit_task_end(estimator=self.estimator, **told)
            self._open()
        return bool(stop)

    def _snapshot(self, problem: Problem, steps: Sequence[Step]) -> dict[str, Any]:
        return vars(self.estimator._as_of(problem, steps, self.part))


Watch = Silent | Telling


def watch_for(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Watch:
    """Who looks on: nobody, unless the estimator has callbacks."""
    if getattr(estimator, "_skl_callbacks", None):
        return Telling(estimator, X, y, sample_weight)
    return Silent()
