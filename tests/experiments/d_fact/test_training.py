"""Networks of paper D: training equals torch's SGD and does not depend on the number of threads."""

import pytest
import torch
from torch import nn

from gramian.core import pearson, psd_power, threads
from gramian.experiments.d_fact.images import images
from gramian.experiments.d_fact.training import (
    BACKWARD,
    FORWARD,
    ImageTraining,
    TrainedNetwork,
    correlations,
    mlp,
    train,
)

TINY = ImageTraining("digits", 96, hidden=2, width=16, weight_decay=1e-3, epochs=3, batch=32)


def test_training_is_plain_sgd():
    """The same rows, start and batches under torch's own loop, momentum and decay by hand."""
    run = train(TINY, seed=3)
    rng = torch.Generator().manual_seed(3)
    X, Y = images("digits", 96, rng)
    model = mlp((64, 16, 16, 10), rng)
    velocity = [torch.zeros_like(p) for p in model.parameters()]
    for epoch in range(3):
        rate = 0.1 * (1 + torch.cos(torch.tensor(torch.pi * epoch / 3)).item()) / 2
        for rows in torch.randperm(96, generator=rng).split(32):
            slopes = torch.autograd.grad((model(X[rows]) - Y[rows]).square().mean(), list(model.parameters()))
            with torch.no_grad():
                for p, v, g in zip(model.parameters(), velocity, slopes, strict=True):
                    v.mul_(0.9).add_(g + 1e-3 * p)
                    p.sub_(rate * v)
    for ours, theirs in zip(run.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours.detach(), theirs.detach(), rtol=1e-4, atol=1e-6)


def test_the_number_of_threads_does_not_matter():
    with threads(2):
        two = train(TINY, seed=0)
        assert torch.get_num_threads() == 2
    with threads(1):
        one = train(TINY, seed=0)
    for a, b in zip(one.model.parameters(), two.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_watch_is_called_at_the_start_and_after_every_epoch():
    seen = []
    run = train(TINY, seed=0, watch=lambda epoch, at: seen.append((epoch, len(at.losses))))
    assert seen == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert len(run.losses) == 3


def test_correlations_match_their_definitions():
    """Every matrix of a layer from autograd's per-row gradients, in float64."""
    run = train(TINY, seed=1)
    found = correlations(run, 1e-3, layers=None, backward=True)
    model = run.model.double()
    X, Y = run.X.double(), run.Y.double()
    linear = [module for module in model if isinstance(module, nn.Linear)]
    inputs, outputs = [], []
    h = X
    for module in model:
        if isinstance(module, nn.Linear):
            h = h.detach().requires_grad_() if not inputs else h
            h.retain_grad() if h.requires_grad and not h.is_leaf else None
            inputs.append(h)
            h = module(h)
            outputs.append(h)
        else:
            h = module(h)
    f = h
    loss = (f - Y).square().mean(1).sum()
    W = linear[1].weight.detach()
    n = len(X)
    V, Vz = torch.autograd.grad(loss, [inputs[1], outputs[1]], retain_graph=True)
    G = torch.stack([torch.autograd.grad(f[:, c].sum(), inputs[1], retain_graph=True)[0] for c in range(10)], 1)
    H, Z = inputs[1].detach(), inputs[1].detach() @ W.mT
    F, B = -V.mT @ H / (n * 1e-3), -Z.mT @ Vz / (n * 1e-3)
    agop = torch.einsum("nck,ncl->kl", G, G) / n
    naive = {
        "fact": (W.mT @ W, F),
        "fact_polar": (W.mT @ W, psd_power(F @ F.mT, 0.5)),
        "agop": (W.mT @ W, agop),
        "agop_half": (W.mT @ W, psd_power(agop, 0.5)),
        "enfa_half": (W.mT @ W, psd_power(V.mT @ V / n, 0.5)),
        "bfact": (W @ W.mT, B),
        "benfa": (W @ W.mT, Vz.mT @ Vz / n),
    }
    for name, (gram, M) in naive.items():
        assert found[name][1] == pytest.approx(pearson(gram, M), abs=1e-3), name
    assert set(found) == set(FORWARD + BACKWARD)


def test_fact_is_the_gram_matrix_at_a_stationary_point():
    """With tanh, since ReLU networks may have their minimum in a kink: FACT holds in every layer, both ways."""
    rng = torch.Generator().manual_seed(0)
    X = torch.randn(40, 5, generator=rng, dtype=torch.float64)
    Y = torch.nn.functional.one_hot(torch.randint(3, (40,), generator=rng), 3).double()
    model = nn.Sequential(*[nn.Tanh() if isinstance(m, nn.ReLU) else m for m in mlp((5, 8, 3), rng)]).double()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2000, tolerance_change=0, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        penalty = sum(p.square().sum() for p in model.parameters())
        loss = nn.functional.mse_loss(model(X), Y) + 5e-3 * penalty
        loss.backward()
        return loss

    optimizer.step(closure)
    found = correlations(TrainedNetwork(model, X, Y, ()), 1e-2, layers=None, backward=True)
    for name in ("fact", "fact_polar", "bfact", "bfact_polar"):
        assert min(found[name]) > 0.9999, name
