"""``model.save(path)`` and ``gramian.load(path)``."""

from __future__ import annotations

import copy
import os
from typing import Any

import torch
from sklearn.utils.validation import check_is_fitted

from gramian.core import resolve_device
from gramian.files import ModelFileError, read, write


class Saves:
    """What an estimator inherits to have :meth:`save`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one file, to be opened by :func:`gramian.load`.

        The file holds numbers and names only, checked by SHA-256: a safetensors file with a JSON manifest. It is
        complete or it is not there: an old file of that name is replaced at the very end.

        >>> import numpy as np, gramian, tempfile
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> model = gramian.RFMRegressor(n_rounds=1).fit(X, X[:, 0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/m.gramian")
        ...     same = gramian.load(f"{folder}/m.gramian")
        >>> bool((same.predict(X) == model.predict(X)).all())
        True
        """
        check_is_fitted(self)
        model = copy.copy(self)
        vars(model).pop("_skl_callbacks", None)  # scikit-learn's callbacks: they watch fits, and are no part of a model
        write(model, path)


def load(path: str | os.PathLike[str], device: str | torch.device = "auto") -> Any:
    """Open a model that :meth:`Saves.save` has written. No code of the file's is run.

    Parameters
    ----------
    path : path
    device : "auto" or a device such as "cpu"
        ``"auto"`` is the kind of device the model was saved from, or the CPU where there is none of that kind here.
        Any other also becomes the model's ``device`` argument, so that a refit stays there.

    Raises
    ------
    ModelFileError
        A ``ValueError`` that says what is wrong with the file and what to do.
    """
    model: Any = read(path, device)
    if not issubclass(type(model), Saves):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a model: gramian.load opens fitted models")
    if str(device) != "auto":
        model.device = str(device)
    elif not _usable(model.device):
        model.device = "auto"
    return model


def _usable(device: Any) -> bool:
    try:
        resolve_device(device)
    except ValueError:
        return False
    return True
