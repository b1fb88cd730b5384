"""FeatureReport: the result of inspect, with one row per layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from gramian.display import Renderable, Section
from gramian.files import read, register, write
from gramian.nets.chance import Chance, RandomKernel
from gramian.nets.columns import Columns, choose_columns, columns
from gramian.nets.decay import Decay, Preconditioner
from gramian.nets.decompositions import Decompositions
from gramian.nets.feature_matrix import FeatureMatrix, Measure
from gramian.nets.matrices import MATRICES, find_matrix
from gramian.nets.metrics import LayerRow
from gramian.nets.moments import MomentSum, Probes
from gramian.nets.record import LayerRecord, Settings
from gramian.nets.similarity import similarity
from gramian.nets.sums import LayerSums
from gramian.nets.table import TABLE_COLUMNS, report_section, shown_columns

if TYPE_CHECKING:
    import pandas as pd

register("nets", LayerRecord, LayerSums, MomentSum, Probes, Decay, Preconditioner)


class FeatureReport(Renderable):
    """One row per layer, and every matrix behind it.

    Printing it shows a table, a notebook shows it as HTML, :meth:`to_pandas` has all columns and
    :meth:`describe` their meanings. Numbers that were not measured are NaN. :func:`gramian.report.plot_report` and
    :func:`gramian.report.plot_layer` draw it.

    >>> import torch
    >>> from gramian.nets import inspect
    >>> model = torch.nn.Linear(3, 1, bias=False)
    >>> report = inspect(model, torch.eye(3))
    >>> report.layers, report.skipped
    (['model'], {})
    >>> report.matrix("model", "ptk")
    array([[1.]])
    """

    def __init__(
        self,
        records: Mapping[str, LayerRecord],
        skipped: Mapping[str, str],
        settings: Settings,
        columns: Columns | None = None,
    ):
        self._records = dict(records)
        self._skipped = dict(skipped)
        self.settings = dict(settings)
        self._columns = columns

    def save(self, path: str | Path) -> None:
        """Write the report to one file (safetensors and JSON), which :meth:`load` reads without running any code."""
        parts = {"records": self._records, "skipped": self._skipped, "settings": self.settings}
        columns = None if self._columns is None else choose_columns(self._columns)
        write({**parts, "columns": columns}, path, name="report")

    @classmethod
    def load(cls, path: str | Path) -> FeatureReport:
        """Read a report that :meth:`save` wrote.

        >>> import tempfile
        >>> from gramian.nets import inspect
        >>> path = Path(tempfile.mkdtemp()) / "layers.gramian"
        >>> inspect(torch.nn.Linear(3, 1), torch.eye(3)).save(path)
        >>> FeatureReport.load(path)
        FeatureReport(1 layers, 3 samples)
        """
        value = read(path, device="cpu")
        if not isinstance(value, dict) or set(value) != {"records", "skipped", "settings", "columns"}:
            raise ValueError(f"{path} holds no report on a network: FeatureReport.save writes one")
        return cls(**value)

    @property
    def layers(self) -> list[str]:
        """Names of the measured layers, in the order of the forward pass."""
        return list(self._records)

    @property
    def skipped(self) -> dict[str, str]:
        """Modules with weights that were not measured, with the reason."""
        return dict(self._skipped)

    def record(self, layer: str) -> LayerRecord:
        """The record of one layer: its streamed sums and numbers."""
        if layer not in self._records:
            why = f": {self._skipped[layer]}" if layer in self._skipped else f"; there are {self.layers}"
            raise ValueError(f"layer {layer!r} was not measured{why}")
        return self._records[layer]

    def matrix(self, layer: str, name: str) -> np.ndarray:
        """A feature matrix as a float64 array.

        On the layer's input side (k, k): ``nfm``, ``agop``, ``agop_centered``, ``enfa``, ``fact``,
        ``fact_sym`` ½(F + Fᵀ), ``fact_polar`` (F Fᵀ)^½, ``vcs``, and with ``initial`` ``nfm_initial`` and
        ``nfm_change``. On its output side (m, m): ``bnfm``, ``ptk`` (also called ``bagop``), ``benfa``,
        ``bfact``, ``ptk_change``. A grouped layer gives one block per group. A matrix that was not measured
        raises a ValueError that names the missing argument.
        """
        blocks = self.record(layer).blocks(name)
        return (blocks[0] if len(blocks) == 1 else torch.block_diag(*blocks)).numpy()

    def similarity(self, layer: str, a: str, b: str, power: float = 1.0, measure: Measure = "cosine") -> float:
        """``ρ(A, B^power)``: cosine, or Pearson's correlation of the entries (papers A, C; papers B, D)."""
        return similarity(self.record(layer).sums, a, b, power=power, measure=measure)

    def spectrum(self, layer: str, name: str = "nfm") -> np.ndarray:
        """Positive eigenvalues of a PSD matrix, largest first."""
        pairs = _psd_matrix(name).eigenpairs(self.record(layer).sums)
        values = torch.cat([values for values, _ in pairs])
        return values.sort(descending=True).values.numpy()

    def directions(self, layer: str, name: str = "nfm", k: int = 5) -> np.ndarray:
        """The k strongest directions ``(k, d)`` of a PSD matrix, as unit rows with fixed signs."""
        pairs = _psd_matrix(name).eigenpairs(self.record(layer).sums)
        size = pairs[0][1].shape[0]
        found: list[tuple[float, torch.Tensor]] = []
        for g, (values, vectors) in enumerate(pairs):
            for value, vector in zip(values[:k].tolist(), vectors.mT[:k], strict=True):
                whole = torch.zeros(size * len(pairs), dtype=vector.dtype)
                whole[g * size : (g + 1) * size] = vector
                found.append((value, whole))
        found.sort(key=lambda pair: -pair[0])
        if not found:  # a zero matrix has no direction
            return np.zeros((0, size * len(pairs)))
        return torch.stack([vector for _, vector in found[:k]]).numpy()

    def chance(self, layer: str, name: str = "agop", power: float = 0.5) -> Chance:
        """The cosine of WᵀW and ``B^power`` by chance, B being ``"agop"`` or ``"enfa"``: mean and standard deviation.

        The weights stay, and the kernel K of ``B = WᵀKW`` has its spectrum in random directions, see
        :mod:`gramian.nets.chance`. The columns ``nfa_half_chance``, … have the same numbers.

        >>> from gramian.nets import inspect
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        >>> report = inspect(model, torch.eye(3))
        >>> 0 < report.chance("0").mean < 1
        True
        """
        return self._random_kernel(layer, name).cosine(power)

    def _random_kernel(self, layer: str, name: str) -> RandomKernel:
        found = Decompositions(self.record(layer).sums)
        return RandomKernel.draw(found.spectra, list(found.kernels(name)))

    @cached_property
    def rows(self) -> list[LayerRow]:
        """One mapping per layer, keys as in :meth:`describe`; a number is computed at its first use."""
        return [LayerRow(record) for record in self._records.values()]

    def loaded_rows(self, columns: Columns | None = None) -> list[LayerRow]:
        """The rows with some columns computed together, which is faster than one by one; all columns by default."""
        names = choose_columns(self._columns if columns is None else columns)
        for entry in self.rows:
            entry.load(names)
        return self.rows

    def metrics(self, prefix: str = "", columns: Columns | None = None) -> dict[str, float]:
        """Measured numbers as one flat dict ``{prefix}{layer}/{column}``, for any experiment tracker.

        ``columns`` names columns or groups of columns; by default those that were chosen for the measurement, or all.
        """
        names = choose_columns(self._columns if columns is None else columns)
        return {
            f"{prefix}{entry['layer']}/{name}": float(value)
            for entry in self.loaded_rows(columns)
            for name in names
            if isinstance(value := entry[name], int | float) and not math.isnan(value)
        }

    def to_pandas(self, columns: Columns | None = None) -> pd.DataFrame:
        """Columns as a DataFrame indexed by layer (needs pandas); ``columns`` as in :meth:`metrics`."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install pandas (report.rows has the same numbers)"
            ) from error
        names = choose_columns(self._columns if columns is None else columns)
        rows = [{name: entry[name] for name in names} for entry in self.loaded_rows(columns)]
        return pd.DataFrame(rows, columns=names).set_index("layer")

    @staticmethod
    def describe() -> dict[str, str]:
        """The meaning of every column."""
        return columns()

    def sections(self) -> list[Section]:
        shown = shown_columns(self._columns)
        rows = self.loaded_rows(TABLE_COLUMNS if self._columns is None else shown)
        return [report_section(rows, self._skipped, self.settings, shown)]

    def __repr__(self) -> str:
        return f"FeatureReport({len(self.layers)} layers, {self.settings.get('samples')} samples)"


def _psd_matrix(name: str) -> FeatureMatrix:
    matrix = find_matrix(name)
    if not matrix.psd:
        choices = ", ".join(other.name for other in MATRICES.values() if other.psd)
        raise ValueError(f"{name!r} is not positive semi-definite; choose one of {choices}")
    return matrix
