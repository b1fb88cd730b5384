"""The kernel machines of paper B: ridge regression with a given feature matrix, and the rounds that learn one."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from gramian.core import resolve_memory
from gramian.features import Agop, Update
from gramian.kernels import Identity, Kernel, KernelOperator, Laplace, Metric
from gramian.rfm import Candidate, FixedParams, KernelMachine, Rows, rounds
from gramian.solvers import Direct, RidgeSystem, Workspace

LAPLACE = Laplace(10.0)
"""The kernel of all machines of paper B, pictures included; ``k(x, z) = exp(−‖x − z‖/10)``."""
AGOP = Agop(scale=None)
"""The update of paper B: the mean gradient outer product, not rescaled."""


def ridge_fit(
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "n c"],
    ridge: float = 0.0,
    kernel: Kernel = LAPLACE,
    metric: Metric | None = None,
) -> KernelMachine:
    """Fit kernel ridge regression, ``(K + λI)α = Y``; without a metric M = I.

    >>> import torch
    >>> X = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    >>> ridge_fit(X, X).predict(X).flatten().round(decimals=6).tolist()
    [0.0, 1.0]
    """
    metric = Identity(X.shape[1]) if metric is None else metric
    solution = Direct().solve(RidgeSystem(KernelOperator(kernel, X, metric), Y, ridge))
    return KernelMachine(solution.operator, solution.coef)


def learn(
    X: Float[Tensor, "n d"],
    Y: Float[Tensor, "n c"],
    ridge: float,
    n_rounds: int,
    update: Update = AGOP,
    kernel: Kernel = LAPLACE,
    workspace: Workspace | None = None,
) -> Iterator[KernelMachine]:
    """Yield the kernel machines of rounds 0 … ``n_rounds``; round 0 has ``M = I``. The ridge is λ in ``K + λI``.

    >>> import torch
    >>> X = torch.eye(4, dtype=torch.float64)
    >>> machines = list(learn(X, X[:, :2], 1e-3, 1))
    >>> len(machines), machines[1].metric.diagonal().shape
    (2, torch.Size([4]))
    """
    candidate = Candidate(kernel, update, Direct(), Direct(), n_rounds, resolve_memory(None, X.device), seed=0)
    for _, machine in rounds(candidate, Rows(X, Y), FixedParams(ridge), workspace):
        yield machine
