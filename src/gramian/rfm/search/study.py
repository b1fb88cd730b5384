"""Trials of a search on folds, as an optuna study that can be interrupted and continued."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import joblib
import numpy as np
from jaxtyping import Int
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from gramian.core.warn import warn
from gramian.rfm.estimator import BaseRFM
from gramian.rfm.search.space import FIRST_TRIALS, Params, Space, published_space
from gramian.solvers import Workspace
from gramian.tables.prepare import Prepared
from gramian.tables.types import TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

Scorer = Callable[[BaseRFM, TableLike, TargetLike], float]


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows that are read and encoded once for all trials, and the rows that are held out from them.

    ``train`` holds inputs, targets and weights (or None), ``held_out`` inputs and targets.
    """

    prepared: Prepared
    train: tuple[TableLike, TargetLike, WeightsLike]
    held_out: tuple[TableLike, TargetLike]
    scorer: Scorer

    @classmethod
    def of(
        cls,
        estimator: BaseRFM,
        table: tuple[TableLike, TargetLike, WeightsLike],
        train: Int[np.ndarray, " n"],
        held_out: Int[np.ndarray, " m"],
        scorer: Scorer,
    ) -> Fold:
        """Take rows by index from inputs, targets and weights (or None), and prepare those to train on."""
        X, y, weights = table
        part = None if weights is None else np.asarray(weights)[train]
        rows = _safe_indexing(X, train), _safe_indexing(y, train), part
        held = _safe_indexing(X, held_out), _safe_indexing(y, held_out)
        return cls(estimator.prepare(*rows), rows, held, scorer)

    def scores(self, estimator: BaseRFM, workspace: Workspace) -> Iterator[float]:
        """Yield the score on the held-out rows after each round."""
        for stage in estimator.stages(self.prepared, workspace):
            yield float(self.scorer(stage, *self.held_out))

    def score_of_fit(self, estimator: BaseRFM) -> float:
        """Return the score on the held-out rows of a complete fit, with its own selection."""
        return float(self.scorer(clone(estimator).fit(*self.train), *self.held_out))


def digest(folds: list[Fold]) -> str:
    """Return a text that identifies the rows of all folds."""
    return str(joblib.hash([[fold.prepared.identity, np.asarray(fold.held_out[1])] for fold in folds]))


@dataclass(frozen=True, eq=False)
class SearchStudy:
    """An optuna study together with the folds, the space and the estimator its trials are about."""

    study: Study
    estimator: BaseRFM
    folds: list[Fold]
    space: Space
    n_rounds: int

    def own_scores(self) -> list[float]:
        """Return the scores of the estimator with its own parameters on the folds; they are stored in the study."""
        if "own_scores" not in self.study.user_attrs:
            self.study.set_user_attr("own_scores", [fold.score_of_fit(self.estimator) for fold in self.folds])
        scores: list[float] = self.study.user_attrs["own_scores"]
        return scores

    def run(self, n_trials: int, timeout: float | None) -> None:
        """Run trials until the study has ``n_trials``; Ctrl-C ends them with a warning."""
        left = n_trials - len(self.finished_trials)
        if left <= 0:
            return
        workspace = Workspace()
        try:
            self.study.optimize(lambda trial: self._run_trial(trial, workspace), left, timeout)
        except KeyboardInterrupt:
            done = len(self.finished_trials)
            warn(f"interrupted: the best of {done} finished trials is used")

    def _run_trial(self, trial: Trial, workspace: Workspace) -> float:
        """Run the rounds of one trial on all folds; report the mean score after each, and return the best of them."""
        import optuna

        params = {**self.space(trial), "n_rounds": self.n_rounds, "select_round": "last"}
        estimator = clone(self.estimator).set_params(**params)
        rounds = [fold.scores(estimator, workspace) for fold in self.folds]
        latest = [float("nan")] * len(self.folds)
        means: list[float] = []
        for index in range(self.n_rounds + 1):
            # The rounds of a fold end early where its predictor is constant; its last score counts then.
            latest = [next(scores, last) for scores, last in zip(rounds, latest, strict=True)]
            means.append(float(np.mean(latest)))
            trial.report(means[-1], index)
            if index == np.argmax(means):
                trial.set_user_attr("n_rounds", index)
                trial.set_user_attr("scores", latest)
            if index < self.n_rounds and trial.should_prune():
                raise optuna.TrialPruned
        return max(means)

    @property
    def finished_trials(self) -> list[FrozenTrial]:
        """Trials that are complete, or were stopped because they were below the median."""
        from optuna.trial import TrialState

        return [trial for trial in self.study.trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]

    @property
    def best_trial(self) -> FrozenTrial | None:
        """The complete trial with the highest mean score; None where no trial is complete."""
        from optuna.trial import TrialState

        complete = any(trial.state == TrialState.COMPLETE for trial in self.study.trials)
        return self.study.best_trial if complete else None

    def params_of(self, trial: FrozenTrial) -> Params:
        """Return the parameters of a finished trial for ``set_params``, with its best number of rounds."""
        from optuna.trial import FixedTrial

        params = self.space(FixedTrial(trial.params))
        return {**params, "n_rounds": trial.user_attrs["n_rounds"], "select_round": "last"}

    def results(self) -> dict[str, object]:
        """Return one entry per finished trial in each of several columns, for ``pandas.DataFrame``."""
        from optuna.trial import TrialState

        trials = self.finished_trials
        seconds = [float("nan") if t.duration is None else t.duration.total_seconds() for t in trials]
        return {
            "params": [self.params_of(t) for t in trials],
            "mean_test_score": np.array([max(t.intermediate_values.values()) for t in trials]),
            "pruned": np.array([t.state == TrialState.PRUNED for t in trials]),
            "rounds_run": np.array([len(t.intermediate_values) for t in trials]),
            "seconds": np.array(seconds),
        }


def open_study(
    storage: str | Path | BaseStorage | None, name: str, about: Params, space: Space, prune: bool, seed: int
) -> Study:
    """Create a study, or continue the one in the storage; ``about`` must equal what it was created with."""
    import optuna
    from optuna.storages.journal import JournalFileBackend

    if isinstance(storage, Path) or (isinstance(storage, str) and "://" not in storage):
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(storage)))
    pruner = optuna.pruners.MedianPruner(n_warmup_steps=0) if prune else optuna.pruners.NopPruner()
    study = optuna.create_study(
        storage=storage, study_name=name, load_if_exists=True, direction="maximize", pruner=pruner
    )
    # The same seed would repeat the trials of a study that is continued.
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))
    known = study.user_attrs.get("about")
    if known is None:
        study.set_user_attr("about", about)
    elif known != about:
        other = ", ".join(key for key in about if known.get(key) != about[key])
        raise ValueError(f"the study {name!r} in this storage was made with other {other}: use another study_name")
    if not study.trials and space is published_space:
        for params in FIRST_TRIALS:
            study.enqueue_trial(params)
    return study


def check_installed() -> None:
    """Raise an ImportError that says how optuna is installed, unless it is."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise ImportError('the search needs optuna: pip install "gramian[search]"') from error


@contextmanager
def verbosity(verbose: bool) -> Iterator[None]:
    """Let optuna log each trial, or warnings only; its setting is restored afterwards."""
    import optuna

    before = optuna.logging.get_verbosity()
    if not verbose:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
