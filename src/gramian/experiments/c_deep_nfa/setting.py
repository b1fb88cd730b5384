"""The setting of paper C's experiments: targets, networks, training and measurements.

Targets follow Parkinson, Ongie and Willett (2025), which paper C cites: ``f*(x) = aᵀg(Ax + b)`` with 21 units and
``A = U diag(σ) Vᵀ`` of rank r, Haar-distributed ``U (21, r)`` and ``V (20, r)``, ``σ ~ U[0, 100]``, ``a ~ N(0, I)``,
``b ~ U[−½, ½]``, ``x ~ U[−½, ½]²⁰``. Weight decay applies to weights and not to biases, as in that paper. Their public
code draws the same distributions; it also has no weight decay in the last 100 epochs, of which paper C says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import haar
from gramian.experiments.stacked import Adam, Descent, Stack, train
from gramian.theory import balanced_init

INPUTS, UNITS, WIDTH = 20, 21, 64
OPTIMISERS = ("adam", "gd", "gdm", "sgd", "sgdm")
PAPER_RATE = {"adam": 1e-4, "gd": 1e-3, "gdm": 1e-3, "sgd": 1e-4, "sgdm": 1e-4}
"""Learning rates of figures 2, 3, 5 and 6."""
DEPTHS = (2, 3, 4, 5)
DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
NOISES = (0.0, 1.0)
PAPER_EPOCHS, LAST_EPOCHS = 60_000, 100
"""Epochs at the full learning rate, and epochs at a tenth of it at the end."""


@dataclass(frozen=True)
class TargetFunction:
    """The target ``f*(x) = aᵀg(Ax + b)``, and its units ``g(Ax + b)``."""

    A: Float[Tensor, "u d"]
    a: Float[Tensor, " u"]
    b: Float[Tensor, " u"]
    link: str

    def units(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n u"]:
        """Return ``g(Ax + b)`` for every row."""
        Z = X @ self.A.mT + self.b
        return {"relu": Z.relu(), "gauss": torch.exp(-Z.square()), "identity": Z}[self.link]

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """Return the target's value at every row."""
        return self.units(X) @ self.a

    def gradients(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1 d"]:
        """Return ``∇f*`` in the shape that :func:`gramian.features.agop` expects."""
        Z = X @ self.A.mT + self.b
        slopes = {"relu": (Z > 0).to(Z.dtype), "gauss": -2 * Z * torch.exp(-Z.square()), "identity": torch.ones_like(Z)}
        return ((slopes[self.link] * self.a) @ self.A)[:, None]


def random_target(rank: int, rng: torch.Generator, link: str = "relu") -> TargetFunction:
    """Draw a random target of this rank.

    >>> target = random_target(2, torch.Generator().manual_seed(0))
    >>> int(torch.linalg.matrix_rank(target.A))
    2
    """
    U = haar(UNITS, rng, columns=rank)
    sigma = 100 * torch.rand(rank, generator=rng, dtype=torch.float64)
    V = haar(INPUTS, rng, columns=rank)
    a = torch.randn(UNITS, generator=rng, dtype=torch.float64)
    b = torch.rand(UNITS, generator=rng, dtype=torch.float64) - 0.5
    return TargetFunction((U * sigma) @ V.mT, a, b, link)


@dataclass(frozen=True)
class StackTraining:
    """Trainings of a stack of networks that differ in weight decay and label noise.

    `depth` is the number L of linear layers before the ReLU layer, or of all layers where `head` is False. The learning
    rate drops to a tenth for the last `tail` of the `epochs`.
    """

    rank: int
    optimiser: str
    depth: int
    rate: float
    epochs: int
    decays: tuple[float, ...] = DECAYS
    noises: tuple[float, ...] = (0.0,)
    tail: int = LAST_EPOCHS
    rows: int = 2048
    link: str = "relu"
    balanced: bool = False
    head: bool = True

    @property
    def nets(self) -> list[tuple[float, float]]:
        """``(noise, decay)`` of every network, in the order of the stack."""
        return [(noise, decay) for noise in self.noises for decay in self.decays]


def data(training: StackTraining, seed: int) -> tuple[Float[Tensor, "n d"], Float[Tensor, "B n c"]]:
    """Draw the rows, and the targets of every network of the stack."""
    rng = torch.Generator().manual_seed(1000 + seed)
    target = random_target(training.rank, rng, training.link)
    X = torch.rand(training.rows, INPUTS, generator=rng, dtype=torch.float64) - 0.5
    y = target(X)[:, None] if training.head else target.units(X)
    noise = torch.randn(y.shape, generator=rng, dtype=torch.float64)
    Y = torch.stack([y + sigma * noise for sigma, _ in training.nets])
    return X.float(), Y.float()


def network(training: StackTraining, seed: int, dtype: torch.dtype = torch.float32) -> Stack:
    """Initialise the stack ``f(x) = aᵀ[W_L … W₁x + b₁]₊ + b₂`` (5.1), or ``W_L … W₁x + b₁`` (C.1) without a head."""
    L, count = training.depth, len(training.nets)
    if training.head:
        widths = (INPUTS, *(WIDTH,) * L, 1)
        activations, biases = ("identity",) * (L - 1) + ("relu",), (False,) * (L - 1) + (True, True)
    else:
        widths = (INPUTS, *(WIDTH,) * (L - 1), UNITS)
        activations, biases = ("identity",) * (L - 1), (False,) * (L - 1) + (True,)
    stack = Stack.random(widths, activations, seeds=[seed] * count, biases=biases, dtype=dtype)
    if training.balanced:
        weights = balanced_init(widths[: L + 1], torch.Generator().manual_seed(seed))
        for V, W in zip(stack.weights, weights, strict=False):
            V.copy_(W.mT)
    return stack


def rule(training: StackTraining) -> Descent | Adam:
    """Return the optimiser; momentum is 0.9 for the optimisers that have it."""
    decays = [decay for _, decay in training.nets]
    if training.optimiser == "adam":
        return Adam(training.rate, decays)
    if training.optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser must be one of {', '.join(OPTIMISERS)}, got {training.optimiser!r}")
    return Descent(training.rate, decays, 0.9 if training.optimiser.endswith("m") else 0.0)


@dataclass(frozen=True)
class TrainedStack:
    """A trained stack, its data, and the alignments ``ρ(W₁ᵀW₁, A^{1/L})`` during training."""

    stack: Stack
    X: Tensor
    Y: Tensor
    epochs: list[int]
    alignments: list[list[float]]

    @property
    def final(self) -> list[float]:
        """The alignment of every network after training."""
        return self.alignments[-1]


def fit(training: StackTraining, seed: int, moments: int = 0) -> TrainedStack:
    """Train the stack; alignments are measured at the start, at the end and at `moments` epochs in between."""
    X, Y = data(training, seed)
    stack = network(training, seed)
    epochs: list[int] = []
    measured: list[list[float]] = []

    def measure(epoch: int, state: Stack) -> None:
        epochs.append(epoch)
        measured.append(alignments(state, 1 / state.linear))

    main = training.epochs - training.tail
    at = {0, training.epochs} | {round(main * (k + 1) / (moments + 1)) for k in range(moments)}
    train_stack(training, stack, X, Y, seed, measure, at)
    return TrainedStack(stack, X, Y, epochs, measured)


def train_stack(
    training: StackTraining,
    stack: Stack,
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "B n c"],
    seed: int,
    watch: Callable[[int, Stack], object] | None = None,
    watch_at: Collection[int] = (),
) -> None:
    """Train the stack in place by the training's optimiser; sgd, sgdm and adam have batches of 64 rows."""
    stochastic = training.optimiser in ("sgd", "sgdm", "adam")
    train(
        stack,
        X,
        Y,
        rule(training),
        epochs=training.epochs,
        batch=64 if stochastic else None,
        rng=torch.Generator().manual_seed(seed) if stochastic else None,
        drop_after=training.epochs - training.tail,
        watch=watch,
        watch_at=watch_at,
    )


def by_decay(panel: tuple[str, object]) -> tuple[str, float]:
    """Return a sort key for panels named like ``"sgd λ=1e-05"``: by name, then by the value of the decay.

    >>> sorted([("a λ=0.01", 1), ("a λ=1e-05", 2)], key=by_decay)[0][1]
    2
    """
    name, _, decay = panel[0].rpartition("λ=")
    return name, float(decay)


def alignments(stack: Stack, power: float) -> list[float]:
    """Return ``ρ(W₁ᵀW₁, A^s)`` of every network; ``A = JᵀJ``, J the Jacobian of the linear layers; NaN if diverged."""
    return alignment_by_power(stack, [power])[0]


def alignment_by_power(stack: Stack, powers: Sequence[float]) -> list[list[float]]:
    """Return the :func:`alignments` for several powers s: one list of networks per power."""
    J, V = stack.jacobian().double(), stack.weights[0].double()
    healthy = J.isfinite().all((1, 2)) & V.isfinite().all((1, 2))
    J, V = J.where(healthy[:, None, None], 0.0), V.where(healthy[:, None, None], 0.0)
    # Small singular values of J are more accurate than small eigenvalues of JᵀJ.
    U, sigma, _ = torch.linalg.svd(J, full_matrices=False)
    G = V @ V.mT
    in_basis = (U.mT @ G @ U).diagonal(dim1=1, dim2=2)
    result = []
    for power in powers:
        values = sigma ** (2 * power)
        rho = (in_basis * values).sum(1) / (G.flatten(1).norm(dim=1) * values.norm(dim=1))
        result.append(rho.where(healthy, torch.nan).tolist())
    return result
