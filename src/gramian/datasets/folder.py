"""The folder of public data on the local disk."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "GRAMIAN_DATA"
"""Environment variable that names the folder of public data."""


def find(name: str, folder: str | Path | None = None) -> Path:
    """The file ``name`` under ``folder``, or under the folder that the environment variable GRAMIAN_DATA names.

    Parameters
    ----------
    name : str
        Path below the data folder, such as ``"mnist/train-images-idx3-ubyte.gz"``.
    folder : path, optional

    >>> find("mnist/none.gz", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no mnist/none.gz in nowhere: ...
    """
    root = folder if folder is not None else os.environ.get(VARIABLE)
    if not root:
        raise FileNotFoundError(
            f"{name}: no data folder is known. Set the environment variable {VARIABLE} to the folder that holds "
            f"{Path(name).parts[0]}/ or pass folder=...; gramian never downloads data by itself"
        )
    path = Path(root) / name
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {name} in {root}: set the environment variable {VARIABLE} (or pass folder=...) to a folder "
            f"that holds it; gramian never downloads data by itself"
        )
    return path
