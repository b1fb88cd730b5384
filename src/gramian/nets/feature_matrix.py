"""The definition of a feature matrix of a layer, in up to four forms.

A matrix is a function of the layer's sums:

- *dense*: the matrix itself, one block per group of the layer;
- *thin*: ``X (g, m, k)`` with matrix = ``WᵀX``, so that a table of 30,000 tokens is compared exactly without a
  30,000 × 30,000 matrix: ``X = W`` (NFM), ``KW`` (AGOP, eNFA), ``−∇L/λ`` (FACT);
- *factor*: ``Y (r, d)`` with matrix = ``YᵀY``, for eigenvalues, directions and powers;
- *probed*: the product with random probes, for layers that are wide on both sides.

The matrices themselves are defined in :mod:`gramian.nets.matrices`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from gramian.core import psd_eigh, psd_power
from gramian.nets.sketch import gram_eigh, nystrom_factor
from gramian.nets.sums import LayerSums

Blocks = Float[Tensor, "g d d"]
"""A matrix as one block per group of the layer."""
Measure = Literal["cosine", "pearson"]
"""Similarity of two matrices: of their entries, or of their entries minus each matrix's mean."""


class Unavailable(ValueError):
    """A matrix that was not measured; the message gives the reason and the argument to pass."""


@dataclass(frozen=True)
class Need:
    """Data that a matrix is computed from; ``missing`` returns the rest of an error message, or None if it is there."""

    name: str
    missing: Callable[[LayerSums], str | None]


@dataclass(frozen=True)
class SimilarityColumn:
    """A column of the report: similarity of the matrix ``beside`` and this matrix to a power, with its description."""

    name: str
    description: str
    beside: str = "nfm"
    power: float = 1.0
    measure: Measure = "cosine"


@dataclass(frozen=True)
class FeatureMatrix:
    """Definition of one feature matrix of a layer.

    Parameters
    ----------
    name : str
        Name under which ``report.matrix`` and ``report.similarity`` find it.
    side : "input" or "output"
        Side of the layer: k × k on its input, m × m on its output.
    dense : function of LayerSums
        The matrix as one block per group.
    needs : tuple of Need
        Data it is computed from, besides the weights and the gradients of the outputs.
    psd : bool
        Positive semi-definite, so that it has a spectrum, directions and powers.
    power_of_modulus : bool
        For a matrix that is not symmetric: its power s means ``(A Aᵀ)^{s/2}``.
    thin, factor, probed : functions of LayerSums, optional
        The other forms, described at the top of this module; the last two are for layers of one group, and ``factor``
        may return None where the dense matrix or its probes serve better.
    columns : tuple of SimilarityColumn
        Columns of the report in which it is compared.

    >>> scaled = FeatureMatrix("scaled", "input", lambda sums: 2 * sums.W.mT @ sums.W)
    >>> scaled.psd, scaled.needs
    (True, ())
    """

    name: str
    side: Literal["input", "output"]
    dense: Callable[[LayerSums], Blocks]
    needs: tuple[Need, ...] = ()
    psd: bool = True
    power_of_modulus: bool = False
    thin: Callable[[LayerSums], Float[Tensor, "g m k"]] | None = None
    factor: Callable[[LayerSums], Float[Tensor, "r d"] | None] | None = None
    probed: Callable[[LayerSums], Float[Tensor, "d q"]] | None = None
    columns: tuple[SimilarityColumn, ...] = ()

    def check(self, sums: LayerSums) -> None:
        """Raise :class:`Unavailable` where something that the matrix needs was not measured."""
        for need in self.needs:
            reason = need.missing(sums)
            if reason is not None:
                raise Unavailable(f"{self.name!r} of layer {sums.name!r} {reason}")

    def dim(self, sums: LayerSums) -> int:
        """Number of rows, over all groups."""
        return sums.weight.shape[0] * self._block_dim(sums)

    def may_be_formed(self, sums: LayerSums) -> bool:
        """True where the dense matrix is at most ``max_dim`` wide."""
        return not sums.sketched and self._block_dim(sums) <= sums.max_dim

    def blocks(self, sums: LayerSums) -> Blocks:
        """The dense matrix as one block per group."""
        self.check(sums)
        if not self.may_be_formed(sums):
            raise Unavailable(
                f"{self.name!r} of layer {sums.name!r} has {self.dim(sums)} rows > max_dim={sums.max_dim}: use "
                "similarity(), spectrum() and directions(), which do not form it, or raise max_dim"
            )
        return self.dense(sums)

    def power(self, sums: LayerSums, power: float) -> Blocks:
        """A power of the dense matrix."""
        A = self.blocks(sums)
        if power == 1:
            return A
        if self.psd:
            return torch.stack([psd_power(block, power) for block in A])
        if self.power_of_modulus:
            return torch.stack([psd_power(block, power / 2) for block in A @ A.mT])
        raise ValueError(f"{self.name!r} is not positive semi-definite, so only power=1 is defined; got power={power}")

    def thin_form(self, sums: LayerSums) -> Float[Tensor, "g m k"]:
        """``X`` with matrix = ``WᵀX`` in each group, for comparisons that never form the matrix (input side)."""
        self.check(sums)
        if self.thin is None:
            raise Unavailable(
                f"{self.name!r} of layer {sums.name!r} needs a dense matrix: raise max_dim above {self.dim(sums)}"
            )
        return self.thin(sums)

    def exact_factor(self, sums: LayerSums) -> Float[Tensor, "r d"] | None:
        """``Y (r, d)`` with ``YᵀY`` = the matrix where the sums give one directly, otherwise None."""
        return None if self.factor is None else self.factor(sums)

    def factor_form(self, sums: LayerSums) -> Float[Tensor, "r d"]:
        """``Y (r, d)`` with ``YᵀY`` = the matrix of a one-group layer (≈ where it is sketched)."""
        if not self.psd:
            raise Unavailable(f"{self.name!r} is not positive semi-definite, so it has no factor")
        self.check(sums)
        exact = self.exact_factor(sums)
        if exact is not None:
            return exact
        if sums.sketched:
            return nystrom_factor(self.probed_form(sums), sums.probe(self.side))
        return psd_factor(self.blocks(sums)[0])

    def probed_form(self, sums: LayerSums) -> Float[Tensor, "d q"]:
        """The product ``AΩ`` with the random probes of a sketched layer."""
        self.check(sums)
        if self.probed is None:
            raise Unavailable(f"{self.name!r} is not stored for the sketched layer {sums.name!r}; raise max_dim")
        return self.probed(sums)

    def eigenpairs(self, sums: LayerSums) -> list[tuple[Float[Tensor, " p"], Float[Tensor, "d p"]]]:
        """Positive eigenvalues and eigenvectors of each block, largest first."""
        groups, m, k = sums.weight.shape
        if groups > 1:
            return [psd_eigh(block) for block in self.blocks(sums)]
        small = self.side == "output" or k <= m
        if small and self.may_be_formed(sums) and self.exact_factor(sums) is None:
            values, vectors = psd_eigh(self.blocks(sums)[0])
            keep = values > values.shape[0] * torch.finfo(values.dtype).eps * values[:1]
            return [(values[keep], vectors[:, keep])]
        return [gram_eigh(self.factor_form(sums))]

    def _block_dim(self, sums: LayerSums) -> int:
        return sums.weight.shape[2 if self.side == "input" else 1]


def psd_factor(A: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """``Y`` with ``YᵀY = A`` for a PSD matrix, from its eigenvectors.

    >>> psd_factor(torch.diag(torch.tensor([9.0, 4.0]))).abs()
    tensor([[3., 0.],
            [0., 2.]])
    """
    values, vectors = psd_eigh(A)
    return (vectors * values.sqrt()).mT
