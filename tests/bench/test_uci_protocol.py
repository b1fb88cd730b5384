"""The protocol of paper B on the UCI sets."""

import numpy as np
import pytest

from gramian.bench import uci_protocol
from gramian.datasets import uci


@pytest.mark.parametrize("name", uci_protocol.UPDATES)
def test_the_protocol_learns_synthetic_sets(folder, name):
    outcome = uci_protocol.evaluate(uci("bands", folder), name)
    assert outcome.score == np.mean(outcome.scores) > 0.6
    assert len(outcome.scores) == 4
    assert outcome.choice.ridge in uci_protocol.RIDGES
    if name == "paper-laplace":
        assert outcome.choice.round == 0


def test_the_protocol_refuses_more_than_the_memory(folder, monkeypatch):
    monkeypatch.setattr(uci_protocol, "resolve_memory", lambda size, device: 10_000)
    with pytest.raises(MemoryError, match=r"45 rows need .* 10.* may be used"):
        uci_protocol.evaluate(uci("bands", folder), "paper-laplace")


def test_the_protocol_does_not_divide_by_a_zero_norm():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert list(uci_protocol._inputs(X, 2)) == [False]
    normal = uci_protocol._inputs(X[:1], 1)[True]
    np.testing.assert_allclose(normal.norm(dim=1), 1)
