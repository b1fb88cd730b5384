"""The search as an estimator: it searches on folds, and refits the best parameters on all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from gramian.rfm.estimator import BaseRFM
from gramian.rfm.options import RandomState, resolve_seed
from gramian.rfm.search.space import Params, Space, published_space
from gramian.rfm.search.study import Fold, Scorer, SearchStudy, check_installed, digest, open_study, verbosity
from gramian.tables.types import TableLike, TargetLike, WeightsLike

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage


def _delegated(name: str) -> Callable[[RFMSearch, TableLike], NDArray[np.generic]]:
    """Return a method that calls the one of the best estimator; it exists where the estimator has it."""

    def method(self: RFMSearch, X: TableLike) -> NDArray[np.generic]:
        check_is_fitted(self)
        found: NDArray[np.generic] = getattr(self.best_estimator_, name)(X)
        return found

    method.__doc__ = f"Return ``best_estimator_.{name}(X)``."
    available: Callable[[RFMSearch, TableLike], NDArray[np.generic]] = available_if(
        lambda self: hasattr(self.estimator, name)
    )(method)
    return available


class RFMSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Search for the parameters of an :class:`RFMRegressor` or :class:`RFMClassifier` that predict folds best.

    The estimator's own parameters compete too, and are used unless the best trial exceeds their score by more than a
    standard error of the difference over the folds: the best of many scores is optimistic. Ctrl-C ends the search, and
    the best finished trial is used.

    Parameters
    ----------
    estimator : RFMRegressor or RFMClassifier
        Its other parameters (``standardize``, ``dtype``, …) apply to every trial.
    n_trials : int, default=50
        Number of trials in total: a study that was interrupted after 30 continues with 20.
    timeout : float, optional
        Seconds after which no new trial begins.
    n_rounds : int, default=5
        Rounds of a trial that is not stopped early; the best of them counts.
    cv : int, splitter or iterable, default=5
    scoring : str or callable, optional
        As in scikit-learn; the estimator's own score by default.
    space : callable, default=published_space
        A function from an optuna trial to parameters of the estimator.
    storage : str, Path or optuna storage, optional
        A file (``"study.log"``) or a database (``"sqlite:///study.db"``) that stores the trials.
    study_name : str, default="gramian"
        Name of the study within the storage.
    prune : bool, default=True
        Stop trials that are below the median of the others after the same round.
    random_state : int, RandomState or None, default=0
        Seed of the sequence of trials; the estimator has its own for everything else.
    verbose : int, default=0
        With 1 optuna logs each trial.

    Attributes
    ----------
    best_params_ : dict
        For ``estimator.set_params``; empty where no trial was clearly better than the estimator's own parameters.
    best_score_, own_score_ : float
        Mean scores over the folds of ``best_params_``, and of the estimator's own parameters.
    best_estimator_ : RFMRegressor or RFMClassifier
        Fitted on all rows.
    cv_results_ : dict of arrays
        One entry per finished trial, for ``pandas.DataFrame``.
    study_ : optuna.Study

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import RFMRegressor, RFMSearch
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> search = RFMSearch(RFMRegressor(preset="fast"), n_trials=3, n_rounds=1, cv=2).fit(X, X[:, 0] ** 2)
    >>> search.best_score_ >= search.own_score_
    True
    """

    best_estimator_: BaseRFM
    best_params_: Params
    best_score_: float
    own_score_: float
    cv_results_: dict[str, object]
    study_: Study
    scorer_: Scorer
    n_splits_: int

    def __init__(
        self,
        estimator: BaseRFM,
        *,
        n_trials: int = 50,
        timeout: float | None = None,
        n_rounds: int = 5,
        cv: int | BaseCrossValidator | Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]] = 5,
        scoring: str | Scorer | None = None,
        space: Space = published_space,
        storage: str | Path | BaseStorage | None = None,
        study_name: str = "gramian",
        prune: bool = True,
        random_state: RandomState = 0,
        verbose: int = 0,
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

    def fit(self, X: TableLike, y: TargetLike, sample_weight: WeightsLike = None) -> Self:
        """Search on folds of X (n, d) and y, then fit the best parameters on all rows.

        Sample weights are used by fits, not by scores.
        """
        check_installed()
        self._check_parameters()
        self.scorer_ = check_scoring(self.estimator, self.scoring)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        table = X, y, sample_weight
        folds = [
            Fold.of(clone(self.estimator), table, train, held_out, self.scorer_)
            for train, held_out in cv.split(np.empty((_num_samples(y), 0)), y)
        ]
        self.n_splits_ = len(folds)
        with verbosity(bool(self.verbose)):
            self.study_ = self._open_study(folds)
            search = SearchStudy(self.study_, self.estimator, folds, self.space, int(self.n_rounds))
            own = np.array(search.own_scores())
            search.run(self.n_trials, self.timeout)
        self.own_score_ = float(own.mean())
        self.cv_results_ = search.results()
        self.best_params_, self.best_score_ = {}, self.own_score_
        best = search.best_trial
        if best is not None and _clearly_positive(np.array(best.user_attrs["scores"]) - own):
            assert best.value is not None, "a complete trial has a value"
            self.best_params_, self.best_score_ = search.params_of(best), best.value
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y, sample_weight)
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    predict = _delegated("predict")
    predict_proba = _delegated("predict_proba")
    predict_log_proba = _delegated("predict_log_proba")
    decision_function = _delegated("decision_function")
    transform = _delegated("transform")

    def score(self, X: TableLike, y: TargetLike) -> float:
        """Return the score of the best estimator, by ``scoring``."""
        check_is_fitted(self)
        return float(self.scorer_(self.best_estimator_, X, y))

    @property
    def classes_(self) -> NDArray[np.generic]:
        """The labels of a classifier; a search for a regressor has no such attribute."""
        check_is_fitted(self)
        classes = self.best_estimator_.model_.classes
        if classes is None:
            raise AttributeError("a regressor has no classes_")
        return classes

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags

    def _check_parameters(self) -> None:
        if not isinstance(self.estimator, BaseRFM):
            raise ValueError(f"estimator must be an RFMRegressor or an RFMClassifier, got {self.estimator!r}")
        if self.estimator.feature_threshold is not None:
            raise ValueError(
                "feature_threshold selects columns after the rounds, which trials do not do: search without it"
            )
        for name, least in (("n_trials", 1), ("n_rounds", 0)):
            value = getattr(self, name)
            if not (isinstance(value, int | np.integer) and value >= least):
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")

    def _open_study(self, folds: list[Fold]) -> Study:
        about: Params = {
            "estimator": repr(self.estimator),
            "scoring": getattr(self.scoring, "__name__", str(self.scoring)),
            "space": getattr(self.space, "__name__", str(self.space)),
            "splits": digest(folds),
            "n_rounds": int(self.n_rounds),
        }
        seed = resolve_seed(self.random_state)
        return open_study(self.storage, self.study_name, about, self.space, bool(self.prune), seed)


def _clearly_positive(gains: NDArray[np.float64]) -> bool:
    """Tell whether mean gains over folds exceed their standard error."""
    error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return bool(gains.mean() > error)
