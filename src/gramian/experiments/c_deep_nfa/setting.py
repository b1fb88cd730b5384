"""The setting of paper C's experiments: the targets, the networks, how they are trained, and what is measured.

Targets follow Parkinson, Ongie and Willett (2025), to whom paper C refers: ``f*(x) = aᵀg(Ax + b)`` with 21 units and
``A = U diag(σ) Vᵀ`` of rank r, Haar-distributed ``U (21, r)`` and ``V (20, r)``, ``σ ~ U[0, 100]``, ``a ~ N(0, I)``,
``b ~ U[−½, ½]``, ``x ~ U[−½, ½]²⁰``. There, as here, weights are decayed and biases are not.
"""

from __future__ import annotations

from collections.abc import Sequence
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
PAPER_EPOCHS, LAST_EPOCHS = 60_000, 100
"""After these passes the learning rate is divided by 10 for the last ones."""


@dataclass(frozen=True)
class Target:
    """``f*(x) = aᵀg(Ax + b)``, or ``g(Ax + b)`` where all units are asked for."""

    A: Float[Tensor, "u d"]
    a: Float[Tensor, " u"]
    b: Float[Tensor, " u"]
    link: str

    def units(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n u"]:
        """``g(Ax + b)`` for every row."""
        Z = X @ self.A.mT + self.b
        return {"relu": Z.relu(), "gauss": torch.exp(-Z.square()), "identity": Z}[self.link]

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """The target's value at every row."""
        return self.units(X) @ self.a

    def gradients(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1 d"]:
        """``∇f*``, in the shape :func:`gramian.features.agop` takes."""
        Z = X @ self.A.mT + self.b
        slopes = {"relu": (Z > 0).to(Z.dtype), "gauss": -2 * Z * torch.exp(-Z.square()), "identity": torch.ones_like(Z)}
        return ((slopes[self.link] * self.a) @ self.A)[:, None]


def random_target(rank: int, rng: torch.Generator, link: str = "relu") -> Target:
    """A random target of that rank.

    >>> target = random_target(2, torch.Generator().manual_seed(0))
    >>> int(torch.linalg.matrix_rank(target.A))
    2
    """
    U = haar(UNITS, rng, columns=rank)
    sigma = 100 * torch.rand(rank, generator=rng, dtype=torch.float64)
    V = haar(INPUTS, rng, columns=rank)
    a = torch.randn(UNITS, generator=rng, dtype=torch.float64)
    b = torch.rand(UNITS, generator=rng, dtype=torch.float64) - 0.5
    return Target((U * sigma) @ V.mT, a, b, link)


@dataclass(frozen=True)
class Training:
    """A stack of trainings that differ in weight decay and label noise; the spec of most of paper C's experiments.

    `depth` is the number L of linear layers before the ReLU layer, or of all layers where `head` is False. `batch` is
    0 for gradient descent on all rows. The rate drops to a tenth for the last `tail` of the `epochs`.
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


def data(training: Training, seed: int) -> tuple[Float[Tensor, "n d"], Float[Tensor, "B n c"]]:
    """Rows, and the targets of every network of the stack."""
    rng = torch.Generator().manual_seed(1000 + seed)
    target = random_target(training.rank, rng, training.link)
    X = torch.rand(training.rows, INPUTS, generator=rng, dtype=torch.float64) - 0.5
    y = target(X)[:, None] if training.head else target.units(X)
    noise = torch.randn(y.shape, generator=rng, dtype=torch.float64)
    Y = torch.stack([y + sigma * noise for sigma, _ in training.nets])
    return X.float(), Y.float()


def network(training: Training, seed: int, dtype: torch.dtype = torch.float32) -> Stack:
    """The untrained stack ``f(x) = aᵀ[W_L … W₁x + b₁]₊ + b₂`` (5.1), or ``W_L … W₁x + b₁`` (C.1) without a head."""
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


def rule(training: Training) -> Descent | Adam:
    """The optimiser; momentum is 0.9 where there is any."""
    decays = [decay for _, decay in training.nets]
    if training.optimiser == "adam":
        return Adam(training.rate, decays)
    if training.optimiser not in OPTIMISERS:
        raise ValueError(f"optimiser must be one of {', '.join(OPTIMISERS)}, got {training.optimiser!r}")
    return Descent(training.rate, decays, 0.9 if training.optimiser.endswith("m") else 0.0)


@dataclass(frozen=True)
class Course:
    """What a training gave: the trained stack, its data, and alignments ``ρ(W₁ᵀW₁, A^{1/L})`` along the way."""

    stack: Stack
    X: Tensor
    Y: Tensor
    epochs: list[int]
    alignments: list[list[float]]

    @property
    def final(self) -> list[float]:
        """The alignment of every network after training."""
        return self.alignments[-1]


def fit(training: Training, seed: int, moments: int = 0) -> Course:
    """Train the stack; alignments are noted at the start, at the end and at `moments` passes in between."""
    X, Y = data(training, seed)
    stack = network(training, seed)
    epochs: list[int] = []
    noted: list[list[float]] = []

    def note(epoch: int, state: Stack) -> None:
        epochs.append(epoch)
        noted.append(alignments(state, 1 / state.linear))

    main = training.epochs - training.tail
    at = {0, training.epochs} | {round(main * (k + 1) / (moments + 1)) for k in range(moments)}
    stochastic = training.optimiser in ("sgd", "sgdm", "adam")
    train(
        stack,
        X,
        Y,
        rule(training),
        epochs=training.epochs,
        batch=64 if stochastic else None,
        rng=torch.Generator().manual_seed(seed) if stochastic else None,
        drop_after=main if training.tail else None,
        watch=note,
        watch_at=at,
    )
    return Course(stack, X, Y, epochs, noted)


def by_decay(panel: tuple[str, object]) -> tuple[str, float]:
    """Sorts panels named ``"sgd λ=1e-05"`` by name and decay: records have them in the order of letters.

    >>> sorted([("a λ=0.01", 1), ("a λ=1e-05", 2)], key=by_decay)[0][1]
    2
    """
    name, _, decay = panel[0].rpartition("λ=")
    return name, float(decay)


def alignments(stack: Stack, power: float) -> list[float]:
    """``ρ(W₁ᵀW₁, A^s)`` of every network, ``A = JᵀJ``, J its linear layers' Jacobian; NaN where it diverged."""
    return alignment_by_power(stack, [power])[0]


def alignment_by_power(stack: Stack, powers: Sequence[float]) -> list[list[float]]:
    """The same for each of several powers s: one list of networks per power."""
    J, V = stack.jacobian().double(), stack.weights[0].double()
    healthy = J.isfinite().all((1, 2)) & V.isfinite().all((1, 2))
    J, V = J.where(healthy[:, None, None], 0.0), V.where(healthy[:, None, None], 0.0)
    # Through the singular values of J, whose small ones keep their digits, unlike the eigenvalues of JᵀJ.
    U, sigma, _ = torch.linalg.svd(J, full_matrices=False)
    G = V @ V.mT
    in_basis = (U.mT @ G @ U).diagonal(dim1=1, dim2=2)
    result = []
    for power in powers:
        values = sigma ** (2 * power)
        rho = (in_basis * values).sum(1) / (G.flatten(1).norm(dim=1) * values.norm(dim=1))
        result.append(rho.where(healthy, torch.nan).tolist())
    return result
