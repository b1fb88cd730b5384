"""Decompositions of one layer that several columns of its row share, each computed once and on the smaller side.

With m outputs and k inputs every quantity follows from matrices of min(m, k) rows: ``AGOP = WᵀKW`` itself where k ≤ m,
and else ``Λ^½UᵀKUΛ^½`` with the eigenvectors U of ``WWᵀ = UΛUᵀ``, which has the same eigenvalues. A table of 50,000
tokens therefore needs no array larger than its weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.nets.alignment import symmetric_congruence
from gramian.nets.feature_matrix import Blocks
from gramian.nets.matrices import find_matrix
from gramian.nets.power_family import GroupTraces, PowerCosines, PowerFamily
from gramian.nets.sums import LayerSums

PIECE = 2**22  # entries of a wide weight that are widened to float64 at a time

Eigen = tuple[Float[Tensor, " p"], Float[Tensor, "d p"]]
"""Eigenvalues, largest first, and eigenvectors."""
_AT_OUTPUT = {"agop": "ptk", "enfa": "benfa"}  # AGOP = Wᵀ PTK W


class Decompositions:
    """The Gram matrix of the weights on its smaller side, its spectrum, and the families of powers of AGOP and eNFA.

    >>> from torch import nn
    >>> from gramian.nets import inspect
    >>> found = Decompositions(inspect(nn.Linear(3, 2, bias=False), torch.eye(3)).record("model").sums)
    >>> found.grams[0].shape, round(found.family("agop").cosine(1.0), 6)
    (torch.Size([2, 2]), 1.0)
    """

    def __init__(self, sums: LayerSums):
        self.sums = sums
        self._families: dict[str, PowerFamily] = {}
        self._kernels: dict[str, Blocks] = {}

    @property
    def tall(self) -> bool:
        """True where the layer has at least as many outputs as inputs, so that the small side is the input's."""
        _, m, k = self.sums.weight.shape
        return k <= m

    @cached_property
    def grams(self) -> list[Float[Tensor, "q q"]]:
        """``WᵀW`` or ``WWᵀ``, the smaller of the two, in float64, one for each group."""
        return [small_gram(W) for W in self.sums.weight]

    @cached_property
    def spectra(self) -> list[Float[Tensor, " q"]]:
        """Eigenvalues of ``WᵀW`` on the small side, largest first, one vector for each group."""
        if self.tall:
            return [torch.linalg.eigvalsh(gram).flip(0).clamp_min(0) for gram in self.grams]
        return [values for values, _ in self._eigen]

    @cached_property
    def _eigen(self) -> list[Eigen]:
        return [_eigh(gram) for gram in self.grams]

    def kernels(self, name: str) -> Blocks:
        """The second moment K on the output side with AGOP or eNFA = ``WᵀKW`` up to a factor, which no cosine sees."""
        sums = self.sums
        find_matrix(name).check(sums)
        if sums.stored_side != "output":
            find_matrix(_AT_OUTPUT[name]).blocks(sums)  # raises, with the reason why it cannot be formed
        if name not in self._kernels:
            self._kernels[name] = sums.agop_second if name == "agop" else sums.loss_second
        return self._kernels[name]

    def family(self, name: str) -> PowerFamily:
        """The family of powers of ``"agop"`` or ``"enfa"``; raises ``Unavailable`` where it was not measured."""
        if name not in self._families:
            self._families[name] = power_family(self, name)
        return self._families[name]


def power_family(layer: Decompositions, name: str) -> PowerFamily:
    """Eigendecompose one input-side matrix of a layer, by way of the smaller side."""
    sums, matrix = layer.sums, find_matrix(name)
    matrix.check(sums)
    width = sums.weight.shape[2]
    values, quadratic, ones, groups = [], [], [], []
    for gram, (found, form, sum_of_vector) in zip(layer.grams, _eigenpairs(layer, name), strict=True):
        values.append(found)
        quadratic.append(form)
        ones.append(sum_of_vector.square())
        groups.append(GroupTraces(len(found), width, float(gram.trace()), float(gram.norm())))
    norm = float(torch.tensor([group.norm for group in groups], dtype=torch.float64).norm())
    total = float(sums.weight.sum(2, dtype=torch.float64).square().sum())
    cosines = PowerCosines(torch.cat(values), torch.cat(quadratic), norm)
    return PowerFamily(cosines, torch.cat(ones), total, matrix.dim(sums) ** 2, tuple(groups))


def _eigenpairs(layer: Decompositions, name: str) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Eigenvalues of each group's block with ``vᵀWᵀWv`` and ``1ᵀv`` of its eigenvectors v."""
    sums = layer.sums
    if sums.sketched:
        for W, (found, V) in zip(sums.weight, find_matrix(name).eigenpairs(sums), strict=True):
            yield found, (W.double() @ V).square().sum(0), V.sum(0)
    elif layer.tall:
        if sums.stored_side == "output":
            pairs = zip(sums.weight, layer.kernels(name), strict=True)
            blocks = [symmetric_congruence(W.double(), K) for W, K in pairs]
        else:
            blocks = list(find_matrix(name).blocks(sums))
        for A, S in zip(blocks, layer.grams, strict=True):
            found, V = _positive(_eigh(A), A.shape[0])
            yield found, (V * (S @ V)).sum(0), V.sum(0)
    else:
        for W, K, eigen in zip(sums.weight, layer.kernels(name), layer._eigen, strict=True):
            lam, U = _positive(eigen, W.shape[1])
            root = U * lam.sqrt()
            found, Y = _positive(_eigh(symmetric_congruence(root, K)), W.shape[1])
            yield found, (lam[:, None] * Y.square()).sum(0), (W.sum(1, dtype=torch.float64) @ (U / lam.sqrt())) @ Y


def agop_error(layer: Decompositions) -> float:
    """Relative Frobenius error of the AGOP from random output projections; 0 when every output was used.

    With two independent halves A₁, A₂ the mean's error is estimated by ``‖A₁ − A₂‖ / 2``. An error needs few digits, so
    it is computed in float32.
    """
    sums = layer.sums
    if not sums.projections:
        return 0.0
    # Squares of small gradients are below the range of float32.
    scale = max(float(moment.total.abs().max()) for moment in sums.agop)
    if not scale > 0:
        return math.nan
    one, two = ((moment.total / (p * scale)).float() for moment, p in zip(sums.agop, sums.projections, strict=True))
    difference, total = one - two, one + two
    if sums.stored_side == "output":
        return math.sqrt(_square_at_input(layer, difference) / _square_at_input(layer, total))
    if sums.stored_side == "sketch":
        q = sums.probe("input").shape[1]
        difference, total = (sums.weight.float().mT @ M[..., :q] for M in (difference, total))
    return float(difference.norm() / total.norm())


def _square_at_input(layer: Decompositions, M: Float[Tensor, "g m m"]) -> float:
    """``‖WᵀMW‖²``, which is ``tr(BMBM)`` with ``B = WWᵀ``."""
    if layer.tall:
        pairs = zip(layer.sums.weight, M, strict=True)
        return sum(float(symmetric_congruence(W.float(), one).square().sum()) for W, one in pairs)
    products = [B.float() @ one for B, one in zip(layer.grams, M, strict=True)]
    return max(sum(float((BM * BM.mT).sum()) for BM in products), 0.0)


def small_gram(W: Float[Tensor, "m k"]) -> Float[Tensor, "q q"]:
    """``WᵀW`` or ``WWᵀ``, the smaller of the two, in float64 and without a float64 copy of W.

    >>> small_gram(torch.ones(2, 3))
    tensor([[3., 3.],
            [3., 3.]], dtype=torch.float64)
    """
    m, k = W.shape
    q, rows = min(m, k), W if k <= m else W.mT
    gram = torch.zeros(q, q, dtype=torch.float64)
    for piece in rows.split(max(1, PIECE // max(q, 1))):
        wide = piece.double()
        gram.addmm_(wide.mT, wide)
    return gram


def _eigh(A: Float[Tensor, "d d"]) -> Eigen:
    values, vectors = torch.linalg.eigh(A)
    return values.flip(0).clamp_min(0), vectors.flip(1)


def _positive(eigen: Eigen, width: int) -> tuple[Float[Tensor, " r"], Float[Tensor, "d r"]]:
    """The pairs whose eigenvalue is above the rounding error of the largest one."""
    values, vectors = eigen
    keep = values > width * torch.finfo(values.dtype).eps * values[:1]
    return values[keep], vectors[:, keep]
