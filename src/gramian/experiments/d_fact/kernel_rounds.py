"""Algorithm 1 of paper D: rounds of kernel ridge regression with a metric learned by NFA or by FACT."""

from __future__ import annotations

from collections.abc import Iterator

from jaxtyping import Float
from torch import Tensor

from gramian.core import resolve_memory
from gramian.features import Agop, Fact, Update
from gramian.kernels import Kernel
from gramian.rfm import Candidate, FixedParams, KernelMachine, Rows, rounds
from gramian.solvers import Direct

UPDATES: dict[str, Update] = {
    "nfa": Agop(power=0.5, scale="mean"),
    "fact": Fact(geometric=True, scale="mean"),
}
"""The two methods of section 4.3. M is divided by its mean diagonal, which the paper does not specify: otherwise the
effect of a fixed bandwidth (or of a fixed ridge with an inner-product kernel) would depend on the target's scale."""


def learn(
    kernel: Kernel, update: Update, X: Float[Tensor, "n d"], Y: Float[Tensor, "n c"], ridge: float, n_rounds: int
) -> Iterator[KernelMachine]:
    """Yield the kernel machines of rounds 0 … ``n_rounds``; round 0 has ``M = I``. The ridge is λ in ``K + λI``.

    >>> import torch
    >>> from gramian.kernels import Gaussian
    >>> X = torch.eye(3, dtype=torch.float64)
    >>> steps = list(learn(Gaussian(1.0), UPDATES["nfa"], X, X[:, :1], 1e-3, 2))
    >>> len(steps), steps[-1].matrix().shape
    (3, torch.Size([3, 3]))
    """
    candidate = Candidate(kernel, update, Direct(), Direct(), n_rounds, resolve_memory(None, X.device), seed=0)
    for _, machine in rounds(candidate, Rows(X, Y), FixedParams(ridge)):
        yield machine
