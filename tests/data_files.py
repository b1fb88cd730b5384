"""Compressed files, and the format of MNIST."""

import gzip

import numpy as np


def write_gz(path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wb") as file:
        file.write(content)


def idx(array: np.ndarray) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()
