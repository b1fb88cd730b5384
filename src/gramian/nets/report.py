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
from gramian.nets.alignment import corrupted_ptk, uncentered_nfa
from gramian.nets.decay import Decay, Preconditioner
from gramian.nets.feature_matrix import FeatureMatrix, Measure
from gramian.nets.matrices import MATRICES, find_matrix
from gramian.nets.metrics import columns, row
from gramian.nets.moments import MomentSum, Probes
from gramian.nets.record import LayerRecord, Settings
from gramian.nets.similarity import similarity
from gramian.nets.sums import LayerSums
from gramian.nets.table import report_section

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

    def __init__(self, records: Mapping[str, LayerRecord], skipped: Mapping[str, str], settings: Settings):
        self._records = dict(records)
        self._skipped = dict(skipped)
        self.settings = dict(settings)

    def save(self, path: str | Path) -> None:
        """Write the report to one file (safetensors and JSON), which :meth:`load` reads without running any code."""
        write({"records": self._records, "skipped": self._skipped, "settings": self.settings}, path, name="report")

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
        if not isinstance(value, dict) or set(value) != {"records", "skipped", "settings"}:
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

    def corrupted_nfa(self, layer: str, seed: int = 0) -> float:
        """``ρ(WᵀW, WᵀQW)`` with Q the tangent kernel's spectrum in random directions: the NFA by chance."""
        record = self.record(layer)
        rng = torch.Generator().manual_seed(seed)
        Q = torch.stack([corrupted_ptk(K, rng) for K in record.blocks("ptk")])
        return uncentered_nfa(record.W, Q)

    @cached_property
    def rows(self) -> list[dict[str, float | int | str]]:
        """One dict per layer, keys as in :meth:`describe`."""
        return [row(record) for record in self._records.values()]

    def metrics(self, prefix: str = "") -> dict[str, float]:
        """All measured numbers as one flat dict ``{prefix}{layer}/{column}``, for any experiment tracker."""
        return {
            f"{prefix}{entry['layer']}/{name}": float(value)
            for entry in self.rows
            for name, value in entry.items()
            if isinstance(value, int | float) and not math.isnan(value)
        }

    def to_pandas(self) -> pd.DataFrame:
        """All columns as a DataFrame indexed by layer (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install pandas (report.rows has the same numbers)"
            ) from error
        return pd.DataFrame(self.rows, columns=list(columns())).set_index("layer")

    @staticmethod
    def describe() -> dict[str, str]:
        """The meaning of every column."""
        return columns()

    def sections(self) -> list[Section]:
        return [report_section(self.rows, self._skipped, self.settings)]

    def __repr__(self) -> str:
        return f"FeatureReport({len(self.layers)} layers, {self.settings.get('samples')} samples)"


def _psd_matrix(name: str) -> FeatureMatrix:
    matrix = find_matrix(name)
    if not matrix.psd:
        choices = ", ".join(other.name for other in MATRICES.values() if other.psd)
        raise ValueError(f"{name!r} is not positive semi-definite; choose one of {choices}")
    return matrix
