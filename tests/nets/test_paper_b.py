"""Paper B's central picture: a Recursive Feature Machine and a network learn the same features."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian import RFMRegressor, compare, inspect
from nets.models import seeded


@pytest.fixture(scope="module")
def task():
    X = torch.randn(400, 8, generator=torch.Generator().manual_seed(0))
    return X, X[:, :1] * X[:, 1:2]


@pytest.fixture(scope="module")
def machine(task):
    X, y = task
    return RFMRegressor(n_rounds=3).fit(X.numpy(), y[:, 0].numpy())


def network(task):
    X, y = task
    model = seeded(lambda: nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1)), dtype=torch.float32)
    untrained = inspect(model, X)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-3)
    for _ in range(400):
        optimizer.zero_grad()
        F.mse_loss(model(X), y).backward()
        optimizer.step()
    return untrained, inspect(model, X)


def test_a_fitted_machine_and_a_trained_network_share_their_first_directions(task, machine):
    untrained, trained = network(task)
    before, after = (compare(machine, report, directions=2).rows[0] for report in (untrained, trained))
    assert after["matrix"] == "nfm"
    assert after["cosine"] > 0.9
    assert after["pearson"] > 0.85
    assert after["diagonal_pearson"] > 0.95
    assert after["overlap"] > 0.9
    assert before["overlap"] < 0.7  # two directions of eight agree by a quarter by chance
    assert after["cosine"] > before["cosine"] + 0.2
