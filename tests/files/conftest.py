"""A model file, and a registry of the tests' own."""

import numpy as np
import pytest
import torch

from gramian.files import register, registry, write
from model_files import Box, Counted, Leaf


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.gramian"
    write({"X": np.arange(1000.0), "ridge": 0.5, "t": torch.ones(3)}, path)
    return path


@pytest.fixture
def known(monkeypatch):
    """An allow-list of our own, for one test."""
    monkeypatch.setattr(registry, "_TYPES", {})
    monkeypatch.setattr(registry, "_NAMES", {})
    register("tests", Leaf, Counted, Box)
