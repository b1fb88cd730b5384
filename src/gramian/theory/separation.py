"""The data on which FACT holds and the AGOP is uncorrelated with ``WᵀW`` (paper D, Theorem 3.4, Fig. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import cosine, psd_power
from gramian.features import agop, fact, nfm
from gramian.theory.lbfgs import LBFGS
from gramian.theory.quadratic_network import quadratic_form


@dataclass(frozen=True)
class Separation:
    """``x ~ Unif{0,1,2}⁴`` with probability p, else ``(1,1,0,0)``; ``y = τ x₁x₂ + x₃x₄``; weight decay λ.

    The model is ``f(x) = Σᵢ aᵢ (wᵢ·x)²``, the loss ``E(f − y)² + (λ/2)(‖a‖² + ‖W‖²)`` over the 82 support
    points. Weight decay puts ``WᵀW`` on x₃, x₄, which carry the function; the AGOP sees x₁, x₂, where the
    data sits.

    Theorem 3.4 needs λ ≪ p. Fig. 4 prints τ = 0.02, p = λ = 1e-5; there the minimiser is a single neuron, for
    which ``WᵀW`` and the AGOP are proportional (cosine 1.00). The default λ = 1e-6 shows the separation;
    :func:`separation_by_decay` evaluates both.

    >>> task = Separation()
    >>> task.inputs().shape, round(task.probabilities().sum().item(), 12)
    (torch.Size([82, 4]), 1.0)
    """

    tau: float = 0.02
    p: float = 1e-5
    weight_decay: float = 1e-6

    def inputs(self) -> Float[Tensor, "82 4"]:
        """The 81 grid points, then ``(1, 1, 0, 0)``."""
        grid = torch.cartesian_prod(*[torch.arange(3, dtype=torch.float64)] * 4)
        return torch.cat([grid, torch.tensor([[1.0, 1.0, 0.0, 0.0]], dtype=torch.float64)])

    def probabilities(self) -> Float[Tensor, " 82"]:
        """Probability of each row of :meth:`inputs`."""
        rare = torch.full((81,), self.p / 81, dtype=torch.float64)
        return torch.cat([rare, torch.tensor([1 - self.p], dtype=torch.float64)])

    def targets(self) -> Float[Tensor, " 82"]:
        """``y = τ x₁x₂ + x₃x₄``."""
        x = self.inputs()
        return self.tau * x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3]

    def target_form(self) -> Float[Tensor, "4 4"]:
        """The matrix Q of the target, ``y = xᵀQx``."""
        Q = torch.zeros(4, 4, dtype=torch.float64)
        Q[0, 1] = Q[1, 0] = self.tau / 2
        Q[2, 3] = Q[3, 2] = 0.5
        return Q

    def loss(self, a: Float[Tensor, " m"], W: Float[Tensor, "m 4"]) -> Float[Tensor, ""]:
        """The regularised population loss, exact (no sampling)."""
        residual = (self.inputs() @ W.mT).square() @ a - self.targets()
        penalty = a.square().sum() + W.square().sum()
        return (self.probabilities() * residual.square()).sum() + self.weight_decay / 2 * penalty

    def feature_matrices(self, a: Float[Tensor, " m"], W: Float[Tensor, "m 4"]) -> dict[str, Tensor]:
        """``{"nfm": WᵀW, "agop": …, "fact": …}`` of the network on the population."""
        x, p = self.inputs(), self.probabilities()
        Z = x @ W.mT
        gradients = 2 * (Z * a) @ W
        slope = 2 * (Z.square() @ a - self.targets())
        # FACT averages over rows; weighting each by 82·p turns that mean into the population's.
        V = (len(p) * p * slope)[:, None] * gradients
        return {
            "nfm": nfm(W),
            "agop": agop(gradients[:, None], weights=p),
            "fact": fact(V, x, self.weight_decay),
        }


@dataclass(frozen=True)
class Minimiser:
    """A trained network ``(a, W)``, its loss, and the norm of the gradient relative to ``λ‖θ‖``.

    >>> start = random_start(torch.Generator().manual_seed(0))
    >>> minimise(Separation(), start, max_steps=5).W.shape
    torch.Size([10, 4])
    """

    a: Float[Tensor, " m"]
    W: Float[Tensor, "m 4"]
    loss: float
    residual: float


def random_start(rng: torch.Generator, width: int = 10) -> tuple[Float[Tensor, " m"], Float[Tensor, "m 4"]]:
    """Gaussian weights ``(a, W)`` with standard deviations 0.3 and 0.5, in float64.

    Of order one on purpose: the zero network is a local minimum, and tiny weights fall into it.

    >>> a, W = random_start(torch.Generator().manual_seed(0), width=3)
    >>> a.shape, W.shape
    (torch.Size([3]), torch.Size([3, 4]))
    """
    a = 0.3 * torch.randn(width, generator=rng, dtype=torch.float64)
    return a, 0.5 * torch.randn(width, 4, generator=rng, dtype=torch.float64)


def minimise(
    task: Separation,
    start: tuple[Float[Tensor, " m"], Float[Tensor, "m 4"]],
    *,
    max_steps: int = 4000,
) -> Minimiser:
    """Train the network to stationarity from ``start`` by L-BFGS (paper D: 10⁶ steps of Adam).

    The loss is divided by λ first, so that the line search sees numbers near one. Stops when L-BFGS finds no
    further decrease; ``residual`` measures how stationary the result is. Near λ = 4e-6 there are several minima:
    take the lowest of a few starts.

    >>> start = random_start(torch.Generator().manual_seed(0))
    >>> minimise(Separation(weight_decay=1e-5), start).residual < 1e-5
    True
    """
    a, W = (part.detach().clone().requires_grad_() for part in start)
    LBFGS([a, W], lambda: task.loss(a, W) / task.weight_decay, max_steps=max_steps, history=50).run()
    with torch.enable_grad():
        loss = task.loss(a, W)
        slope = torch.autograd.grad(loss, [a, W])
    a, W = a.detach(), W.detach()
    norm = sum(float(g.square().sum()) for g in slope) ** 0.5
    size = float(a.square().sum() + W.square().sum()) ** 0.5
    residual = norm / (task.weight_decay * size) if size > 0 else norm
    return Minimiser(a, W, loss.item(), residual)


@dataclass(frozen=True)
class DecayRow:
    """The best network found at one weight decay: cosines with ``WᵀW``, rank of its quadratic form, loss.

    >>> DecayRow(1e-6, fact=1.0, agop=0.08, agop_half=0.24, rank=3, loss=1e-6).agop
    0.08
    """

    weight_decay: float
    fact: float
    agop: float
    agop_half: float
    rank: int
    loss: float


def separation_by_decay(
    weight_decays: Sequence[float], rng: torch.Generator, *, starts: int = 5, task: Separation | None = None
) -> tuple[DecayRow, ...]:
    """Fig. 4 at several λ, the network of lowest loss of a few starts each; 1e-5 is printed, 1e-6 our default.

    Every λ sees the same random starts.

    >>> (row,) = separation_by_decay([1e-5], torch.Generator().manual_seed(0), starts=1)
    >>> round(row.fact, 3), round(row.agop, 3), row.rank
    (1.0, 1.0, 1)
    """
    task = task or Separation()
    begins = [random_start(rng) for _ in range(starts)]
    rows = []
    for weight_decay in weight_decays:
        at = replace(task, weight_decay=weight_decay)
        best = min((minimise(at, begin) for begin in begins), key=lambda run: run.loss)
        M = at.feature_matrices(best.a, best.W)
        rows.append(
            DecayRow(
                weight_decay,
                fact=cosine(M["fact"], M["nfm"]),
                agop=cosine(M["agop"], M["nfm"]),
                agop_half=cosine(psd_power(M["agop"], 0.5), M["nfm"]),
                rank=int(torch.linalg.matrix_rank(quadratic_form(best.a, best.W), rtol=1e-3)),
                loss=best.loss,
            )
        )
    return tuple(rows)
