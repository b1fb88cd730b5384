"""Options of inspect that few calls need, in one frozen object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from gramian.nets.batches import ReadMask, Unpack


@dataclass(frozen=True)
class InspectOptions:
    """Options of :func:`gramian.nets.inspect` and :class:`gramian.nets.Monitor` that few calls need.

    Parameters
    ----------
    output, unpack
        Functions that read the output tensor from what the model returns, and ``(args, kwargs, target)`` from a batch,
        where the defaults do not fit; ``unpack`` may add the number of samples as a fourth value.
    mask
        Function of a batch that returns the padding mask (n, positions), 0 at padding, which pooled features and
        statistics of tokens leave out; by default the entry ``attention_mask`` of a mapping.
    projections
        ``"fresh"`` draws the random combinations of outputs for each sample separately, so the error falls with the
        number of samples too. ``"shared"`` uses the same combinations for all samples, which ``agop_centered`` needs;
        its error falls with the number of projections only.
    step
        Step η of the virtual covariance shift.
    geometry
        Relate features and targets (target linearity, surrogates, neural collapse) where the data has targets.
    ridge
        γ of the target linearity, relative to the mean eigenvalue of the features' (centred) Gram matrix.
    max_dim, sketch
        Matrices with more rows than ``max_dim`` are not formed: comparisons run through thin factors, or, where both
        sides are wider, through ``sketch`` random probes.

    >>> InspectOptions(geometry=False).max_dim
    4096
    """

    output: Callable[[Any], Tensor] | None = None
    unpack: Unpack | None = None
    mask: ReadMask | None = None
    projections: str = "fresh"
    step: float = 1.0
    geometry: bool = True
    ridge: float = 1e-3
    max_dim: int = 4096
    sketch: int = 256

    def __post_init__(self) -> None:
        if self.projections not in ("fresh", "shared"):
            raise ValueError(f'projections must be "fresh" or "shared", got {self.projections!r}')
