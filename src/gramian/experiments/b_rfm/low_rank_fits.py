"""Networks that the experiments on targets of low rank fit, and scores of fits."""

from __future__ import annotations

from collections.abc import Callable, Collection

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.datasets import Dataset
from gramian.experiments.stacked import Adam, Descent, Stack
from gramian.experiments.stacked import train as train_stack


def split_rows(data: Dataset, n: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return inputs ``(n, d)`` and targets ``(n, 1)`` of the first n rows, then those of the others.

    >>> from gramian.datasets import hermite_index
    >>> [tuple(part.shape) for part in split_rows(hermite_index(5, 3), 2)]
    [(2, 3), (2, 1), (3, 3), (3, 1)]
    """
    X, Y = torch.from_numpy(data.X), torch.from_numpy(data.y).double()[:, None]
    return X[:n], Y[:n], X[n:], Y[n:]


def r2(prediction: Float[Tensor, "n 1"], Y: Float[Tensor, "n 1"]) -> float:
    """Return ``1 − Σ(f − y)² / Σ(y − ȳ)²``.

    >>> r2(torch.tensor([[1.0], [1.0]]), torch.tensor([[0.0], [2.0]]))
    0.0
    """
    return 1 - float((prediction.to(Y.dtype) - Y).square().sum() / (Y - Y.mean()).square().sum())


def network(
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "n 1"],
    hidden: tuple[int, ...],
    rule: Descent | Adam,
    *,
    epochs: int,
    seed: int,
    first_std: float | None = None,
    batch: int | None = None,
    watch: Callable[[int, Stack], object] | None = None,
    watch_at: Collection[int] = (),
) -> Stack:
    """Train a ReLU network without biases in single precision, from torch's default or a small normal first layer.

    ``watch(epochs done, stack)`` is called after the numbers of epochs `watch_at`.

    >>> X = torch.eye(4, dtype=torch.float64)
    >>> network(X, X[:, :1], (8,), Descent(0.1), epochs=2, seed=0).outputs(X.float()).shape
    torch.Size([1, 4, 1])
    """
    widths = (X.shape[1], *hidden, 1)
    stack = Stack.random(widths, ("relu",) * len(hidden), [seed], biases=(False,) * (len(hidden) + 1))
    rng = torch.Generator().manual_seed(seed + 1_000_000)
    if first_std is not None:
        stack.weights[0].copy_(first_std * torch.randn(stack.weights[0].shape, generator=rng))
    rows, targets = X.float(), Y.float()[None]
    train_stack(stack, rows, targets, rule, epochs=epochs, batch=batch, rng=rng, watch=watch, watch_at=watch_at)
    return stack


def sign_network(X: Float[Tensor, "n d"], Y: Float[Tensor, "n 1"], width: int, epochs: int, seed: int) -> Stack:
    """Train the network of Fig. 16a: full-batch descent at rate 0.1 from a small first layer.

    >>> X = torch.eye(4, dtype=torch.float64)
    >>> sign_network(X, X[:, :1], 8, epochs=2, seed=0).outputs(X.float()).shape
    torch.Size([1, 4, 1])
    """
    return network(X, Y, (width,), Descent(0.1), epochs=epochs, seed=seed, first_std=1e-3)


def hermite_network(X: Float[Tensor, "n d"], Y: Float[Tensor, "n 1"], width: int, epochs: int, seed: int) -> Stack:
    """Train the network of Fig. 16d: full-batch Adam at rate 0.01 from torch's default start.

    >>> X = torch.eye(4, dtype=torch.float64)
    >>> hermite_network(X, X[:, :1], 8, epochs=2, seed=0).outputs(X.float()).shape
    torch.Size([1, 4, 1])
    """
    return network(X, Y, (width,), Adam(1e-2), epochs=epochs, seed=seed)


def first_gram(stack: Stack) -> Float[Tensor, "d d"]:
    """Return ``W₁ᵀW₁`` of a stack of one network, in double precision.

    >>> first_gram(Stack.random((2, 3, 1), ("relu",), seeds=[0])).shape
    torch.Size([2, 2])
    """
    V = stack.weights[0][0].double()
    return V @ V.mT


def share(M: Float[Tensor, "d d"], columns: int) -> float:
    """Return the share of the trace on the first columns.

    >>> share(torch.eye(4), 1)
    0.25
    """
    return float(M.diagonal()[:columns].sum() / M.trace())
