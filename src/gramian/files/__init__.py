"""The model file: one safetensors file with a JSON manifest. No pickle; opening a file runs no code of the file's.

Values are written by what they are: numbers, text, containers, NumPy arrays, torch tensors, and objects of the types
that were registered by name. Anything else is an error when saving, with the path of the attribute.

May import ``core``; knows no kernel and no estimator. Rooms above say by :func:`register` what may be in a file.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "values.gramian"
>>> write({"names": ("a", "b"), "ridge": 1e-3}, path)
>>> read(path)
{'names': ('a', 'b'), 'ridge': 0.001}
"""

from gramian.files.container import ModelFileError
from gramian.files.kinds import register, registered
from gramian.files.store import fingerprint, read, write

__all__ = ["ModelFileError", "fingerprint", "read", "register", "registered", "write"]
