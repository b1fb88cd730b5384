"""The protocol of paper B on the UCI sets."""

import numpy as np
import pytest
import torch

from gramian.bench import uci_protocol
from gramian.datasets import uci
from gramian.kernels import NTK


@pytest.mark.parametrize("name", uci_protocol.UPDATES)
def test_the_protocol_learns_synthetic_sets(folder, name):
    outcome = uci_protocol.evaluate(uci("bands", folder), name)
    assert outcome.score == np.mean(outcome.scores) > 0.6
    assert len(outcome.scores) == 4
    assert outcome.choice.ridge in uci_protocol.RIDGES
    if uci_protocol.UPDATES[name] is None:
        assert outcome.choice.round == 0
    assert (outcome.choice.depth > 0) == (name == "paper-ntk")


def test_the_protocol_refuses_more_than_the_memory(folder, monkeypatch):
    monkeypatch.setattr(uci_protocol, "resolve_memory", lambda size, device: 10_000)
    with pytest.raises(MemoryError, match=r"45 rows need .* 10.* may be used"):
        uci_protocol.evaluate(uci("bands", folder), "paper-laplace")


def test_the_protocol_does_not_divide_by_a_zero_norm():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert list(uci_protocol._inputs(X, 2)) == [False]
    normal = uci_protocol._inputs(X[:1], 1)[True]
    np.testing.assert_allclose(normal.norm(dim=1), 1)


def test_the_ntk_is_fitted_with_the_selected_depth(folder):
    """The scores of the splits are those of NTK ridge regression written out."""
    data = uci("bands", folder)
    outcome = uci_protocol.evaluate(data, "paper-ntk")
    point = outcome.choice
    X = torch.from_numpy(data.X)
    X = X / X.norm(dim=1, keepdim=True) if point.normalize else X
    Y = torch.nn.functional.one_hot(torch.as_tensor(np.unique(data.y, return_inverse=True)[1])).double()
    train, test = (torch.as_tensor(rows) for rows in data.splits[0])
    K = NTK(point.depth)(X[train]) + point.ridge * torch.eye(len(train), dtype=torch.float64)
    out = NTK(point.depth)(X[test], X[train]) @ torch.linalg.solve(K, Y[train])
    assert outcome.scores[0] == float((out.argmax(1) == Y[test].argmax(1)).double().mean())
