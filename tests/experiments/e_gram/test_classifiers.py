"""Classifiers of paper E: training is torch's own, and target linearity and surrogate are those of the definition."""

import math

import pytest
import torch
from torch import nn

from gramian.experiments.e_gram.classifiers import (
    accuracy,
    cnn_classifier,
    layer_linearity,
    train_classifier,
    whitened_sgd,
)
from gramian.experiments.e_gram.small_nets import perceptron


def data(seed=0, n=40, d=6, classes=3):
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=rng), torch.randint(classes, (n,), generator=rng), rng


def test_training_is_plain_sgd_with_momentum():
    X, y, _ = data()
    net, twin = (perceptron((6, 5, 3), "gelu", torch.Generator().manual_seed(1)) for _ in range(2))
    order = torch.Generator().manual_seed(2)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    seen = []
    train_classifier(net, X, y, sgd, epochs=3, batch=16, rng=order, watch=seen.append)
    assert seen == [0, 1, 2, 3]
    order = torch.Generator().manual_seed(2)
    velocity = [torch.zeros_like(p) for p in twin.parameters()]
    for _ in range(3):
        for rows in torch.randperm(40, generator=order).split(16):
            loss = -twin(X[rows]).log_softmax(1)[torch.arange(len(rows)), y[rows]].mean()
            slopes = torch.autograd.grad(loss, list(twin.parameters()))
            with torch.no_grad():
                for p, v, g in zip(twin.parameters(), velocity, slopes, strict=True):
                    v.mul_(0.9).add_(g)
                    p.sub_(0.1 * v)
    for ours, theirs in zip(net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.detach(), theirs.detach(), rtol=1e-4, atol=1e-6)


@torch.no_grad()
def test_linearity_and_surrogate_are_those_of_the_definition():
    """Least squares by lstsq and the n × n Gram matrix, in float64."""
    X, y, rng = data(n=60)
    net = perceptron((6, 5, 4, 3), "gelu", rng).double()
    linearity, surrogates = layer_linearity(net, X.double(), y, 3)
    Y = nn.functional.one_hot(y, 3).double()
    Y = Y - Y.mean(0)
    H = X.double()
    for layer in range(2):
        H = nn.functional.gelu(net[2 * layer](H))
        fitted = H @ torch.linalg.lstsq(H, Y).solution
        assert linearity[layer] == pytest.approx(float(1 - (Y - fitted).square().sum() / Y.square().sum()), rel=1e-9)
        Z = H @ net[2 * layer + 2].weight.mT
        assert surrogates[layer] == pytest.approx(float((Y.mT @ Z @ Z.mT @ Y).diagonal().mean()), rel=1e-9)


def test_a_whitened_step_has_the_gram_matrix_of_the_plain_one():
    X, y, _ = data(d=64)
    made = [cnn_classifier((1, 8, 8), 4, 3, torch.Generator().manual_seed(1)) for _ in range(2)]
    start = [p.detach().clone() for p in made[0].parameters()]
    whitened, plain = whitened_sgd(made[0], 0.1, 0.9, "svd"), torch.optim.SGD(made[1].parameters(), lr=0.1)
    for net, optimizer in zip(made, (whitened, plain), strict=True):
        nn.functional.cross_entropy(net(X), y).backward()
        optimizer.step()
    assert len(whitened.whitened) == 4
    for ours, theirs, before in zip(made[0].parameters(), made[1].parameters(), start, strict=True):
        if ours.ndim > 1:
            W, V = ours.detach().flatten(1), theirs.detach().flatten(1)
            torch.testing.assert_close(W.mT @ W, V.mT @ V, rtol=1e-4, atol=1e-5)
            assert (W - before.flatten(1)).norm() < (V - before.flatten(1)).norm()


@pytest.mark.parametrize("kernel", [2, 3])
def test_the_cnn_has_three_convolutions_and_two_poolings(kernel):
    net = cnn_classifier((3, 16, 16), 4, 7, torch.Generator().manual_seed(0), kernel)
    kinds = [type(module).__name__ for module in net]
    assert kinds.count("Conv2d") == 3
    assert kinds.count("MaxPool2d") == 2
    assert net(torch.zeros(2, 768)).shape == (2, 7)
    for layer in (module for module in net if hasattr(module, "weight")):
        bound = 1 / math.sqrt(layer.weight[0].numel())
        assert 0.8 * bound < float(layer.weight.detach().abs().max()) <= bound


def test_accuracy_counts_the_largest_output():
    net = perceptron((2, 2), "gelu", torch.Generator())[0]
    with torch.no_grad():
        net.weight.copy_(torch.eye(2))
        net.bias.zero_()
    X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    assert accuracy(net, X, torch.tensor([0, 1, 1])) == 2 / 3
