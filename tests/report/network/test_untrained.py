"""The page of an untrained network says that it has learned nothing yet, and that of a trained one what it learned."""

import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from gramian.report.network.page import network_page
from gramian.report.network.sentences import describe_network
from html_checks import check
from report.inspected import quiet_inspect

ROWS = 400


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 32)
        block = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 5)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)).mean(1))


def mlp():
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


def tanh_regression():
    return nn.Sequential(nn.Linear(20, 48), nn.Tanh(), nn.Linear(48, 32), nn.Tanh(), nn.Linear(32, 1))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def table(seed):
    X = torch.randn(ROWS, 20, generator=torch.Generator().manual_seed(seed))
    return X, (X[:, 0] * X[:, 1] > 0).long() + (X[:, 2] > 1).long()


def values(seed):
    X = torch.randn(ROWS, 20, generator=torch.Generator().manual_seed(seed))
    return X, X[:, :1] * X[:, 1:2]


def digits(seed):
    found = load_digits()
    return torch.tensor(found.images[:ROWS]).float()[:, None] / 16, torch.tensor(found.target[:ROWS])


def tokens(seed):
    X = torch.randint(0, 20, (ROWS, 8), generator=torch.Generator().manual_seed(seed))
    return X, (X < 10).sum(1).clamp(2, 6) - 2


CASES = {
    "mlp": (mlp, table, "cross_entropy"),
    "regression": (tanh_regression, values, "mse"),
    "cnn": (cnn, digits, "cross_entropy"),
    "transformer": (Transformer, tokens, "cross_entropy"),
}


def build(name, seed):
    make, data, loss = CASES[name]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make(), data(seed), loss


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", CASES)
def test_an_untrained_network_has_learned_nothing_yet(name, seed):
    model, data, loss = build(name, seed)
    report = quiet_inspect(model, data, loss)
    first = describe_network(report.rows)[0]
    assert first.startswith("The network has learned nothing yet"), first
    if seed == 0:
        text = check(network_page(report, layers=report.layers[:1])).text
        assert "The network has learned nothing yet" in text
        assert "0 of" in text
        assert "far beyond chance" not in text


@pytest.mark.parametrize("name", CASES)
def test_a_trained_network_says_where_it_learned(name):
    model, (X, y), loss = build(name, 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    rng = torch.Generator().manual_seed(0)
    for _ in range(250):
        rows = torch.randint(0, ROWS, (64,), generator=rng)
        optimizer.zero_grad()
        getattr(F, {"mse": "mse_loss"}.get(loss, loss))(model(X[rows]), y[rows]).backward()
        optimizer.step()
    report = quiet_inspect(model, (X, y), loss)
    first, second, *_ = describe_network(report.rows)
    assert "agrees with AGOP^½ beyond chance" in first
    assert "does not count" in second
