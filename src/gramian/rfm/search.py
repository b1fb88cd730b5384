"""Tuning for those who want more: a search over kernels, bandwidths, ridges and updates, with optuna (an extra).

Every trial is one kernel with one ridge. Its rounds run side by side on all folds; after each of them the mean score on
held-out rows is known, and a trial that falls behind the median of the others is given up. The number of rounds is read
off, not searched.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian.rfm.base import BaseRFM, Ready, seed_of
from gramian.rfm.space import FIRST, published_space
from gramian.solvers import Workspace

__all__ = ["RFMSearch", "published_space"]


class _Fold:
    """Rows that were read and encoded once for all trials, and the rows held out from them."""

    def __init__(self, model: BaseRFM, X: Any, y: Any, weights: Any, train: Any, out: Any, scorer: Any) -> None:
        self.model = model
        part = None if weights is None else np.asarray(weights)[train]
        self.train = _safe_indexing(X, train), _safe_indexing(y, train), part
        self.ready: Ready = model._ready(*self.train)
        self.out = _safe_indexing(X, out), _safe_indexing(y, out)
        self.scorer = scorer

    def scores(self, params: dict[str, Any], workspace: Workspace) -> Iterator[float]:
        """The score on the held-out rows after each round."""
        self.model.set_params(**params)
        for stage in self.model._stages(self.ready, workspace):
            yield float(self.scorer(stage, *self.out))

    def score_as_it_is(self, estimator: BaseRFM) -> float:
        """The score of an estimator that chooses for itself."""
        return float(self.scorer(clone(estimator).fit(*self.train), *self.out))


def _delegated(name: str) -> Any:
    def method(self: RFMSearch, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__doc__ = f"``best_estimator_.{name}(X)``."
    return available_if(lambda self: hasattr(self.estimator, name))(method)


class RFMSearch(MetaEstimatorMixin, BaseEstimator):
    """Search for the parameters of an :class:`RFMRegressor` or :class:`RFMClassifier` that predict folds best.

    The estimator as it is takes part too, and stays unless the best trial beats it by more than a standard error of the
    difference between them over the folds: the best of many is a little lucky. Ctrl-C ends the search, and the best
    finished trial is kept.

    Parameters
    ----------
    estimator : RFMRegressor or RFMClassifier
        Its other parameters (``standardize``, ``dtype``, …) hold for every trial.
    n_trials : int, default=50
        Trials in all: a study that was interrupted at 30 goes on for 20.
    timeout : float, optional
        Seconds after which no new trial begins.
    n_rounds : int, default=5
        Rounds of a trial that is not given up; the best of them counts.
    cv : int, splitter or iterable, default=5
    scoring : str or callable, optional
        As in scikit-learn; the estimator's own score by default.
    space : callable, default=published_space
        From an optuna trial to parameters of the estimator.
    storage : str, Path or optuna storage, optional
        A file (``"study.log"``) or a database (``"sqlite:///study.db"``) that keeps the trials.
    study_name : str, default="gramian"
        Studies in one storage.
    prune : bool, default=True
        Give trials up that are below the median of the others after the same round.
    random_state : int, default=0
        For the order of trials and, through the estimator's own, for all else.
    verbose : int, default=0
        1 lets optuna tell of each trial.

    Attributes
    ----------
    best_params_ : dict
        For ``estimator.set_params``; empty where no trial was clearly better than the estimator as it is.
    best_score_ : float
        Mean over the folds; ``own_score_`` is the estimator's as it is.
    best_estimator_ : fitted on all rows.
    cv_results_ : dict of arrays, one entry per finished trial, for ``pandas.DataFrame``.
    study_ : optuna.Study

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> from gramian.rfm.search import RFMSearch
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> search = RFMSearch(RFMRegressor(preset="fast"), n_trials=3, n_rounds=1, cv=2).fit(X, X[:, 0] ** 2)
    >>> search.best_score_ >= search.own_score_
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_trials: Any = 50,
        timeout: Any = None,
        n_rounds: Any = 5,
        cv: Any = 5,
        scoring: Any = None,
        space: Any = published_space,
        storage: Any = None,
        study_name: Any = "gramian",
        prune: Any = True,
        random_state: Any = 0,
        verbose: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.n_trials = n_trials
        self.timeout = timeout
        self.n_rounds = n_rounds
        self.cv = cv
        self.scoring = scoring
        self.space = space
        self.storage = storage
        self.study_name = study_name
        self.prune = prune
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RFMSearch:
        """Search on folds of X (n, d) and y, then fit the best on all rows. Weights count in fits, not in scores."""
        optuna = _optuna()
        self._check()
        self.scorer_ = check_scoring(self.estimator, self.scoring)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = [
            _Fold(clone(self.estimator), X, y, sample_weight, train, out, self.scorer_)
            for train, out in cv.split(np.empty((len(y), 0)), y)
        ]
        self.n_splits_ = len(folds)
        with _quiet(optuna, bool(self.verbose)):
            self.study_ = self._study(optuna, folds, y)
            self._run(optuna, folds)
        own = np.array(self.study_.user_attrs["own_scores"])
        self.own_score_ = float(own.mean())
        self.cv_results_ = self._results(optuna)
        self.best_params_, self.best_score_ = {}, self.own_score_
        if any(trial.state == optuna.trial.TrialState.COMPLETE for trial in self.study_.trials):
            best = self.study_.best_trial
            gains = np.array(best.user_attrs["scores"]) - own
            error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
            if gains.mean() > error:
                self.best_params_, self.best_score_ = self._params(optuna, best), best.value
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, sample_weight)
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    predict = _delegated("predict")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")
    decision_function = _delegated("decision_function")
    transform = _delegated("transform")

    def score(self, X: Any, y: Any) -> float:
        """The score of the best estimator, by ``scoring``."""
        check_is_fitted(self)
        return float(self.scorer_(self.best_estimator_, X, y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, for a classifier."""
        check_is_fitted(self)
        found: NDArray[Any] = self.best_estimator_.classes_
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags

    def _check(self) -> None:
        if not isinstance(self.estimator, BaseRFM):
            raise ValueError(f"estimator must be an RFMRegressor or an RFMClassifier, got {self.estimator!r}")
        if self.estimator.threshold is not None:
            raise ValueError("threshold keeps columns after the rounds, which trials do not see: search without it")
        for name, least in (("n_trials", 1), ("n_rounds", 0)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= least):
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")

    def _study(self, optuna: Any, folds: list[_Fold], y: Any) -> Any:
        """A study that is new, or goes on; it remembers what it is a study of."""
        storage = self.storage
        if isinstance(storage, Path) or (isinstance(storage, str) and "://" not in storage):
            backend = optuna.storages.journal
            storage = optuna.storages.JournalStorage(backend.JournalFileBackend(str(storage)))
        pruner = optuna.pruners.MedianPruner(n_warmup_steps=0) if self.prune else optuna.pruners.NopPruner()
        study = optuna.create_study(
            storage=storage, study_name=self.study_name, load_if_exists=True, direction="maximize", pruner=pruner
        )
        # A seed used again would draw the trials again that are there already.
        study.sampler = optuna.samplers.TPESampler(seed=seed_of(self.random_state) + len(study.trials))
        about = {
            "estimator": repr(self.estimator),
            "scoring": getattr(self.scoring, "__name__", str(self.scoring)),
            "space": getattr(self.space, "__name__", str(self.space)),
            "splits": joblib.hash([[np.asarray(fold.ready.rows.X), np.asarray(fold.out[1])] for fold in folds]),
            "n_rounds": int(self.n_rounds),
        }
        known = study.user_attrs.get("about")
        if known is None:
            study.set_user_attr("about", about)
        elif known != about:
            other = ", ".join(name for name in about if known.get(name) != about[name])
            raise ValueError(
                f"the study {self.study_name!r} in this storage was made with other {other}: "
                "give this one another study_name"
            )
        if not study.trials and self.space is published_space:
            for guess in FIRST:
                study.enqueue_trial(guess)
        return study

    def _run(self, optuna: Any, folds: list[_Fold]) -> None:
        if "own_scores" not in self.study_.user_attrs:
            self.study_.set_user_attr("own_scores", [fold.score_as_it_is(self.estimator) for fold in folds])
        states = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
        left = self.n_trials - sum(trial.state in states for trial in self.study_.trials)
        if left <= 0:
            return
        workspace = Workspace()
        try:
            self.study_.optimize(lambda trial: self._trial(optuna, trial, folds, workspace), left, self.timeout)
        except KeyboardInterrupt:
            done = sum(trial.state in states for trial in self.study_.trials)
            warnings.warn(f"interrupted: the best of {done} finished trials is kept", stacklevel=3)

    def _trial(self, optuna: Any, trial: Any, folds: list[_Fold], workspace: Workspace) -> float:
        params = {**self.space(trial), "n_rounds": int(self.n_rounds), "select_round": "last"}
        means: list[float] = []
        ways = [fold.scores(params, workspace) for fold in folds]
        latest = [float("nan")] * len(folds)
        for index in range(self.n_rounds + 1):
            # A way that ends early (its predictor is constant) stays where it is.
            latest = [next(way, last) for way, last in zip(ways, latest, strict=True)]
            means.append(float(np.mean(latest)))
            trial.report(means[-1], index)
            if index == np.argmax(means):
                trial.set_user_attr("n_rounds", index)
                trial.set_user_attr("scores", latest)
            if index < self.n_rounds and trial.should_prune():
                raise optuna.TrialPruned
        return max(means)

    def _params(self, optuna: Any, trial: Any) -> dict[str, Any]:
        """Parameters of a finished trial, made from its numbers as they were the first time."""
        params = self.space(optuna.trial.FixedTrial(trial.params))
        return {**params, "n_rounds": trial.user_attrs["n_rounds"], "select_round": "last"}

    def _results(self, optuna: Any) -> dict[str, Any]:
        states = optuna.trial.TrialState
        trials = [t for t in self.study_.trials if t.state in (states.COMPLETE, states.PRUNED)]
        scores = [max(t.intermediate_values.values()) for t in trials]
        return {
            "params": [self._params(optuna, t) for t in trials],
            "mean_test_score": np.array(scores),
            "pruned": np.array([t.state == states.PRUNED for t in trials]),
            "rounds_run": np.array([len(t.intermediate_values) for t in trials]),
            "seconds": np.array([t.duration.total_seconds() for t in trials]),
        }


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError('the search needs optuna: pip install "gramian[search]"') from error
    return optuna


@contextmanager
def _quiet(optuna: Any, tell: bool) -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    if not tell:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
