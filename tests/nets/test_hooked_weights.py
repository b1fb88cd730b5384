"""Weights that a hook computes before each forward pass: pruning, and the older weight norm and spectral norm."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

from gramian.nets import Monitor, inspect
from nets.models import mlp, seeded

X = torch.randn(12, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
Y = torch.arange(12) % 3
HOOKS = {
    "prune": lambda linear: prune.l1_unstructured(linear, "weight", 0.3),
    "weight norm": nn.utils.weight_norm,
    "spectral norm": nn.utils.spectral_norm,
}


def build(hook, seed=0):
    def make():
        model = mlp()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # weight_norm has a successor
            HOOKS[hook](model[0])
        return model

    return seeded(make, seed).eval()


def weight(model):
    """The matrix that the hook computes from the parameters."""
    with torch.no_grad():
        model(X)
    return model[0].weight.detach().clone()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("hook", HOOKS)
def test_weights_that_a_hook_computes(hook, compiled):
    model, start = build(hook), build(hook, seed=3)
    W, W0 = weight(model), weight(start)
    plain = seeded(mlp)
    with torch.no_grad():
        for i in (0, 2, 4):
            plain[i].weight.copy_(model[i].weight)
            plain[i].bias.copy_(model[i].bias)
    if compiled:
        # As model.compile() does, with a compiler that returns the function: torch's would trace the checks of types.
        model._compiled_call_impl = model._call_impl
    report = inspect(model, (X, Y), "cross_entropy", weight_decay=0.1, initial=start.state_dict())
    expected = inspect(plain, (X, Y), "cross_entropy", weight_decay=0.1)
    np.testing.assert_allclose(report.matrix("0", "nfm"), (W.mT @ W).numpy(), rtol=1e-10)
    np.testing.assert_allclose(report.matrix("0", "nfm_initial"), (W0.mT @ W0).numpy(), rtol=1e-10)
    for layer in ("0", "2"):
        for name in ("agop", "enfa", "vcs"):
            np.testing.assert_allclose(
                report.matrix(layer, name), expected.matrix(layer, name), rtol=1e-9, atol=1e-15, err_msg=name
            )
    assert report.rows[0]["c_nfa_cos"] > 0
    with pytest.raises(ValueError, match="computed from other parameters"):
        report.matrix("0", "fact")
    np.testing.assert_allclose(report.matrix("2", "fact"), expected.matrix("2", "fact"), rtol=1e-9)
    torch.testing.assert_close(model[0].weight.detach(), W)  # not that of the initial weights


def test_the_monitor_follows_a_pruned_model():
    model = build("prune")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    monitor = Monitor(model, (X, Y), "cross_entropy", every=4, optimizer=optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(X), Y).backward()
        monitor.step()
        optimizer.step()
    assert monitor.metrics["0/c_nfa_cos"] > 0
    assert monitor.metrics["2/vcs_pearson"] > 0.99
