"""Options of inspect that few calls need, in one frozen object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from gramian.nets.batches import ReadMask, Unpack
from gramian.nets.columns import COLUMNS, GROUPS, Columns, choose_columns

# Groups of columns that need a sum of their own; a sum that no chosen column needs is not taken.
KERNEL_COLUMNS = ("chance", "centered", "enfa_chance", "output")
LOSS_COLUMNS = ("enfa", "enfa_chance", "output")
GRADIENT_COLUMNS = ("fact", "fact_polar", "output")
INITIAL_COLUMNS = ("centered", "untrained")


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
    columns
        Names of columns or of groups of columns (``"nfa"``, ``"chance"``, ``"fact"``, ``"features"``, …, see
        :data:`gramian.nets.columns.GROUPS`) that are measured and shown; sums that none of them needs are not taken.
        All by default; a table shows the main ones.
    layers_at_a_time
        Hold the sums of this many layers only and read the data again for the next ones: less memory for more time. The
        report then has the numbers of every layer (``columns``, or the main ones) and no matrices.

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
    columns: Columns | None = None
    layers_at_a_time: int | None = None

    def __post_init__(self) -> None:
        if self.projections not in ("fresh", "shared"):
            raise ValueError(f'projections must be "fresh" or "shared", got {self.projections!r}')
        if self.layers_at_a_time is not None and self.layers_at_a_time < 1:
            raise ValueError(f"layers_at_a_time must be at least 1, got {self.layers_at_a_time}")
        choose_columns(self.columns)  # raises where a name is unknown

    def wants(self, *groups: str) -> bool:
        """True where some chosen column is in one of the groups, or belongs to a matrix that was added to the table.

        >>> InspectOptions(columns="spectrum").wants("fact"), InspectOptions(columns="fact_cos").wants("fact")
        (False, True)
        """
        if self.columns is None:
            return True
        chosen = choose_columns(self.columns)
        return any(name not in COLUMNS or any(name in GROUPS[group] for group in groups) for name in chosen)
