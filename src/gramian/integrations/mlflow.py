"""Models of gramian in MLflow: a flavour with the safe model file, and a pyfunc that predicts with it.

``save_model``, ``log_model`` and ``load_model`` are the functions that every flavour of MLflow has. The model is stored
as the file that ``model.save`` writes: numbers and names, never a pickle. The file contains training rows.

>>> import importlib.util, tempfile
>>> from gramian import RFMRegressor
>>> from gramian.integrations.mlflow import load_model, save_model
>>> X = [[float(i)] for i in range(30)]
>>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, [2 * x for [x] in X])
>>> if importlib.util.find_spec("mlflow"):
...     with tempfile.TemporaryDirectory() as folder:
...         save_model(model, f"{folder}/model")
...         assert (load_model(f"{folder}/model").predict(X) == model.predict(X)).all()
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gramian.core.version import __version__
from gramian.integrations.extras import require
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.serialization import load
from gramian.tables.types import TableLike

if TYPE_CHECKING:
    from mlflow.models import Model, ModelSignature
    from mlflow.models.model import ModelInfo

FLAVOR_NAME = "gramian"
_FILE = "model.gramian"
_METHOD = "method"
_PURPOSE = "gramian.integrations.mlflow"
_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform")


def save_model(
    model: RFMClassifier | RFMRegressor,
    path: str | os.PathLike[str],
    *,
    method: str = "predict",
    signature: ModelSignature | None = None,
    input_example: TableLike = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, object] | None = None,
    mlflow_model: Model | None = None,
) -> None:
    """Write a fitted model to a folder in MLflow's format.

    Parameters
    ----------
    model : RFMClassifier or RFMRegressor
        Fitted.
    path : path
        A folder that does not exist yet.
    method : str, default="predict"
        The method of the model that the pyfunc's ``predict`` calls, such as ``"predict_proba"``.
    signature : ModelSignature, optional
        By default that of :func:`infer_signature`.
    input_example : table, optional
        A few rows of input. They are stored beside the model.
    pip_requirements : list of str, optional
        This version of gramian by default.
    metadata : dict, optional
        Further entries of the file ``MLmodel``.
    mlflow_model : mlflow.models.Model, optional
        The entry of a run to which the flavour is added; :func:`log_model` passes it.
    """
    mlflow = _mlflow()
    _check_method(model, method)
    entry = mlflow.models.Model() if mlflow_model is None else mlflow_model
    entry.add_flavor(FLAVOR_NAME, gramian_version=__version__, data=f"data/{_FILE}", estimator=type(model).__name__)
    if signature is None:
        signature = infer_signature(model, input_example, method)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / _FILE)
        mlflow.pyfunc.save_model(
            path=os.fspath(path),
            loader_module=__name__,
            data_path=os.path.join(folder, _FILE),
            mlflow_model=entry,
            signature=signature,
            input_example=input_example,
            pip_requirements=[f"gramian[tables]=={__version__}"] if pip_requirements is None else pip_requirements,
            metadata=metadata,
            model_config={_METHOD: method},
        )


def log_model(
    model: RFMClassifier | RFMRegressor,
    name: str = "model",
    *,
    method: str = "predict",
    signature: ModelSignature | None = None,
    input_example: TableLike = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, object] | None = None,
    registered_model_name: str | None = None,
) -> ModelInfo:
    """Log a fitted model to the active run of MLflow, or to a new run; return MLflow's description of it.

    ``name`` is the name of the logged model, and ``registered_model_name`` that of an entry in the registry; the other
    arguments are those of :func:`save_model`. ``model_uri`` of the result is the address for :func:`load_model` and for
    ``mlflow.pyfunc.load_model``.
    """
    return _mlflow().models.Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        flavor_name=FLAVOR_NAME,
        registered_model_name=registered_model_name,
        model=model,
        method=method,
        signature=signature,
        input_example=input_example,
        pip_requirements=pip_requirements,
        metadata=metadata,
    )


def load_model(
    model_uri: str | os.PathLike[str], dst_path: str | None = None, device: str = "auto"
) -> RFMClassifier | RFMRegressor:
    """Return the estimator behind an address of MLflow (``models:/…``, ``runs:/…``) or a folder; no code of it is run.

    ``dst_path`` is a folder for the download, and ``device`` as in :func:`gramian.load`.
    """
    mlflow = _mlflow()
    folder = mlflow.artifacts.download_artifacts(os.fspath(model_uri), dst_path=dst_path)
    flavors = mlflow.models.Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(f"{model_uri} holds no model of gramian; its flavours are {', '.join(sorted(flavors))}")
    return load(Path(folder) / flavors[FLAVOR_NAME]["data"], device)


def infer_signature(
    model: RFMClassifier | RFMRegressor, input_example: TableLike = None, method: str = "predict"
) -> ModelSignature | None:
    """Return the names of the input's columns, and the type of the output where rows of input are given.

    Columns are of any type: MLflow refuses integers for doubles, categories for text and gaps in integers, all of which
    the estimator reads. None is returned where the training table was an array: its columns have no names.
    """
    mlflow, types = _mlflow(), require("mlflow.types.schema", _PURPOSE, "mlflow")
    names = model.fitted().preprocessing.reader.feature_names
    if names is None:
        return None
    outputs = None
    if input_example is not None:
        predicted = getattr(model, method)(input_example)
        outputs = mlflow.models.infer_signature(predicted, predicted).outputs
    inputs = types.Schema([types.ColSpec(types.AnyType(), str(name)) for name in names])
    found: ModelSignature = mlflow.models.ModelSignature(inputs=inputs, outputs=outputs)
    return found


class PredictFunction:
    """The object behind ``mlflow.pyfunc.load_model``: it calls one method of an estimator.

    >>> from gramian import RFMRegressor
    >>> X = [[float(i)] for i in range(30)]
    >>> PredictFunction(RFMRegressor(preset="fast").fit(X, [2 * x for [x] in X]), "predict").predict([[4.5]]).round(1)
    array([9.])
    """

    def __init__(self, model: RFMClassifier | RFMRegressor, method: str) -> None:
        _check_method(model, method)
        self.model, self.method = model, method

    def get_raw_model(self) -> RFMClassifier | RFMRegressor:
        """Return the estimator; MLflow's ``unwrap_python_model`` calls this method."""
        return self.model

    def predict(self, data: TableLike, params: Mapping[str, object] | None = None) -> NDArray[np.generic]:
        """Return the method's result for rows of input (n, d); MLflow passes ``params``, and there are none."""
        found: NDArray[np.generic] = getattr(self.model, self.method)(data)
        return found


def _load_pyfunc(path: str, model_config: Mapping[str, str] | None = None) -> PredictFunction:  # MLflow calls it
    return PredictFunction(load(path), (model_config or {}).get(_METHOD, "predict"))


def _check_method(model: RFMClassifier | RFMRegressor, method: str) -> None:
    possible = [name for name in _METHODS if hasattr(model, name)]
    if method not in possible:
        raise ValueError(
            f"method must be one of {', '.join(map(repr, possible))} for an {type(model).__name__}, got {method!r}"
        )


def _mlflow() -> ModuleType:
    for module in ("mlflow.artifacts", "mlflow.models", "mlflow.pyfunc"):
        require(module, _PURPOSE, "mlflow")
    return require("mlflow", _PURPOSE, "mlflow")
