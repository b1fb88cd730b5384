"""A stack of networks goes exactly where its networks would go alone."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gramian.experiments.stacked import Adam, Descent, Stack, train

F64 = torch.float64
SHAPES = {
    "linear then relu": ((5, 7, 7, 7, 1), ("identity", "identity", "relu"), (False, False, True, True)),
    "all linear": ((5, 7, 7, 3), ("identity", "identity"), (False, False, True)),
    "all linear, no bias": ((5, 6, 3), ("identity",), (False, False)),
    "relu everywhere": ((5, 7, 6, 2), ("relu", "relu"), (True, True, True)),
    "linear in between": ((5, 7, 6, 2), ("relu", "identity"), (True, False, True)),
    "bias in between": ((5, 7, 6, 2), ("identity", "relu"), (True, True, True)),
    "wide input": ((40, 6, 6, 1), ("identity", "relu"), (False, True, True)),
}


def data(shape, networks, n=30, seed=0, loss="squared"):
    rng = torch.Generator().manual_seed(seed)
    X = torch.randn(n, shape[0], generator=rng, dtype=F64)
    if loss == "squared":
        return X, torch.randn(networks, n, shape[-1], generator=rng, dtype=F64)
    return X, torch.randint(shape[-1], (networks, n), generator=rng)


def alone(stack, b):
    """Network b of the stack as an ordinary torch module."""
    layers = []
    for l, (V, bias) in enumerate(zip(stack.weights, stack.biases, strict=True)):
        layer = nn.utils.skip_init(nn.Linear, V.shape[1], V.shape[2], bias=bias is not None, dtype=F64)
        layer.weight.data = V[b].mT.clone()
        if bias is not None:
            layer.bias.data = bias[b, 0].clone()
        layers.append(layer)
        if l < len(stack.activations) and stack.activations[l] == "relu":
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def train_alone(module, X, y, make, loss, *, decay, epochs, batch=None, order=None, drop_after=None):
    """The plain torch loop; weight decay on weights only."""
    weights = [p for p in module.parameters() if p.dim() == 2]
    biases = [p for p in module.parameters() if p.dim() == 1]
    groups = [{"params": weights, "weight_decay": decay}, {"params": biases, "weight_decay": 0.0}]
    optimiser = make(groups)
    criterion = nn.MSELoss() if loss == "squared" else nn.CrossEntropyLoss()
    for epoch in range(epochs):
        if epoch == drop_after:
            for group in optimiser.param_groups:
                group["lr"] *= 0.1
        rows = torch.arange(len(X)) if batch is None else torch.randperm(len(X), generator=order)
        for part in rows.split(batch or len(X)):
            optimiser.zero_grad()
            criterion(module(X[part]), y[part]).backward()
            optimiser.step()
    return module


def assert_same(stack, b, module, **tolerance):
    other = alone(stack, b)
    for ours, theirs in zip(other.parameters(), module.parameters(), strict=True):
        assert_close(ours, theirs, **tolerance)


@pytest.mark.parametrize("loss", ["squared", "cross-entropy"])
@pytest.mark.parametrize("name", SHAPES)
def test_gradient_is_that_of_autograd(name, loss):
    widths, activations, biases = SHAPES[name]
    stack = Stack.random(widths, activations, seeds=[1, 2, 3], biases=biases, loss=loss, dtype=F64)
    X, Y = data(widths, 3, loss=loss)
    gradient = stack.descent(X, Y).clone()
    total = torch.zeros(())
    for b in range(3):
        module = alone(stack, b)
        criterion = nn.MSELoss() if loss == "squared" else nn.CrossEntropyLoss()
        criterion(module(X), Y[b]).backward()
        pieces = [p.grad.mT.flatten() for p in module.parameters() if p.dim() == 2]
        pieces += [p.grad for p in module.parameters() if p.dim() == 1]
        assert_close(gradient[b], torch.cat(pieces))
        total = total + criterion(module(X), Y[b]).detach()
    assert_close(stack.loss(X, Y).sum(), total)


RULES = {
    "gd": (lambda: Descent([0.1, 0.03], [0.1, 0.2]), lambda b: lambda g: torch.optim.SGD(g, lr=[0.1, 0.03][b])),
    "momentum": (
        lambda: Descent([0.05, 0.03], [0.1, 0.2], [0.9, 0.0]),
        lambda b: lambda g: torch.optim.SGD(g, lr=[0.05, 0.03][b], momentum=[0.9, 0.0][b]),
    ),
    "adam": (lambda: Adam([0.01, 0.003], [0.1, 0.2]), lambda b: lambda g: torch.optim.Adam(g, lr=[0.01, 0.003][b])),
}


@pytest.mark.parametrize("batch", [None, 8, 3])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["linear then relu", "relu everywhere", "all linear"])
def test_training_equals_training_one_by_one(name, rule, batch):
    widths, activations, biases = SHAPES[name]
    ours, theirs = RULES[rule]
    stack = Stack.random(widths, activations, seeds=[1, 2], biases=biases, dtype=F64)
    X, Y = data(widths, 2)
    modules = [alone(stack, b) for b in range(2)]
    order = torch.Generator().manual_seed(5)
    train(stack, X, Y, ours(), epochs=12, batch=batch, rng=order, drop_after=9)
    for b, module in enumerate(modules):
        order = torch.Generator().manual_seed(5)
        settings = {"decay": [0.1, 0.2][b], "epochs": 12, "batch": batch, "order": order, "drop_after": 9}
        train_alone(module, X, Y[b], theirs(b), "squared", **settings)
        assert_same(stack, b, module, rtol=1e-9, atol=1e-10)


def test_a_network_that_diverges_leaves_the_others_as_they_are():
    widths, activations, biases = SHAPES["linear then relu"]
    X, Y = data(widths, 3)
    stack = Stack.random(widths, activations, seeds=[1, 2, 3], biases=biases, dtype=F64)
    calm = Stack.random(widths, activations, seeds=[1, 3], biases=biases, dtype=F64)
    train(stack, X, Y, Descent([0.01, 1e4, 0.02], momentum=0.9), epochs=40)
    train(calm, X, Y[[0, 2]], Descent([0.01, 0.02], momentum=0.9), epochs=40)
    assert stack.values[1].isnan().any()
    assert_close(stack.values[[0, 2]], calm.values)


def test_blocks_of_networks_do_not_mix(monkeypatch):
    """With many rows the stack is worked through in blocks; the result is that of one block."""
    widths, activations, biases = SHAPES["linear then relu"]
    X, Y = data(widths, 5)
    whole = Stack.random(widths, activations, seeds=range(5), biases=biases, dtype=F64)
    expected = whole.descent(X, Y).clone()
    monkeypatch.setattr("gramian.experiments.stacked_pass.BLOCK", 2 * 30 * 7)
    parts = Stack.random(widths, activations, seeds=range(5), biases=biases, dtype=F64)
    assert_close(parts.descent(X, Y), expected)


def test_a_network_does_not_depend_on_its_neighbours():
    widths, activations, biases = SHAPES["relu everywhere"]
    one = Stack.random(widths, activations, seeds=[7], biases=biases)
    many = Stack.random(widths, activations, seeds=[3, 7], biases=biases)
    assert_close(many.values[1], one.values[0])


def test_start_is_that_of_torch():
    widths, activations, biases = SHAPES["linear then relu"]
    stack = Stack.random(widths, activations, seeds=[42], biases=biases)
    with torch.random.fork_rng():
        torch.manual_seed(42)
        layers = [nn.Linear(d, k, bias=b) for d, k, b in zip(widths[:-1], widths[1:], biases, strict=True)]
    for layer, V, b in zip(layers, stack.weights, stack.biases, strict=True):
        assert_close(V[0].mT, layer.weight.detach())
        assert b is None or torch.allclose(b[0, 0], layer.bias)


def test_watch_sees_the_start_and_the_end():
    widths, activations, biases = SHAPES["all linear"]
    stack = Stack.random(widths, activations, seeds=[1], biases=biases, dtype=F64)
    X, Y = data(widths, 1)
    start, seen = stack.values.clone(), {}
    train(stack, X, Y, Descent(0.1), epochs=4, watch=lambda e, s: seen.update({e: s.values.clone()}), watch_at=(0, 4))
    assert_close(seen[0], start)
    assert_close(seen[4], stack.values)


def test_errors_name_the_argument():
    widths, activations, _ = SHAPES["all linear"]
    with pytest.raises(ValueError, match="loss must be"):
        Stack.random(widths, activations, seeds=[0], loss="hinge")
    with pytest.raises(ValueError, match="activations"):
        Stack.random(widths, ("tanh", "relu"), seeds=[0])
    stack = Stack.random(widths, activations, seeds=[0, 1])
    X, Y = torch.zeros(4, 5), torch.zeros(2, 4, 3)
    with pytest.raises(ValueError, match="rng"):
        train(stack, X, Y, Descent(0.1), epochs=1, batch=2)
    with pytest.raises(ValueError, match="one for each of 2"):
        train(stack, X, Y, Descent([0.1, 0.2, 0.3]), epochs=1)
