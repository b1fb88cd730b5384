"""Many small networks trained at once: one tensor holds the parameters of all, and batched products update all.

A network of a paper's size (width 64, 20 inputs) is so small that calling torch costs more than the arithmetic. Here B
networks of the same widths share each call, and leading layers without activation or bias are multiplied together
first, ``W_L … W₁``, so that their cost does not grow with the number of rows. Every network has its own initial
weights, targets, learning rate, weight decay and momentum, and is trained exactly as it would be alone; a network that
diverges stays NaN and does not affect the others. Networks of different depth need separate stacks.

>>> import torch
>>> stack = Stack.random((3, 4, 4, 1), ("identity", "relu"), seeds=[0, 1], biases=(False, True, True))
>>> X, Y = torch.randn(8, 3, generator=torch.Generator().manual_seed(0)), torch.ones(2, 8, 1)
>>> train(stack, X, Y, Descent(learning_rate=[0.1, 0.01], momentum=0.9), epochs=100)
>>> stack.loss(X, Y).shape
torch.Size([2])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.experiments.stacked_pass import LayerTensors, StackPass
from gramian.experiments.stacked_rules import Adam, Descent

__all__ = ["Adam", "Descent", "Stack", "train"]

LOSSES = ("squared", "cross-entropy")


class Stack:
    """B networks ``f(x) = φ_l(… φ₁(x V₁ + b₁) …) V_l + b_l`` with weights ``V_l = W_lᵀ (B, d_l, d_{l+1})``.

    Parameters
    ----------
    widths : sequence of int
        ``(d₁, …, d_{l+1})``: inputs, hidden layers, outputs.
    activations : sequence of str
        ``"identity"`` or ``"relu"`` after every layer but the last.
    weights : sequence of tensors ``(B, d_l, d_{l+1})``
    biases : sequence of tensors ``(B, 1, d_{l+1})`` or None
        None where a layer has no bias. Weight decay does not apply to biases.
    loss : str
        ``"squared"``, the mean over rows and outputs as ``torch.nn.MSELoss``, or ``"cross-entropy"`` with classes.

    Attributes
    ----------
    values : tensor ``(B, P)``
        All parameters, the weights before the biases; `weights` and `biases` are views of it.
    decayed : int
        Number of weights among the P parameters.
    """

    def __init__(
        self,
        widths: Sequence[int],
        activations: Sequence[str],
        weights: Sequence[Tensor],
        biases: Sequence[Tensor | None],
        loss: Any = "squared",
    ) -> None:
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        if len(activations) != len(widths) - 2 or not set(activations) <= {"identity", "relu"}:
            raise ValueError(
                f"activations must be 'identity' or 'relu' for each of {len(widths) - 2} hidden layers, "
                f"got {tuple(activations)}"
            )
        if not len(weights) == len(biases) == len(widths) - 1:
            raise ValueError(f"widths {tuple(widths)} need {len(widths) - 1} weights and biases (None for no bias)")
        self.widths, self.activations, self.loss_name = tuple(widths), tuple(activations), loss
        given = [b for b in biases if b is not None]
        self.decayed = sum(V[0].numel() for V in weights)
        self.values = torch.cat([p.flatten(1) for p in [*weights, *given]], 1)
        self.gradient = torch.zeros_like(self.values)
        shapes = [V.shape[1:] for V in weights] + [b.shape[1:] for b in given]
        self.weights, self.biases = _views(self.values, shapes, biases)
        # Each layer's gradients are contiguous, which batched products need to be written fast.
        self._gradients = LayerTensors(
            [V.new_zeros(V.shape) for V in weights], [None if b is None else b.new_zeros(b.shape) for b in biases]
        )
        # The leading layers whose product is one matrix: no activation and no bias in between.
        self.linear = 1
        while self.linear < len(weights) and activations[self.linear - 1] == "identity":
            if biases[self.linear - 1] is not None:
                break
            self.linear += 1
        self._passes: dict[int, StackPass] = {}

    @classmethod
    def random(
        cls,
        widths: Sequence[int],
        activations: Sequence[str],
        seeds: Sequence[int],
        *,
        biases: Sequence[bool] | None = None,
        loss: Any = "squared",
        dtype: torch.dtype = torch.float32,
    ) -> Stack:
        """Make one network per seed, equal to the one of ``torch.manual_seed(seed)`` and ``torch.nn.Linear``.

        Weights and biases are uniform in ``±1/√d_l``, drawn in single precision, layer by layer.

        >>> Stack.random((2, 3, 1), ("relu",), seeds=[5]).values.shape
        torch.Size([1, 13])
        """
        biases = [True] * (len(widths) - 1) if biases is None else biases
        weights: list[list[Tensor]] = [[] for _ in biases]
        offsets: list[list[Tensor]] = [[] for _ in biases]
        for seed in seeds:
            rng = torch.Generator().manual_seed(seed)
            for l, (d, k) in enumerate(pairwise(widths)):
                bound = 1 / d**0.5
                W = torch.empty(k, d, dtype=torch.float32).uniform_(-bound, bound, generator=rng)
                weights[l].append(W.mT.to(dtype))
                if biases[l]:
                    b = torch.empty(1, k, dtype=torch.float32).uniform_(-bound, bound, generator=rng)
                    offsets[l].append(b.to(dtype))
        made = [torch.stack(b) if b else None for b in offsets]
        return cls(widths, activations, [torch.stack(V) for V in weights], made, loss)

    def __len__(self) -> int:
        return len(self.values)

    def outputs(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "B n c"]:
        """Return the outputs of every network on the same rows."""
        H = X.expand(len(self), -1, -1)
        for V, bias, activation in zip(self.weights, self.biases, [*self.activations, "identity"], strict=True):
            H = torch.bmm(H, V) if bias is None else torch.baddbmm(bias, H, V)
            H = H.relu() if activation == "relu" else H
        return H

    def loss(self, X: Float[Tensor, "n d"], Y: Tensor) -> Float[Tensor, " B"]:
        """Return the loss of every network, without weight decay."""
        F = self.outputs(X)
        if self.loss_name == "squared":
            return (F - Y).square().mean((1, 2))
        return -F.log_softmax(2).gather(2, Y[..., None]).mean((1, 2))

    def jacobian(self) -> Float[Tensor, "B d k"]:
        """Return ``(W_L … W₁)ᵀ`` of the leading linear layers."""
        product = self.weights[0]
        for V in self.weights[1 : self.linear]:
            product = torch.bmm(product, V)
        return product

    def descent(self, X: Float[Tensor, "n d"], Y: Tensor) -> Float[Tensor, "B P"]:
        """Return the gradient of every network's loss at its own parameters, in the layout of `values`.

        `Y` is ``(B, n, c)``, or classes ``(B, n)``. The tensor is overwritten by the next call.
        """
        stack_pass = self._pass_for(len(X))
        stack_pass.run(stack_pass.rows(X), Y, self.loss_name)
        made = [*self._gradients.weights, *(b for b in self._gradients.biases if b is not None)]
        return torch.cat([g.flatten(1) for g in made], 1, out=self.gradient)

    def _pass_for(self, rows: int) -> StackPass:
        if rows not in self._passes:
            # A product of the layers costs as much as passing d₁ rows through them one after the other.
            first = self.linear if rows > self.widths[0] else 1
            relu = [activation == "relu" for activation in self.activations]
            self._passes[rows] = StackPass(LayerTensors(self.weights, self.biases), self._gradients, relu, first, rows)
        return self._passes[rows]


def train(
    stack: Stack,
    X: Float[Tensor, "n d"],
    Y: Tensor,
    rule: Descent | Adam,
    *,
    epochs: int,
    batch: int | None = None,
    rng: torch.Generator | None = None,
    drop_after: int | None = None,
    drop: float = 0.1,
    watch: Callable[[int, Stack], object] | None = None,
    watch_at: Collection[int] = (),
) -> None:
    """Train every network of the stack in place, all on the same rows `X` and each on its own targets `Y`.

    Parameters
    ----------
    rule : Descent or Adam
        Updates the parameters; it has a state, so a second call continues where the first ended.
    epochs : int
    batch : int or None
        Rows per step; None for all of them. The last batch of an epoch may be smaller.
    rng : torch.Generator or None
        Draws the order of the rows in each epoch, the same for all networks; needed with `batch`.
    drop_after, drop : int and float
        From this epoch on every learning rate is multiplied by `drop`.
    watch, watch_at : callable and epochs
        ``watch(epoch, stack)`` is called before each of these epochs; `epochs` is the end.
    """
    if batch is not None and rng is None:
        raise ValueError("batches need a random order of the rows: give rng=torch.Generator().manual_seed(...)")
    moments = set(watch_at) if watch is not None else set()
    for epoch in range(epochs):
        if epoch == drop_after:
            rule.scale *= drop
        if epoch in moments and watch is not None:
            watch(epoch, stack)
        if batch is None:
            rule.step(stack.values, stack.descent(X, Y), stack.decayed)
            continue
        order = torch.randperm(len(X), generator=rng)
        mixed, targets = X[order], Y[:, order]
        for start in range(0, len(X), batch):
            rows = slice(start, start + batch)
            rule.step(stack.values, stack.descent(mixed[rows], targets[:, rows]), stack.decayed)
    if epochs in moments and watch is not None:
        watch(epochs, stack)


def _views(
    flat: Tensor, shapes: Sequence[torch.Size], biases: Sequence[Tensor | None]
) -> tuple[list[Tensor], list[Tensor | None]]:
    """Return views of ``flat (B, P)`` in these shapes: the weights, and the biases or None."""
    parts, start = [], 0
    for shape in shapes:
        parts.append(flat[:, start : start + shape.numel()].unflatten(1, tuple(shape)))
        start += shape.numel()
    rest = iter(parts[len(biases) :])
    return parts[: len(biases)], [None if b is None else next(rest) for b in biases]
