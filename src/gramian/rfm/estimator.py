"""The base of both estimators: scikit-learn's contract outside, one fitted value inside.

A fit is a transaction. It builds a new :class:`FittedRFM` and stores it as ``model_`` at the end; a fit that is refused
or interrupted leaves the estimator exactly as it was.
"""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gramian.core.clock import Clock
from gramian.core.splits import SplitBy
from gramian.features import Update
from gramian.files import write
from gramian.kernels import Kernel
from gramian.rfm import explain as explanations
from gramian.rfm.attributes import (
    FittedAttribute,
    compression,
    dual_coef,
    feature_names,
    fitted_rows,
    storable,
    training_rows,
)
from gramian.rfm.compression import compress
from gramian.rfm.export import export_model
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import (
    AnySolver,
    FitOptions,
    KernelName,
    PresetName,
    RandomState,
    SolverName,
    UpdateName,
    nested_options,
    nested_params,
)
from gramian.rfm.training.context import CallbackSupportMixin, FitObserver, SklearnCallbacks, Snapshot
from gramian.rfm.training.fit import fit_model, fit_stages, identity_of, make_task_and_plan, snapshot
from gramian.rfm.training.plan import ENCODER_ROWS, streams, threads_for
from gramian.rfm.training.rounds import Candidate, Step
from gramian.solvers import Workspace
from gramian.tables import TableEncoder
from gramian.tables.blocks import Blocks
from gramian.tables.merging import MergedRows
from gramian.tables.prepare import Prepared, ReadingOptions, open_table, prepare_table
from gramian.tables.preprocessing import table_tags
from gramian.tables.raw_target import RawTarget
from gramian.tables.row_labels import index_labels
from gramian.tables.row_losses import MetricLike
from gramian.tables.scaling import Array
from gramian.tables.targets import Target
from gramian.tables.types import EvalSet, Label, TableLike, TargetLike, WeightsLike


class BaseRFM(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters, fitted attributes and methods of :class:`RFMRegressor` and :class:`RFMClassifier`."""

    preset: PresetName
    kernel: KernelName | Kernel
    update: UpdateName | Update
    n_rounds: int | Literal["auto"]
    select_round: Literal["best", "last"]
    metric: MetricLike
    ridge: float | Literal["auto"]
    ridge_scaling: Literal["n"] | None
    solver: SolverName | AnySolver
    encoder: Literal["auto"] | TableEncoder
    standardize: bool
    fit_intercept: bool
    feature_threshold: float | None
    bagging: bool | Literal["auto"]
    time_limit: float | None
    checkpoint: str | os.PathLike[str] | None
    dtype: Literal["auto", "float32", "float64"]
    device: str
    max_memory: int | str | None
    n_threads: int | None
    n_jobs: int | None
    cluster: Literal["auto"] | None
    random_state: RandomState
    verbose: int
    model_: FittedRFM
    selected_columns_: tuple[str, ...]
    _scales_target: ClassVar[bool] = True

    plan_ = FittedAttribute(lambda model: model.history.plan, "What was done with this number of rows, and why.")
    ensemble_ = FittedAttribute(lambda model: model.ensemble, "The models that predict together.")
    machine_ = FittedAttribute(lambda model: model.machine, "The best of them.")
    kernel_ = FittedAttribute(lambda model: model.machine.kernel, "The selected kernel with its bandwidth.")
    update_ = FittedAttribute(lambda model: model.history.update, "The selected update.")
    ridge_ = FittedAttribute(lambda model: model.history.ridge, "The ridge added to K.")
    rounds_ = FittedAttribute(lambda model: model.history.rounds, "One record per round of the selected candidate.")
    best_round_ = FittedAttribute(lambda model: model.history.best_round, "The selected round.")
    evolution_ = FittedAttribute(lambda model: model.history.evolution, "M of each round in small.")
    fitted_rows_ = FittedAttribute(fitted_rows, "Number of rows for which the final model was solved.")
    feature_matrix_ = FittedAttribute(lambda model: model.features.matrix, "The learned M (d, d).")
    support_ = FittedAttribute(lambda model: model.features.support, "Columns in use, bool (d,).")
    components_ = FittedAttribute(lambda model: model.features.eigen[1], "Eigenvectors (k, d) of M.")
    eigenvalues_ = FittedAttribute(lambda model: model.features.eigen[0], "Eigenvalues (k,) of M.")
    agop_ = FittedAttribute(lambda model: model.agop, "Average gradient outer product of the predictor (d, d).")
    feature_importances_ = FittedAttribute(
        explanations.feature_importances, "Share of each of your columns in the sensitivity."
    )
    encoder_ = FittedAttribute(lambda model: model.preprocessing.reader.encoder, "The fitted encoder, or None.")
    row_index_ = FittedAttribute(lambda model: model.row_index, "Positions of the centres in the training table.")
    dual_coef_ = FittedAttribute(dual_coef, "Coefficients (n,) or (n, c) of a single machine, on the scaled target.")
    X_fit_ = FittedAttribute(training_rows, "The standardised training rows (n, d) of ``dual_coef_``.")
    n_features_in_ = FittedAttribute(lambda model: model.preprocessing.reader.n_features, "Columns of the table.")
    feature_names_in_ = FittedAttribute(feature_names, "Names of the columns, where the table had any.")
    compression_ = FittedAttribute(compression, "The cost of fewer centres, in a compressed model.")

    def _store_params(self, arguments: dict[str, Any]) -> None:
        """Set the arguments of a constructor as attributes; scikit-learn wants them checked in fit only."""
        for name in arguments.keys() - {"self", "__class__"}:
            setattr(self, name, arguments[name])

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__bandwidth=3.0`` replaces an option inside the kernel, update or solver."""
        nested = {
            owner: nested_options(owner, params.get(owner, getattr(self, owner)), options)
            for owner, options in nested_params(params).items()
        }  # first, so that a refused option changes nothing
        super().set_params(**{name: value for name, value in params.items() if "__" not in name})
        for owner, value in nested.items():
            setattr(self, owner, value)
        return self

    @abstractmethod
    def read_target(self, y: TargetLike, weights: Array | None) -> RawTarget:
        """Return a target as numbers to merge rows by; see :class:`gramian.tables.prepare.TargetReader`."""

    @abstractmethod
    def fit_target(self, raw: RawTarget, rows: MergedRows, Z: Array) -> tuple[Target, Array | None]:
        """Fit the target coding to the targets of merged rows and their standardised inputs."""

    @abstractmethod
    def stream_target(self, blocks: Blocks, y: TargetLike, Z: Array, weights: Array) -> Target:
        """Fit the target coding of a streamed table, from a sample's targets, standardised rows and weights."""

    def _fit(self, X: TableLike, y: TargetLike, weights: WeightsLike, eval_set: EvalSet, by: SplitBy | None) -> None:
        options = FitOptions.resolve(self.get_params(deep=False))
        clock = Clock(options.time_limit)
        observer = SklearnCallbacks(self, X, y, weights) if getattr(self, "_skl_callbacks", None) else FitObserver()

        def stream(blocks: Blocks) -> bool:
            elsewhere = blocks.remote and options.compute.on_cluster
            return streams(blocks.n_rows, blocks.n_columns, options.compute.max_bytes, elsewhere)

        reading, folder = self._reading_options(options), options.checkpoint
        with open_table(X, y, weights, eval_set, reading, self, by, stream=stream, folder=folder) as prepared:
            if isinstance(observer, SklearnCallbacks):
                observer.snapshot = self._snapshots(options, prepared)
            model = fit_model(options, prepared, observer, identity_of(self, prepared), clock)
        self.__dict__.pop("selected_columns_", None)
        self.model_ = replace(model, row_labels=index_labels(X, model.row_index))
        observer.end()

    def _snapshots(self, options: FitOptions, prepared: Prepared) -> Snapshot:
        """Return a function that gives callbacks the attributes of an estimator whose fit ended with a round."""
        plan = make_task_and_plan(options, prepared)[1]

        def attributes(candidate: Candidate, steps: Sequence[Step], part: Tensor | None) -> dict[str, object]:
            return {**vars(self), "model_": snapshot(prepared, plan, candidate, steps, part)}

        return attributes

    def _reading_options(self, options: FitOptions) -> ReadingOptions:
        return options.reading(type(self).__name__, self.encoder, self._scales_target, ENCODER_ROWS)

    def prepare(self, X: TableLike, y: TargetLike, sample_weight: WeightsLike = None) -> Prepared:
        """Read, encode, merge and standardise a table in memory once, for several fits; see :meth:`stages`."""
        options = FitOptions.resolve(self.get_params(deep=False))
        return prepare_table(X, y, sample_weight, None, self._reading_options(options), self)

    def stages(self, prepared: Prepared, workspace: Workspace | None = None) -> Iterator[Self]:
        """Yield copies of the estimator fitted after round 0, 1, …, for one kernel and one update.

        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(40, 2))
        >>> model = RFMRegressor(kernel="laplace", update="agop", n_rounds=2)
        >>> [stage.best_round_ for stage in model.stages(model.prepare(X, X[:, 0]))]
        [0, 1, 2]
        """
        options = FitOptions.resolve(self.get_params(deep=False))
        for model in fit_stages(options, prepared, workspace or Workspace()):
            stage = copy.copy(self)
            stage.model_ = model
            yield stage

    def fitted(self) -> FittedRFM:
        """Return the fitted model with the present number of threads, or raise scikit-learn's NotFittedError."""
        check_is_fitted(self)
        n_threads = threads_for(self.model_.machine.n, self.n_threads, self.n_jobs)
        return self.model_ if n_threads == self.model_.n_threads else replace(self.model_, n_threads=n_threads)

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = table_tags(super().__sklearn_tags__())
        tags.input_tags.sparse = True
        return tags

    def transform(self, X: TableLike) -> Array:
        """Return rows in learned coordinates (n, k): one column per learned direction, largest eigenvalue first.

        Squared Euclidean distances between transformed rows are ``(x − x')ᵀ M (x − x')``.
        """
        model = self.fitted()
        eigenvalues, components = model.features.eigen
        return model.metric_coordinates(X) @ (components.T * np.sqrt(eigenvalues))

    @property
    def _n_features_out(self) -> int:  # scikit-learn reads it
        return len(self.components_)

    def gradients(self, X: TableLike) -> Array:
        """Return gradients ``∂f_c/∂x (n, c, d)`` of the outputs at new rows, per unit of the encoded columns.

        >>> from gramian import RFMRegressor
        >>> X = np.linspace(-1, 1, 50)[:, None]
        >>> RFMRegressor(n_rounds=0).fit(X, 3 * X[:, 0]).gradients([[0.0]]).round(1)
        array([[[3.]]])
        """
        model = self.fitted()
        return model.gradients_at(model.preprocessing.transform(X)) / model.preprocessing.scaler.scale

    def explain(
        self,
        X: TableLike,
        output: Label = None,
        n_influential: int = 5,
        method: Literal["path", "gradient"] = "path",
        reference: TableLike = None,
    ) -> explanations.Explanation | explanations.Explanations:
        """Explain predictions: the contribution of each column, and the training rows with the largest influence.

        See :func:`gramian.rfm.explain.explain` for the formulas. ``output`` is the class whose score is explained (the
        predicted one by default) or the number of a target; ``n_influential`` the number of training rows to list:
        those whose removal changes the prediction most; ``method`` is ``"path"`` (integrated gradients on the line from
        ``reference``, by default the mean training row) or ``"gradient"``, the local gradient.
        """
        return explanations.explain(self.fitted(), X, output, n_influential, method, reference)

    def importances(
        self,
        interval: Literal["auto", "refits", "given this fit"] = "auto",
        level: float = 0.9,
        n_resamples: int | None = None,
        random_state: int = 0,
    ) -> explanations.Importances:
        """Return the share of each of your columns in the sensitivity of predictions, with intervals.

        See :func:`gramian.rfm.explain.importances`: ``interval`` says whether they cover refits on other rows (by
        default where the model allows it), or only the average over rows given this fit.
        """
        return explanations.importances(self.fitted(), interval, level, n_resamples, random_state)

    def permutation_importances(
        self, X: TableLike = None, y: TargetLike = None, n_repeats: int = 20, level: float = 0.9, random_state: int = 0
    ) -> explanations.PermutationImportances:
        """Return the loss of score by permuted columns; see :func:`gramian.rfm.explain.permutation_importances`."""
        return explanations.permutation_importances(self.fitted(), X, y, n_repeats, level, random_state)

    def directions(self, k: int = 3) -> explanations.Directions:
        """Return the k strongest learned directions with named loadings; see :func:`gramian.rfm.explain.directions`."""
        return explanations.directions(self.fitted(), k)

    def interactions(self, k: int = 10) -> explanations.Interactions:
        """Return the k column pairs of largest joint sensitivity; see :func:`gramian.rfm.explain.interactions`."""
        return explanations.interactions(self.fitted(), k)

    def partial_dependence_along(
        self, direction: int = 0, grid: int = 50, rows: int = 200, output: Label = None, level: float = 0.8
    ) -> explanations.Along:
        """Return average predictions of training rows moved along a learned direction.

        See :func:`gramian.rfm.explain.partial_dependence_along`: ``direction`` counts from 0 (the strongest), ``grid``
        is the number of positions, ``rows`` the number of training rows to move, ``output`` as in :meth:`explain`, and
        ``level`` the share of the rows inside the band.
        """
        return explanations.partial_dependence_along(self.fitted(), direction, grid, rows, output, level)

    def refit_on_top_columns(self, X: TableLike, y: TargetLike, k: int, **fit_params: Any) -> Self:
        """Fit the same estimator on the k most important of your columns; ``selected_columns_`` names them.

        ``X`` and ``y`` are the training table again, with all columns; ``fit_params`` are passed to ``fit``.

        >>> from gramian import RFMRegressor
        >>> X, y = (Z := np.random.default_rng(0).normal(size=(150, 4))), Z[:, 3] + Z[:, 1]
        >>> small = RFMRegressor(preset="fast", n_rounds=1).fit(X, y).refit_on_top_columns(X, y, k=2)
        >>> small.selected_columns_, small.n_features_in_
        (('x1', 'x3'), 2)
        """
        model = self.fitted()
        best = explanations.top_columns(model, k)
        if fit_params.get("eval_set") is not None:
            table, target = fit_params["eval_set"]
            fit_params["eval_set"] = model.columns.select(table, best), target
        refitted: Self = clone(self).fit(model.columns.select(X, best), y, **fit_params)
        refitted.selected_columns_ = tuple(model.columns.names[j] for j in best)
        return refitted

    def compressed(self, n_centers: int | None = None, X: TableLike = None, max_latency: float | None = None) -> Self:
        """Return a smaller and faster copy with fewer centres; see :func:`gramian.rfm.compression.compress`."""
        small = copy.copy(self)
        small.model_ = compress(self.fitted(), n_centers, X, max_latency)
        return small

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file, which :func:`gramian.load` opens.

        It is a safetensors file with a JSON manifest: numbers and names only, checked by SHA-256, written atomically.
        """
        check_is_fitted(self)
        write(storable(self), path)

    def export(self, path: str | os.PathLike[str], dtype: Literal["auto", "float32"] = "auto") -> None:
        """Write a file that predicts without torch, .npz or .onnx; see :func:`gramian.rfm.export.export_model`."""
        export_model(self.fitted(), path, dtype)

    def summary(self) -> explanations.Summary:
        """Return scores on held-out rows, what was selected, the most important columns, and the rounds."""
        return explanations.summarise(self.fitted(), type(self).__name__)

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._summary_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._summary_html()
        return bundle

    def _summary_html(self) -> str:
        return self.summary()._repr_html_() if self.__sklearn_is_fitted__() else ""
