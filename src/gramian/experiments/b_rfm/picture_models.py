"""Networks of paper B's pictures, ReLU layers without biases, and the accuracies of networks and kernel machines.

As in the authors' published code, networks have torch's initialisation, and targets are one-hot rows that are not
centred.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from gramian.experiments.b_rfm.machines import ridge_fit
from gramian.rfm import KernelMachine


@dataclass(frozen=True)
class NetworkTraining:
    """A network and its training by the squared error of one-hot targets.

    ``batch`` None is all rows at once; ``first_std`` None is torch's initialisation of the first layer, else its
    weights are normal with this standard deviation.
    """

    hidden: int = 2
    width: int = 1024
    optimizer: str = "sgd"
    rate: float = 0.1
    batch: int | None = 128
    epochs: int = 500
    first_std: float | None = None


def bias_free(sizes: tuple[int, ...], rng: torch.Generator, first_std: float | None = None) -> nn.Sequential:
    """Make a ReLU network without biases, with weights ``U(±1/√fan-in)`` drawn from ``rng``.

    >>> net = bias_free((4, 8, 2), torch.Generator().manual_seed(0), first_std=1e-3)
    >>> [tuple(weight.shape) for weight in net.parameters()], bool(next(net.parameters()).abs().max() < 0.01)
    ([(8, 4), (2, 8)], True)
    """
    modules: list[nn.Module] = []
    for index, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        layer = nn.utils.skip_init(nn.Linear, fan_in, fan_out, bias=False)
        with torch.no_grad():
            if index == 0 and first_std is not None:
                layer.weight.normal_(0, first_std, generator=rng)
            else:
                layer.weight.uniform_(-1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in), generator=rng)
        modules += [layer, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def train_network(
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "n c"],
    training: NetworkTraining,
    rng: torch.Generator,
    watch: Callable[[int, nn.Sequential], None] | None = None,
) -> nn.Sequential:
    """Train a network; ``watch(epochs done, network)`` is called before the first epoch and after every one.

    >>> X = torch.eye(3)
    >>> fit = NetworkTraining(hidden=1, width=8, epochs=200, batch=None)
    >>> accuracy_of(train_network(X, X, fit, torch.Generator().manual_seed(0))(X), X.argmax(1))
    1.0
    """
    model = bias_free((X.shape[1], *[training.width] * training.hidden, Y.shape[1]), rng, training.first_std)
    optimizer: torch.optim.Optimizer
    if training.optimizer == "adam":
        optimizer = torch.optim.Adam(model.parameters(), lr=training.rate, fused=True)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=training.rate, fused=True)
    with torch.enable_grad():
        for epoch in range(training.epochs):
            if watch is not None:
                watch(epoch, model)
            for rows in torch.randperm(len(X), generator=rng).split(training.batch or len(X)):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(X[rows]), Y[rows]).backward()
                optimizer.step()
    if watch is not None:
        watch(training.epochs, model)
    return model


def gram(model: nn.Sequential) -> Float[Tensor, "d d"]:
    """``W₁ᵀW₁`` of the first layer."""
    W = first_weight(model)
    return W.mT @ W


def first_weight(model: nn.Sequential) -> Float[Tensor, "k d"]:
    """The weight ``W₁ (k, d)`` of the first layer, without its graph."""
    return next(model.parameters()).detach()


def gram_diagonal(model: nn.Sequential) -> Float[Tensor, " d"]:
    """The diagonal of ``W₁ᵀW₁``: the squared norm of each pixel's weights."""
    return first_weight(model).double().square().sum(0)


def accuracy_of(outputs: Float[Tensor, "n c"], labels: Int[Tensor, " n"]) -> float:
    """Share of rows whose largest output is that of their label.

    >>> accuracy_of(torch.tensor([[0.1, 0.9], [0.2, 0.3]]), torch.tensor([1, 0]))
    0.5
    """
    return float((outputs.argmax(1) == labels).double().mean())


def scores(
    predict: Callable[[Tensor], Tensor], X: Float[Tensor, "n d"], labels: Int[Tensor, " n"], block: int = 2000
) -> float:
    """Accuracy of a model on many rows, a block at a time and without a graph."""
    with torch.no_grad():
        return accuracy_of(torch.cat([predict(part) for part in X.split(block)]), labels)


def refit_accuracy(
    kept: Bool[Tensor, " d"],
    rows: tuple[Float[Tensor, "n d"], Float[Tensor, "n c"]],
    test: tuple[Float[Tensor, "m d"], Int[Tensor, " m"]],
    ridge: float,
) -> float:
    """Test accuracy of a Laplace kernel that is trained on some of the columns only.

    >>> X, y = torch.eye(2, dtype=torch.float64), torch.arange(2)
    >>> refit_accuracy(torch.tensor([True, False]), (X, X), (X, y), 1e-3)
    1.0
    """
    machine = ridge_fit(rows[0][:, kept].contiguous(), rows[1], ridge)
    return scores(predictor(machine), test[0][:, kept].contiguous(), test[1])


def shown(diagonal: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
    """A diagonal as the paper's figures show it: scaled from its smallest entry (0) to its largest (1).

    >>> shown(torch.tensor([2.0, 3.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000], dtype=torch.float64)
    """
    diagonal = diagonal.double()
    return (diagonal - diagonal.min()) / (diagonal.max() - diagonal.min())


def share_on(diagonal: Float[Tensor, " d"], mask: Bool[Tensor, " d"]) -> float:
    """Share of a diagonal's sum that lies on the columns of a mask.

    >>> share_on(torch.tensor([1.0, 3.0]), torch.tensor([False, True]))
    0.75
    """
    return float(diagonal[mask].sum() / diagonal.sum())


def predictor(machine: KernelMachine) -> Callable[[Tensor], Tensor]:
    """The outputs of a kernel machine as a function of rows, by the faster path."""
    return lambda X: machine.predict(X, batch_invariant=False)
