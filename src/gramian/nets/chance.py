"""The cosine that two matrices of a layer have by chance.

Two null models answer two questions:

- *random eigenvectors*: B keeps its spectrum and gets Haar-random eigenvectors. This is the cosine of two spectra that
  know nothing of each other; mean and standard deviation have a closed form.
- *random kernel*: in ``AGOP = WᵀKW`` the tangent kernel K keeps its spectrum and gets Haar-random eigenvectors, while W
  stays. AGOP passes through the same weights as WᵀW, so an untrained network has a high cosine already: the one of this
  null model. An excess over it is an alignment of W and K, which training makes (the alignment paper, A).

Only the singular values of W matter for the second: ``WᵀQW`` with random Q has, in the basis of W's right singular
vectors, the distribution of ``ΣHᵀKHΣ`` with a random frame H, so that every draw costs one eigendecomposition on the
smaller side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.nets.alignment import symmetric_congruence
from gramian.nets.power_family import PowerCosines, PowerFamily

SEED = 0
MOST_DRAWS = 32
DRAW_ENTRIES = 2**16  # entries of all draws of a layer together: the cosine of a wide layer hardly varies
WIDE = 128  # draws of wider layers are in float32, which changes their cosines by less than 1e-3


@dataclass(frozen=True)
class Chance:
    """Mean and standard deviation of a cosine under a null model."""

    mean: float
    sd: float


UNKNOWN = Chance(math.nan, math.nan)


@dataclass(frozen=True)
class Invariants:
    """The part of a square matrix that no rotation changes, as far as a random cosine depends on it.

    >>> Invariants.of(torch.diag(torch.tensor([3.0, 4.0])))
    Invariants(width=2, trace=7.0, norm=5.0, symmetric_norm=5.0)
    """

    width: int
    trace: float
    norm: float
    symmetric_norm: float

    @classmethod
    def of(cls, A: Float[Tensor, "d d"]) -> Invariants:
        """Read them from a matrix, which need not be symmetric."""
        symmetric = float(((A + A.mT) / 2).norm())
        return cls(A.shape[0], float(A.trace()), float(A.norm()), symmetric)

    @property
    def traceless_square(self) -> float:
        """``‖A − (tr A / d) I‖²`` of the symmetric part."""
        return max(self.symmetric_norm**2 - self.trace**2 / self.width, 0.0)


def random_eigenvectors(a: Sequence[Invariants], b: Sequence[Invariants]) -> Chance:
    """Cosine of A and ``U B Uᵀ`` with a Haar-random orthogonal U in each diagonal block; A is symmetric.

    ``E⟨A, UBUᵀ⟩ = tr A · tr B / d``, and because the symmetric matrices of trace 0 are irreducible under rotations, the
    variance is ``‖A₀‖² ‖B₀‖² / ((d − 1)(d + 2)/2)`` with the traceless symmetric parts A₀ and B₀.

    >>> A = Invariants.of(torch.diag(torch.tensor([1.0, 0.0])))
    >>> found = random_eigenvectors([A], [A])
    >>> round(found.mean, 6), round(found.sd, 6)
    (0.5, 0.353553)
    """
    norms = math.hypot(*(one.norm for one in a)) * math.hypot(*(one.norm for one in b))
    if not norms > 0:
        return UNKNOWN
    mean = sum(one.trace * two.trace / one.width for one, two in zip(a, b, strict=True))
    variance = sum(
        one.traceless_square * two.traceless_square * 2 / ((one.width - 1) * (one.width + 2))
        for one, two in zip(a, b, strict=True)
        if one.width > 1
    )
    return Chance(mean / norms, math.sqrt(variance) / norms)


def random_eigenvectors_of_power(family: PowerFamily, power: float) -> Chance:
    """:func:`random_eigenvectors` of ``WᵀW`` and ``B^s``."""
    if not family.values.numel():
        return UNKNOWN
    weights = (family.values / family.values.max()).pow(power)
    parts = weights.split([group.count for group in family.groups])
    own = [Invariants(group.width, group.trace, group.norm, group.norm) for group in family.groups]
    others = [
        Invariants(group.width, float(part.sum()), float(part.norm()), float(part.norm()))
        for group, part in zip(family.groups, parts, strict=True)
    ]
    return random_eigenvectors(own, others)


@dataclass(frozen=True)
class RandomKernel:
    """Draws of the null model in which the tangent kernel has random eigenvectors; each gives the cosine of any power.

    >>> found = RandomKernel.draw([torch.ones(3, dtype=torch.float64)], [torch.eye(3, dtype=torch.float64)])
    >>> chance = found.cosine(0.5)  # K = I is the same in every direction: chance has the whole cosine
    >>> round(chance.mean, 6), round(chance.sd, 6)
    (1.0, 0.0)
    """

    draws: tuple[PowerCosines, ...]
    spread: float  # standard deviation of ⟨WᵀW, WᵀQW⟩, relative to its mean

    @classmethod
    def draw(
        cls, spectra: Sequence[Float[Tensor, " q"]], kernels: Sequence[Float[Tensor, "m m"]], seed: int = SEED
    ) -> RandomKernel:
        """Draw from the eigenvalues of ``WᵀW`` and the kernel of each group of a layer."""
        positive = [values[values > len(values) * torch.finfo(values.dtype).eps * values[:1]] for values in spectra]
        count = number_of_draws(max(len(values) for values in positive))
        draws = tuple(_draw(positive, kernels, seed + i) for i in range(count))
        return cls(draws, relative_spread(positive, kernels))

    def cosine(self, power: float) -> Chance:
        """``ρ(WᵀW, (WᵀQW)^s)``."""
        return self._over_draws(lambda draw: draw.cosine(power))

    def best(self) -> Chance:
        """The cosine at the best exponent of each draw."""
        return self._over_draws(lambda draw: draw.best()[1])

    def _over_draws(self, read: Callable[[PowerCosines], float]) -> Chance:
        return _summary([read(draw) for draw in self.draws], self.spread)


def number_of_draws(width: int) -> int:
    """Number of draws for a layer with this many directions: the cosine of a wide layer hardly varies.

    >>> number_of_draws(8), number_of_draws(64), number_of_draws(768)
    (32, 16, 1)
    """
    return max(1, min(MOST_DRAWS, DRAW_ENTRIES // max(width, 1) ** 2))


def random_kernel_cosine(spectra: Sequence[Float[Tensor, " q"]], kernels: Sequence[Float[Tensor, "m m"]]) -> Chance:
    """The first power of :class:`RandomKernel`, ``ρ(WᵀW, WᵀQW)``, which needs no eigendecomposition.

    >>> random_kernel_cosine([torch.ones(2, dtype=torch.float64)], [torch.eye(2, dtype=torch.float64)]).mean
    1.0
    """
    norm = float(torch.cat(list(spectra)).norm())
    found = []
    for i in range(number_of_draws(max(len(values) for values in spectra))):
        pairs = [
            (values, _random_form(values, K, (SEED + i, g)))
            for g, (values, K) in enumerate(zip(spectra, kernels, strict=True))
        ]
        product = sum(float(values.to(M) @ M.diagonal()) for values, M in pairs)
        size = norm * math.hypot(*(float(M.norm()) for _, M in pairs))
        found.append(min(product / size, 1.0) if size > 0 else math.nan)
    return _summary(found, relative_spread(spectra, kernels))


def relative_spread(spectra: Sequence[Float[Tensor, " q"]], kernels: Sequence[Float[Tensor, "m m"]]) -> float:
    """Standard deviation of ``⟨WᵀW, WᵀQW⟩ = ⟨(WWᵀ)², Q⟩`` over its mean, in closed form.

    It stands for the spread of the cosine of a wide layer, for which there is one draw: fluctuations of the norm, and
    powers below 1, make that smaller.

    >>> relative_spread([torch.ones(3)], [torch.eye(3)])
    0.0
    """
    mean = variance = 0.0
    for values, K in zip(spectra, kernels, strict=True):
        m, squares = K.shape[0], values.square()
        own = Invariants(m, float(squares.sum()), float(squares.norm()), float(squares.norm()))
        kernel = Invariants(m, float(K.trace()), float(K.norm()), float(K.norm()))
        mean += own.trace * kernel.trace / m
        if m > 1:
            variance += own.traceless_square * kernel.traceless_square * 2 / ((m - 1) * (m + 2))
    return math.sqrt(variance) / mean if mean > 0 else math.nan


def _summary(found: Sequence[float], spread: float) -> Chance:
    drawn = torch.tensor(found, dtype=torch.float64)
    mean = float(drawn.mean())
    return Chance(mean, float(drawn.std()) if len(found) > 1 else spread * mean)


def _draw(spectra: Sequence[Float[Tensor, " q"]], kernels: Sequence[Float[Tensor, "m m"]], seed: int) -> PowerCosines:
    values, quadratic = [], []
    for g, (own, K) in enumerate(zip(spectra, kernels, strict=True)):
        M = _random_form(own, K, (seed, g))
        found, V = torch.linalg.eigh(M)
        # Eigenvalues of a kernel with fewer directions than the weights are 0 up to rounding.
        keep = found > len(found) / 8 * torch.finfo(M.dtype).eps * found[-1:]
        values.append(found[keep].double())
        quadratic.append((own.to(M)[:, None] * V[:, keep].square()).sum(0).double())
    return PowerCosines(torch.cat(values), torch.cat(quadratic), float(torch.cat(list(spectra)).norm()))


def _random_form(values: Float[Tensor, " q"], K: Float[Tensor, "m m"], seeds: tuple[int, int]) -> Float[Tensor, "q q"]:
    """``ΣHᵀKHΣ`` with a random frame H, for the squared singular values Σ² of W."""
    dtype = torch.float32 if len(values) > WIDE else torch.float64
    H = random_frame(K.shape[0], len(values), dtype, *seeds) * values.sqrt().to(dtype)
    return symmetric_congruence(H, K.to(dtype))


@lru_cache(maxsize=4)
def random_frame(m: int, columns: int, dtype: torch.dtype, seed: int, group: int = 0) -> Float[Tensor, "m c"]:
    """Leading columns of a Haar-distributed orthogonal matrix. Layers of one shape share it, which takes no time.

    >>> H = random_frame(3, 2, torch.float64, seed=0)
    >>> torch.allclose(H.mT @ H, torch.eye(2, dtype=torch.float64))
    True
    """
    rng = torch.Generator().manual_seed((seed << 16) + group)
    Q, R = torch.linalg.qr(torch.randn(m, columns, generator=rng, dtype=dtype))
    # Without the signs of R the frame would not be Haar-distributed.
    return Q * R.diagonal().sign()
