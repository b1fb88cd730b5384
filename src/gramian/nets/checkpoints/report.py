"""WeightReport: one row per weight matrix of a checkpoint, without data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gramian.display import Column, Entry, Renderable, Section, Table, format_fixed, format_number
from gramian.files import read, write
from gramian.nets.table import LayerColumn, skipped_by_reason

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, float | int | str]

WEIGHT_COLUMNS: dict[str, str] = {
    "layer": "name of the layer in the checkpoint",
    "kind": "matrix, embedding, convolution, experts, or the type of the module",
    "shape": "outputs × inputs of its weight matrix (times groups or experts)",
    "dtype": "type of the stored numbers",
    "norm": "Frobenius norm ‖W‖",
    "spectral_norm": "largest singular value of W",
    "stable_rank": "‖W‖² over the squared spectral norm",
    "effective_rank": "effective rank of WᵀW, the exponential of the entropy of its spectrum",
    "random_rank": "effective rank of a matrix of this shape with independent Gaussian entries",
    "top_share": "share of the trace of WᵀW in its first direction",
    "balancedness": "‖WWᵀ − W⁺ᵀW⁺‖ relative, to the next layer where its name is known (0 is balanced)",
    "weight_change": "‖W − W₀‖ / ‖W₀‖ since the earlier checkpoint",
    "nfm_cos": "cosine of WᵀW and the earlier W₀ᵀW₀",
    "change_rank": "effective rank of the change W − W₀",
    "nfm_overlap": "overlap of the strongest input directions of both: 1 for the same subspace, k/d by chance",
    "largest_angle": "largest principal angle between them, in degrees",
}
"""Columns of a weight report in order, with their descriptions."""

_RANKS, _NORMS, _CHANGE = "directions of WᵀW", "norms", "since the earlier checkpoint"
_tenths, _three = partial(format_fixed, decimals=1), partial(format_number, digits=3)
SHOWN_WEIGHTS: dict[str, LayerColumn] = {
    "norm": LayerColumn("‖W‖", _NORMS, _three),
    "spectral_norm": LayerColumn("‖W‖₂", _NORMS, _three),
    "stable_rank": LayerColumn("stable rank", _RANKS, _tenths),
    "effective_rank": LayerColumn("eff. rank", _RANKS, _tenths),
    "random_rank": LayerColumn("if random", _RANKS, _tenths),
    "balancedness": LayerColumn("imbalance", _RANKS, partial(format_fixed, decimals=2)),
    "weight_change": LayerColumn("change", _CHANGE, _three),
    "nfm_cos": LayerColumn("cos WᵀW", _CHANGE, format_fixed),
    "change_rank": LayerColumn("its rank", _CHANGE, _tenths),
    "nfm_overlap": LayerColumn("overlap", _CHANGE, format_fixed),
    "largest_angle": LayerColumn("angle °", _CHANGE, _tenths),
}
"""The columns that a table shows, in order."""


@dataclass(frozen=True, eq=False)
class WeightRecord:
    """One weight matrix: its shape ``(groups, m, k)``, the spectrum of ``WᵀW``, and its numbers.

    ``angles`` are the principal angles between its strongest input directions and those of the earlier checkpoint.
    """

    layer: str
    kind: str
    shape: tuple[int, int, int]
    dtype: str
    values: np.ndarray
    numbers: dict[str, float]
    angles: tuple[float, ...] = ()

    def row(self) -> Row:
        """Return the record as a flat row with all columns; a number that does not exist is NaN."""
        g, m, k = self.shape
        about: Row = {
            "layer": self.layer,
            "kind": self.kind,
            "shape": f"{m}×{k}" + (f" ×{g}" if g > 1 else ""),
            "dtype": self.dtype,
        }
        return {name: about.get(name, self.numbers.get(name, math.nan)) for name in WEIGHT_COLUMNS}


@dataclass(frozen=True, eq=False)
class WeightReport(Renderable):
    """The weight matrices of a checkpoint, without data: norms, ranks, spectra, and the change since an earlier one.

    Printing it shows a table, a notebook shows it as HTML, :meth:`to_pandas` has all columns and :meth:`describe` their
    meanings. :func:`gramian.report.write_report` writes a page about it.

    >>> import torch
    >>> from gramian.nets import inspect_weights
    >>> report = inspect_weights({"a.weight": torch.diag(torch.tensor([2.0, 1.0]))})
    >>> report.layers, report.spectrum("a").tolist()
    (['a'], [4.0, 1.0])
    """

    records: Sequence[WeightRecord]
    skipped: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def layers(self) -> list[str]:
        """Names of the layers, in the order of the checkpoint."""
        return [record.layer for record in self.records]

    def record(self, layer: str) -> WeightRecord:
        """Return the record of one layer."""
        for record in self.records:
            if record.layer == layer:
                return record
        why = f": {self.skipped[layer]}" if layer in self.skipped else f"; there are {self.layers[:8]}"
        raise ValueError(f"layer {layer!r} was not measured{why}")

    def spectrum(self, layer: str) -> np.ndarray:
        """Return the eigenvalues of ``WᵀW`` (squared singular values of W), largest first."""
        return self.record(layer).values

    @property
    def rows(self) -> list[Row]:
        """One dict per layer, keys as in :meth:`describe`."""
        return [record.row() for record in self.records]

    def metrics(self, prefix: str = "") -> dict[str, float]:
        """All numbers as one flat dict ``{prefix}{layer}/{column}``, for any experiment tracker."""
        return {
            f"{prefix}{record.layer}/{name}": value
            for record in self.records
            for name, value in record.numbers.items()
            if not math.isnan(value)
        }

    def to_pandas(self) -> pd.DataFrame:
        """All columns as a DataFrame indexed by layer (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_pandas needs pandas: pip install pandas (report.rows has the same numbers)"
            ) from error
        return pd.DataFrame(self.rows, columns=list(WEIGHT_COLUMNS)).set_index("layer")

    @staticmethod
    def describe() -> dict[str, str]:
        """The meaning of every column."""
        return dict(WEIGHT_COLUMNS)

    def save(self, path: str | Path) -> None:
        """Write the report to one file (safetensors and JSON), which :meth:`load` reads without running any code."""
        value = {"weights": list(self.records), "skipped": dict(self.skipped), "settings": dict(self.settings)}
        write(value, path, name="report")

    @classmethod
    def load(cls, path: str | Path) -> WeightReport:
        """Read a report that :meth:`save` wrote.

        >>> import tempfile, torch
        >>> from gramian.nets import inspect_weights
        >>> path = Path(tempfile.mkdtemp()) / "weights.gramian"
        >>> inspect_weights(torch.nn.Linear(3, 2)).save(path)
        >>> WeightReport.load(path)
        WeightReport(1 matrices of Linear)
        """
        value = read(path, device="cpu")
        if not isinstance(value, dict) or set(value) != {"weights", "skipped", "settings"}:
            raise ValueError(f"{path} holds no report on weights: WeightReport.save writes one")
        return cls(value["weights"], value["skipped"], value["settings"])

    def headline(self) -> str:
        """One line about the checkpoint: its name, matrices and numbers."""
        parts = [str(self.settings.get("checkpoint", "weights")), f"{len(self.records)} weight matrices"]
        if "parameters" in self.settings:
            parts.append(f"{self.settings['parameters']:,} parameters")
        if self.settings.get("initial"):
            parts.append(f"changes since {self.settings['initial']}")
        return " · ".join(parts)

    def sections(self) -> list[Section]:
        note = "\n".join(f"not measured  {names}: {reason}" for names, reason in skipped_by_reason(self.unusual()))
        return [Section(self.headline(), weight_table(self.rows), note)]

    def unusual(self) -> dict[str, str]:
        """The skipped tensors that are not vectors or single numbers, which have no matrix to measure."""
        return {name: why for name, why in self.skipped.items() if why not in ("a vector", "a number")}

    def __repr__(self) -> str:
        return f"WeightReport({len(self.records)} matrices of {self.settings.get('checkpoint', 'weights')})"


def weight_table(rows: Sequence[Row]) -> Table:
    """Return the table of a weight report's rows: layer, shape, and the columns in which a row has a number."""
    names = [name for name in SHOWN_WEIGHTS if any(not math.isnan(float(entry[name])) for entry in rows)]
    columns = [
        Column("layer", "left", hint=WEIGHT_COLUMNS["layer"]),
        Column("shape", hint=WEIGHT_COLUMNS["shape"]),
        *(
            Column(SHOWN_WEIGHTS[name].heading, group=SHOWN_WEIGHTS[name].group, hint=WEIGHT_COLUMNS[name])
            for name in names
        ),
    ]
    lines: list[list[Entry]] = [
        [str(entry["layer"]), str(entry["shape"]), *(SHOWN_WEIGHTS[name].cell(float(entry[name])) for name in names)]
        for entry in rows
    ]
    return Table(columns, lines)
