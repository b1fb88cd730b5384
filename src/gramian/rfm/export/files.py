"""Writing of exported models: the file of the NumPy predictor, and the choice of the format by the name."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gramian.core.atomic import atomic_write
from gramian.core.warn import warn
from gramian.predictor import MANIFEST, MOST_TEXT, Predictor, most_bytes
from gramian.rfm.export.columns import NotExportableError
from gramian.rfm.export.description import FloatFormat, describe, predictor_of
from gramian.rfm.export.onnx_file import write_onnx
from gramian.rfm.model import FittedRFM

_CHECKED_ROWS, _SMALL_CHANGE = 64, 1e-5
"""Training rows at which the effect of float32 is measured, and the change that needs no warning."""


def export_model(model: FittedRFM, path: str | os.PathLike[str], dtype: FloatFormat = "auto") -> None:
    """Write a fitted model for the NumPy predictor (``.npz``) or as an ONNX graph (``.onnx``).

    The file holds training rows: the centres of the model, standardised, and the names of categories.

    Parameters
    ----------
    model : FittedRFM
    path : str or path
        Its ending decides on the format.
    dtype : "auto" or "float32"
        With ``"float32"`` the arrays of an ``.npz`` file are float32, so that it is smaller, and the inputs and outputs
        of an ONNX graph are. Arithmetic is in float64 in any case.

    Raises
    ------
    NotExportableError
        If a part of the model cannot be exported, such as a column of dates; nothing is written then.
    """
    writers = {".npz": write_numpy, ".onnx": write_onnx}
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise ValueError(
            f"the name of an exported model ends with .npz (NumPy predictor) or .onnx (ONNX graph), got {str(path)!r}"
        )
    writers[ending](model, Path(path), dtype)


def write_numpy(model: FittedRFM, path: Path, dtype: FloatFormat = "auto") -> None:
    """Write the file that :func:`gramian.predictor.load` opens: a manifest and arrays in a zip archive.

    With ``dtype="float32"`` a warning says by how much predictions change, where that is more than 1e-5 of their
    standard deviation.
    """
    found = describe(model, dtype)
    if dtype == "float32":
        _warn_of_rounding(model, Predictor.build(found.manifest, found.arrays))
    text = json.dumps(found.manifest, ensure_ascii=True, separators=(",", ":")).encode()
    if len(text) > MOST_TEXT:
        raise NotExportableError(
            f"the levels and labels of the model take {len(text) / 1e6:.1f} MB of text, and a predictor file can hold "
            f"{MOST_TEXT / 1e6:g} MB: leave the column with the most levels out, or use model.save"
        )
    content = _archive(text, found.arrays, zipfile.ZIP_DEFLATED)
    total = len(text) + sum(array.nbytes + 256 for array in found.arrays.values())
    if total > most_bytes(len(content)):  # the reader would take such a file for one that is made to fill the memory
        content = _archive(text, found.arrays, zipfile.ZIP_STORED)
    atomic_write(path, content)


def _warn_of_rounding(model: FittedRFM, rounded: Predictor) -> None:
    Z, _ = model.center_rows(_CHECKED_ROWS)
    exact = predictor_of(model).outputs_at(Z)
    change = float(np.abs(rounded.outputs_at(Z) - exact).max() / (exact.std(axis=0).max() or 1.0))
    if change > _SMALL_CHANGE:
        warn(
            f'dtype="float32" changes outputs at training rows by up to {change:.1g} of their standard deviation: '
            "leave dtype out to keep all digits"
        )


def _archive(text: bytes, arrays: dict[str, NDArray[np.generic]], method: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        _add(archive, MANIFEST, text)
        for name, array in arrays.items():
            part = io.BytesIO()
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            np.lib.format.write_array(part, little, version=(1, 0), allow_pickle=False)
            _add(archive, f"{name}.npy", part.getvalue())
    return file.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # A fixed date: the same model gives the same bytes.
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    archive.writestr(info, content, compress_type=archive.compression)
