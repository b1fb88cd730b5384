"""Model files: one safetensors file with a JSON manifest. There is no pickle, and opening a file runs no code of it.

A file can hold numbers, text, containers, NumPy arrays, torch tensors, and objects of the types that were registered by
name. Anything else raises an error on saving, with the path of the attribute.

May import ``core`` only. Higher packages register the types that may be in a file with :func:`register`.

>>> import tempfile, pathlib
>>> path = pathlib.Path(tempfile.mkdtemp()) / "values.gramian"
>>> write({"names": ("a", "b"), "ridge": 1e-3}, path)
>>> read(path)
{'names': ('a', 'b'), 'ridge': 0.001}
"""

from gramian.files.container import ModelFileError
from gramian.files.registry import register, registered
from gramian.files.store import fingerprint, read, write

__all__ = ["ModelFileError", "fingerprint", "read", "register", "registered", "write"]
