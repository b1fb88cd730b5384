"""Comparison of two reports on a network, or of one layer with the feature matrix of a kernel machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from gramian.core import cosine, pearson, psd_eigh
from gramian.display import Renderable, Section, Table, format_fixed
from gramian.nets.record import LayerRecord, Unavailable
from gramian.nets.report import FeatureReport
from gramian.nets.similarity import block_similarity

if TYPE_CHECKING:
    import pandas as pd

_DELTAS = ("nfa_half_cos", "fact_cos", "fact_residual", "effective_rank", "target_linearity", "nc1")


@dataclass(frozen=True, repr=False)
class Comparison(Renderable):
    """Rows of similarities: printed as a table, with the numbers in ``rows`` and ``to_pandas()``."""

    title: str
    rows: list[dict[str, float | str]]
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """The columns in which at least one row has a number."""
        names = dict.fromkeys(name for entry in self.rows for name in entry)
        return [n for n in names if any(not _missing(entry.get(n, math.nan)) for entry in self.rows)]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a DataFrame (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas (rows has the same numbers)") from error
        return pd.DataFrame(self.rows, columns=self.columns).set_index(self.columns[0])

    def sections(self) -> list[Section]:
        table = Table(
            [name.replace("_", " ") for name in self.columns],
            [[_cell(entry.get(name, math.nan)) for name in self.columns] for entry in self.rows],
        )
        return [Section(self.title, table, "\n".join(self.notes))]


def compare(a: object, b: object, *, layer: str | None = None, directions: int = 5) -> Comparison:
    """Compare two reports layer by layer, or a feature matrix with those of one layer.

    For two reports: the relative change of the weights, cosines of their feature matrices, the overlap of their
    strongest ``directions`` (1 for the same subspace, k/d by chance, NaN where the layer has no more than k inputs),
    and the change of the main numbers from ``a`` to ``b``.

    For a report and a fitted RFM (anything with ``feature_matrix_``, a square matrix, or its diagonal): cosine, Pearson
    correlation, Pearson correlation of the diagonals, and overlap with the NFM and the AGOP of ``layer``, by default
    the first one. This is the comparison of networks and kernel machines in the RFM paper (B).

    >>> from torch import nn
    >>> from gramian.nets import inspect
    >>> model = nn.Linear(3, 2, bias=False)
    >>> report = inspect(model, torch.eye(3))
    >>> round(compare(report, report).rows[0]["nfm_cos"], 6)
    1.0
    >>> compare(report.matrix("model", "nfm"), report).rows[0]["matrix"]
    'nfm'
    """
    if isinstance(a, FeatureReport) and isinstance(b, FeatureReport):
        return _compare_reports(a, b, layer, directions)
    if isinstance(b, FeatureReport):
        return _compare_with_layer(_matrix_of(a), b, layer, directions)
    if isinstance(a, FeatureReport):
        return _compare_with_layer(_matrix_of(b), a, layer, directions)
    raise ValueError("compare needs at least one FeatureReport (from gramian.inspect)")


def subspace_overlap(A: Tensor, B: Tensor, k: int) -> float:
    """Overlap ``‖VₐᵀV_b‖² / k`` of the k strongest directions of two PSD matrices: 1 if equal, k/d by chance.

    >>> subspace_overlap(torch.eye(3).double(), torch.eye(3).double(), 3)
    1.0
    """
    (a, Va), (b, Vb) = psd_eigh(A), psd_eigh(B)
    # Beyond the rank a "direction" is an arbitrary vector of the null space.
    k = min(k, *(int((values > 1e-10 * values[0]).sum()) for values in (a, b)))
    return float((Va[:, :k].mT @ Vb[:, :k]).square().sum() / k) if k else math.nan


def _compare_reports(a: FeatureReport, b: FeatureReport, layer: str | None, directions: int) -> Comparison:
    common = [name for name in a.layers if name in b.layers]
    if layer is not None:
        a.record(layer), b.record(layer)
        common = [layer]
    if not common:
        raise ValueError(f"the reports have no layer in common: {a.layers} and {b.layers}")
    rows_a, rows_b = ({str(entry["layer"]): entry for entry in report.rows} for report in (a, b))
    rows: list[dict[str, float | str]] = []
    notes: list[str] = []
    for name in common:
        one, two = a.record(name), b.record(name)
        if one.weight.shape != two.weight.shape:
            notes.append(f"{name}: shapes differ, {tuple(one.weight.shape)} and {tuple(two.weight.shape)}")
            continue
        entry: dict[str, float | str] = {
            "layer": name,
            "weight_change": float((two.W - one.W).norm() / one.W.norm()),
            "nfm_cos": _similarity_between(one, two, "nfm"),
            "agop_cos": _similarity_between(one, two, "agop"),
            "ptk_cos": _similarity_between(one, two, "ptk"),
            "nfm_overlap": _overlap(one, two, "nfm", directions),
            "agop_overlap": _overlap(one, two, "agop", directions),
        }
        entry |= {f"Δ {c}": float(rows_b[name][c]) - float(rows_a[name][c]) for c in _DELTAS}
        rows.append(entry)
    for title, names in (("first", set(a.layers) - set(common)), ("second", set(b.layers) - set(common))):
        if names and layer is None:
            notes.append(f"only in the {title} report: {', '.join(sorted(names))}")
    return Comparison("from the first report to the second", rows, notes)


def _similarity_between(one: LayerRecord, two: LayerRecord, name: str) -> float:
    try:
        return block_similarity(one.blocks(name), two.blocks(name))
    except Unavailable:
        return math.nan


def _overlap(one: LayerRecord, two: LayerRecord, name: str, k: int) -> float:
    if one.weight.shape[0] > 1 or not one.dense(name) or one.dim(name) <= k:
        return math.nan  # as many directions as dimensions always agree
    return subspace_overlap(one.blocks(name)[0], two.blocks(name)[0], k)


def _matrix_of(value: object) -> Tensor:
    source = getattr(value, "feature_matrix_", value)
    if source is value and hasattr(value, "fit"):
        raise ValueError(f"{type(value).__name__} has no feature_matrix_: fit it first")
    if not isinstance(source, Tensor | np.ndarray):
        raise ValueError(f"compare needs a report, a fitted RFM or a matrix, got {type(value).__name__}")
    M = torch.as_tensor(source).detach().cpu().double()
    M = torch.diag(M) if M.ndim == 1 else M
    if M.ndim != 2 or M.shape[0] != M.shape[1]:
        raise ValueError(f"the feature matrix must be square or a diagonal, got shape {tuple(M.shape)}")
    return M


def _compare_with_layer(M: Tensor, report: FeatureReport, layer: str | None, directions: int) -> Comparison:
    name = layer or report.layers[0]
    record = report.record(name)
    if record.dim("nfm") != M.shape[0]:
        raise ValueError(
            f"layer {name!r} reads {record.dim('nfm')} features and the matrix has {M.shape[0]}: give both the same "
            "inputs, or choose another layer="
        )
    rows: list[dict[str, float | str]] = []
    for kind in ("nfm", "agop"):
        A = torch.block_diag(*record.blocks(kind))
        top_a, top_m = psd_eigh(A)[1][:, 0], psd_eigh(M)[1][:, 0]
        rows.append({
            "matrix": kind,
            "cosine": cosine(A, M),
            "pearson": pearson(A, M),
            "diagonal_pearson": pearson(A.diagonal(), M.diagonal()),
            "first_direction": abs(float(top_a @ top_m)),
            "overlap": subspace_overlap(A, M, directions) if M.shape[0] > directions else math.nan,
        })  # fmt: skip
    return Comparison(f"the feature matrix and those of layer {name!r}", rows)


def _missing(value: float | str) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _cell(value: float | str) -> str:
    return value if isinstance(value, str) else format_fixed(value)
