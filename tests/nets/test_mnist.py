"""Real images: the centred alignment stands before the uncentred one, as in paper A, Fig. 2."""

import gzip

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import Monitor
from nets.models import seeded


def mnist(folder, rows):
    with gzip.open(folder / "mnist" / "train-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(16 + 784 * rows), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(folder / "mnist" / "train-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(8 + rows), np.uint8, offset=8)
    return torch.from_numpy(X / np.float32(255)), torch.from_numpy(y.astype(np.int64))


def test_training_aligns_the_change_of_the_weights_first(data_dir):
    X, y = mnist(data_dir, 1500)
    model = seeded(
        lambda: nn.Sequential(
            nn.Linear(784, 64),
            nn.ReLU(inplace=True),
            nn.Linear(64, 64),
            nn.ReLU(inplace=True),
            nn.Linear(64, 10),
        ),
        dtype=torch.float32,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    monitor = Monitor(model, (X[:300], y[:300]), "cross_entropy", every=15, optimizer=optimizer)
    rng = torch.Generator().manual_seed(0)
    for _ in range(61):
        rows = torch.randint(0, 1500, (128,), generator=rng)
        optimizer.zero_grad()
        F.cross_entropy(model(X[rows]), y[rows]).backward()
        monitor.step()
        optimizer.step()
    history = monitor.history
    for layer in ("0", "2"):
        start, early, late = (history[j] for j in (0, 1, -1))
        assert early[f"{layer}/c_nfa_cos"] > 0.5
        assert early[f"{layer}/c_nfa_cos"] > early[f"{layer}/nfa_cos"] + 0.1
        assert late[f"{layer}/nfa_cos"] > start[f"{layer}/nfa_cos"] + 0.2
        assert late[f"{layer}/vcs_pearson"] > 0.5
    assert late["4/target_linearity"] > late["0/target_linearity"] - 0.2
    assert late["loss"] < 0.3 * start["loss"]
