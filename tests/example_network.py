"""A small network as a user writes it, its weights, and readers of the output of gramian inspect."""

import json

import torch
from torch import nn

NET = """
import numpy as np, torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=6, outputs=1):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, width), nn.ReLU())
        self.head = nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.body(x))

ready = Net()
text = "no network"

def needs(width):
    return Net(width)

def classes():
    return Net(outputs=3)

def pictures():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))

def tokens():
    return nn.Sequential(nn.Embedding(7, 4), nn.Flatten(), nn.Linear(8, 1))

def fails():
    return {}["missing"]

def loader():
    X = torch.linspace(-1, 1, 60).reshape(20, 3)
    return [(X[:10], X[:10, :1]), (X[10:], X[10:, :1])]

def loss(output, target):
    return (output - target).abs().mean()
"""
N = 40


def refused(result, *words):
    assert result.exit_code == 1, result.output
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


def weights(seed=1, outputs=1):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = nn.Sequential()
        made.add_module("body", nn.Sequential(nn.Linear(3, 6), nn.ReLU()))
        made.add_module("head", nn.Linear(6, outputs))
    return made.state_dict()


def layers(result):
    assert result.exit_code == 0, result.output
    return {row["layer"]: row for row in json.loads(result.stdout)["layers"]}
