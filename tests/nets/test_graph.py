"""Depth and order of the layers."""

import math

import torch
from torch import nn

from gramian.nets import inspect
from nets.models import Residual, mlp, seeded


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_depth_counts_the_longest_path():
    report = inspect(seeded(Residual), data())
    assert {entry["layer"]: entry["depth"] for entry in report.rows} == {"first": 4, "shared": 3, "last": 1}


class Normed(nn.Module):
    """Layers in a chain, across a normalisation, and across a residual sum."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(5, 5) for _ in range(4))
        self.norm = nn.LayerNorm(5)

    def forward(self, x):
        h = self.b(torch.relu(self.a(x)))
        h = self.c(self.norm(h))
        return self.d(h + x)


def test_balance_exists_between_layers_with_only_an_activation_between():
    def balanced(model):
        rows = inspect(model, data()).rows
        return [entry["layer"] for entry in rows if not math.isnan(entry["balancedness"])]

    assert balanced(seeded(Normed)) == ["a"]
    assert balanced(seeded(Residual)) == []
    assert balanced(seeded(mlp)) == ["0", "2"]
    assert balanced(seeded(lambda: nn.Sequential(nn.Linear(5, 4), nn.GELU(), nn.Linear(4, 2)))) == ["0"]
