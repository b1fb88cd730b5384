"""Depth and order of the layers."""

import torch

from gramian.nets import inspect
from nets.models import Residual, seeded


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_depth_counts_the_longest_path():
    report = inspect(seeded(Residual), data())
    assert {entry["layer"]: entry["depth"] for entry in report.rows} == {"first": 4, "shared": 3, "last": 1}
