"""Recurrent modules: the loop over steps is the fused call, and nothing of it is left behind."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets import Monitor, inspect, target_linearity
from gramian.nets.layers import find_layers
from nets.models import Recurrent, seeded

X = torch.randn(12, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LABELS = torch.arange(12) % 2


class Last(nn.Module):
    """The last hidden state, of a batch or of a loop over samples without a batch dimension."""

    def __init__(self, kind, loop):
        super().__init__()
        self.inner, self.loop = kind(3, 4, num_layers=2, bidirectional=True), loop

    def forward(self, x):
        x = x.transpose(0, 1)
        if not self.loop:
            return self._last(self.inner(x)[1])
        return torch.cat([self._last(self.inner(x[:, j])[1]) for j in range(x.shape[1])])

    def _last(self, state):
        state = state[0] if isinstance(state, tuple) else state
        return state.sum(0).reshape(-1, 4)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_samples_without_a_batch_dimension_are_those_of_the_batch(kind):
    one, two = (inspect(seeded(lambda loop=loop: Last(kind, loop)), X) for loop in (True, False))
    assert len(one.layers) == 8
    for layer in one.layers:
        np.testing.assert_allclose(one.matrix(layer, "agop"), two.matrix(layer, "agop"), rtol=1e-10, atol=1e-16)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell, nn.RNNCell])
def test_a_cell_without_a_batch_dimension_is_that_of_the_batch(kind):
    class Step(nn.Module):
        def __init__(self, loop):
            super().__init__()
            self.cell, self.loop = kind(3, 4), loop

        def forward(self, x):
            states = [self._hidden(one) for one in x] if self.loop else self._hidden(x)
            return torch.stack(states) if self.loop else states

        def _hidden(self, x):
            state = self.cell(x, self.cell(x.sin()))
            return state[0] if isinstance(state, tuple) else state

    one, two = (inspect(seeded(lambda loop=loop: Step(loop)), X[:, 0]) for loop in (True, False))
    assert one.layers == ["cell.weight_ih", "cell.weight_hh"]
    for layer in one.layers:
        np.testing.assert_allclose(one.matrix(layer, "agop"), two.matrix(layer, "agop"), rtol=1e-10, atol=1e-16)


def test_a_model_that_is_one_recurrent_module_has_the_names_of_its_weights():
    layers, skipped = find_layers(seeded(lambda: nn.LSTM(3, 4, proj_size=2, bidirectional=True)))
    assert [layer.name for layer in layers] == [
        f"weight_{part}_l0{way}" for way in ("", "_reverse") for part in ("ih", "hh", "hr")
    ]
    assert not skipped


def test_some_weights_can_be_selected():
    report = inspect(seeded(Recurrent), X, layers="*.weight_hh_*")
    assert report.layers == ["inner.weight_hh_l0"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_forward_method_is_restored(fails):
    model = seeded(Recurrent)
    if fails:
        model.head.register_forward_hook(lambda *ignored: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            inspect(model, X)
    else:
        inspect(model, X)
    assert "forward" not in vars(model.inner)


def test_features_of_steps_are_averaged():
    model = seeded(lambda: Recurrent(nn.GRU))
    rows = {entry["layer"]: entry for entry in inspect(model, (X, LABELS)).rows}
    onehot = nn.functional.one_hot(LABELS, 2).double()
    with torch.no_grad():
        hidden = model.inner(X.transpose(0, 1))[0].transpose(0, 1)
    before = torch.cat([torch.zeros(12, 1, 4, dtype=torch.float64), hidden[:, :-1]], 1)
    for layer, H in (("inner.weight_ih_l0", X.mean(1)), ("inner.weight_hh_l0", before.mean(1))):
        expected = target_linearity(H, onehot, rows[layer]["target_linearity_gamma"])
        assert rows[layer]["target_linearity"] == pytest.approx(expected, abs=1e-9)


def test_packed_sequences_have_no_features_per_sample():
    rows = inspect(seeded(lambda: Recurrent(packed=True)), (X, LABELS)).rows
    assert math.isnan(rows[0]["target_linearity"])
    assert not math.isnan(rows[-1]["target_linearity"])


def test_an_output_that_is_not_that_of_the_steps_is_skipped(monkeypatch):
    plain = nn.GRU.forward
    monkeypatch.setattr(nn.GRU, "forward", lambda self, x, hx=None: (2 * plain(self, x, hx)[0], plain(self, x, hx)[1]))
    report = inspect(seeded(lambda: Recurrent(nn.GRU)), X)
    assert report.layers == ["head"]
    assert "not that of its steps" in report.skipped["inner.weight_ih_l0"]


def test_the_monitor_follows_recurrent_weights():
    model = seeded(Recurrent)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monitor = Monitor(model, (X, LABELS), "cross_entropy", every=2, optimizer=optimizer, vcs="full")
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), LABELS).backward()
        monitor.step()
        optimizer.step()
    assert monitor.metrics["inner.weight_hh_l0/c_nfa_cos"] > 0
    assert monitor.metrics["inner.weight_hh_l0/vcs_pearson"] > 0.9
