"""The types a saved model may consist of, and :func:`load`."""

from __future__ import annotations

import os

import torch

from gramian import features, kernels, solvers
from gramian.core import resolve_device
from gramian.core.memory_forecast import MemoryForecast
from gramian.core.selection import RoundPredictions
from gramian.files import ModelFileError, read, register
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.estimator import BaseRFM
from gramian.rfm.loaded import check_loaded
from gramian.rfm.machine import KernelMachine, LearnedFeatures
from gramian.rfm.model import Compression, Ensemble, FitHistory, FittedRFM, MemberHistory
from gramian.rfm.options import TreePartition
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import Evolution, Round, Rounds
from gramian.rfm.training.tuning import RoundParams
from gramian.rfm.tree import Splits, TreeMachine
from gramian.rfm.uncertainty.holdout import HoldoutPredictions
from gramian.tables import ColumnRecord, TableEncoder
from gramian.tables.date_texts import DateText
from gramian.tables.encodings import Category, Date, Number, Ordered
from gramian.tables.links import PowerLink, SoftmaxLink
from gramian.tables.number_texts import NumberText
from gramian.tables.preprocessing import Preprocessing, TableReader
from gramian.tables.scaling import Scaler
from gramian.tables.targets import ClassTarget, NumericTarget, TargetTransform
from gramian.tables.text_grams import TextGrams
from gramian.tables.written import WrittenDate, WrittenNumber

register(
    "kernels",
    kernels.ColumnScores,
    kernels.Diagonal,
    kernels.Exponential,
    kernels.ExponentialDot,
    kernels.Full,
    kernels.Gaussian,
    kernels.Identity,
    kernels.KernelOperator,
    kernels.Laplace,
    kernels.LowRank,
    kernels.Lp,
    kernels.Matern,
    kernels.NNGP,
    kernels.NTK,
    kernels.Polynomial,
    kernels.ScoredLp,
)
register("features", features.Agop, features.Fact)
register("solvers", solvers.ConjugateGradient, solvers.Direct, solvers.EigenPro, solvers.Nystrom)
register("tables", Category, ColumnRecord, Date, Number, Ordered, TableEncoder)
register("tables", DateText, NumberText, TextGrams, WrittenDate, WrittenNumber)
register("tables", ClassTarget, NumericTarget, Preprocessing, Scaler, TableReader, TargetTransform)
register("rfm", RFMClassifier, RFMRegressor, FittedRFM, Ensemble, LearnedFeatures, FitHistory, Evolution, Compression)
register("rfm", KernelMachine, Splits, TreeMachine, HoldoutPredictions, Plan, MemoryForecast, TreePartition)
register("rfm", Round, Rounds, PowerLink, SoftmaxLink)
register("rfm", MemberHistory, RoundParams, RoundPredictions)  # the last also in checkpoints


def load(path: str | os.PathLike[str], device: str | torch.device = "auto") -> RFMClassifier | RFMRegressor:
    """Open a model that ``save`` has written. No code of the file is run.

    Parameters
    ----------
    path : path
    device : "auto" or a device such as "cpu"
        ``"auto"`` is the type of device the model was saved from, or the CPU where there is none of that type here.
        Any other also becomes the model's ``device`` argument, so that a refit stays there.

    Raises
    ------
    ModelFileError
        A ``ValueError`` that says what is wrong with the file and what to do.

    Examples
    --------
    >>> import numpy as np, gramian, tempfile
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = gramian.RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/m.gramian")
    ...     same = gramian.load(f"{folder}/m.gramian")
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    model = read(path, device, check=_check)
    if not isinstance(model, BaseRFM):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a model: gramian.load opens fitted models")
    assert isinstance(model, RFMClassifier | RFMRegressor)
    if str(device) != "auto":
        model.device = str(device)
    elif not _is_available(model.device):
        model.device = "auto"
    return model


def _check(model: object) -> None:
    """Raise an error if a model would fail later; see :mod:`gramian.rfm.loaded`."""
    if not isinstance(model, RFMClassifier | RFMRegressor):
        return
    if not isinstance(vars(model).get("model_"), FittedRFM):
        raise TypeError("the estimator holds no fitted model")
    if isinstance(model, RFMClassifier) != isinstance(model.model_.target, ClassTarget):
        raise TypeError("the target is not that of the estimator")
    if not isinstance(model.device, str | torch.device):
        raise TypeError("the device is not a name")
    check_loaded(model.model_, model.n_threads)


def _is_available(device: str) -> bool:
    try:
        resolve_device(device)
    except ValueError:
        return False
    return True
