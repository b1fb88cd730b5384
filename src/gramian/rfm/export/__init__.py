"""Export of a fitted model to a file that predicts without torch: for NumPy, or as an ONNX graph.

:func:`describe` turns a fitted model into plain numbers and names (or refuses it with the reason), :func:`write_numpy`
writes them for :mod:`gramian.predictor`, and :func:`write_onnx` makes a graph of them. :func:`centers_within` finds the
number of centres with which one row is predicted in a given time.

May import ``gramian.predictor`` and everything below ``gramian.rfm.estimator``.

>>> import numpy as np, tempfile, pathlib
>>> from gramian import RFMClassifier
>>> X = np.random.default_rng(0).normal(size=(60, 2))
>>> model = RFMClassifier(preset="fast", n_rounds=1).fit(X, X[:, 0] > 0)
>>> path = pathlib.Path(tempfile.mkdtemp()) / "m.npz"
>>> write_numpy(model.model_, path)
>>> path.stat().st_size < 10_000
True
"""

from gramian.rfm.export.columns import NotExportableError
from gramian.rfm.export.description import Description, describe, predictor_of
from gramian.rfm.export.files import export_model, write_numpy
from gramian.rfm.export.latency import centers_within, row_seconds
from gramian.rfm.export.onnx_file import write_onnx

__all__ = [
    "Description",
    "NotExportableError",
    "centers_within",
    "describe",
    "export_model",
    "predictor_of",
    "row_seconds",
    "write_numpy",
    "write_onnx",
]
