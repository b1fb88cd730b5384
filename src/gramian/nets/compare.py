"""compare: two checkpoints of a network, or a network beside a kernel machine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from torch import Tensor

from gramian.core import cosine, pearson, psd_eigh
from gramian.nets.record import LayerRecord, Unavailable
from gramian.nets.report import FeatureReport
from gramian.nets.similarity import block_similarity
from gramian.nets.table import CSS

if TYPE_CHECKING:
    import pandas as pd

_DELTAS = ("nfa_half_cos", "fact_cos", "fact_residual", "effective_rank", "target_linearity", "nc1")


@dataclass(frozen=True)
class Comparison:
    """Rows of similarities; prints as a table, ``to_pandas()`` for the numbers."""

    title: str
    rows: list[dict[str, float | str]]
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Columns in which some row has a number."""
        names = dict.fromkeys(name for entry in self.rows for name in entry)
        return [n for n in names if any(not _missing(entry.get(n, math.nan)) for entry in self.rows)]

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame (needs pandas)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install pandas (rows has the same numbers)") from error
        return pd.DataFrame(self.rows, columns=self.columns).set_index(self.columns[0])

    def __rich__(self) -> RenderableType:
        table = Table(title=self.title, title_justify="left", title_style="bold", header_style="bold")
        for j, name in enumerate(self.columns):
            table.add_column(
                name.replace("_", " "), justify="left" if j == 0 else "right", no_wrap=j == 0, overflow="fold"
            )
        for entry in self.rows:
            table.add_row(*(_show(entry.get(name, math.nan)) for name in self.columns))
        return Group(table, *(Text(note, style="dim") for note in self.notes))

    def __str__(self) -> str:
        console = Console(width=160, force_terminal=False, no_color=True)
        with console.capture() as captured:
            console.print(self.__rich__())
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_show(entry.get(n, math.nan)))}</td>" for n in self.columns) + "</tr>"
            for entry in self.rows
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        table = f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{body}</table>"
        return f'<div class="gramian"><style>{CSS}</style>{table}{notes}</div>'


def compare(a: Any, b: Any, *, layer: str | None = None, directions: int = 5) -> Comparison:
    """Set two reports side by side layer by layer, or a fitted RFM (or any matrix) beside one layer.

    Two reports: relative change of the weights, cosines of their feature matrices, overlap of their strongest
    ``directions`` (1 the same subspace, k/d by chance), and how the main numbers moved from ``a`` to ``b``.

    A report and anything with ``feature_matrix_`` (or a square matrix, or its diagonal): cosine, Pearson,
    Pearson of the diagonals and overlap with the NFM and AGOP of ``layer``, by default the first one: paper
    B's central picture.

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
        return _reports(a, b, layer, directions)
    if isinstance(b, FeatureReport):
        return _beside(_matrix_of(a), b, layer, directions)
    if isinstance(a, FeatureReport):
        return _beside(_matrix_of(b), a, layer, directions)
    raise ValueError("compare needs at least one FeatureReport (from gramian.inspect)")


def subspace_overlap(A: Tensor, B: Tensor, k: int) -> float:
    """``‖VₐᵀV_b‖² / k`` for the k strongest directions of two PSD matrices: 1 for one subspace, k/d by
    chance.

    >>> subspace_overlap(torch.eye(3).double(), torch.eye(3).double(), 3)
    1.0
    """
    (a, Va), (b, Vb) = psd_eigh(A), psd_eigh(B)
    # Beyond the rank a "direction" is an arbitrary vector of the null space.
    k = min(k, *(int((values > 1e-10 * values[0]).sum()) for values in (a, b)))
    return float((Va[:, :k].mT @ Vb[:, :k]).square().sum() / k) if k else math.nan


def _reports(a: FeatureReport, b: FeatureReport, layer: str | None, directions: int) -> Comparison:
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
            "nfm_cos": _between(one, two, "nfm"),
            "agop_cos": _between(one, two, "agop"),
            "ptk_cos": _between(one, two, "ptk"),
            "nfm_overlap": _overlap(one, two, "nfm", directions),
            "agop_overlap": _overlap(one, two, "agop", directions),
        }
        entry |= {f"Δ {c}": float(rows_b[name][c]) - float(rows_a[name][c]) for c in _DELTAS}
        rows.append(entry)
    for title, names in (("first", set(a.layers) - set(common)), ("second", set(b.layers) - set(common))):
        if names and layer is None:
            notes.append(f"only in the {title} report: {', '.join(sorted(names))}")
    return Comparison("from the first report to the second", rows, notes)


def _between(one: LayerRecord, two: LayerRecord, name: str) -> float:
    try:
        return block_similarity(one.blocks(name), two.blocks(name))
    except Unavailable:
        return math.nan


def _overlap(one: LayerRecord, two: LayerRecord, name: str, k: int) -> float:
    if one.weight.shape[0] > 1 or not one.dense(name):
        return math.nan
    return subspace_overlap(one.blocks(name)[0], two.blocks(name)[0], k)


def _matrix_of(value: Any) -> Tensor:
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


def _beside(M: Tensor, report: FeatureReport, layer: str | None, directions: int) -> Comparison:
    name = layer or report.layers[0]
    record = report.record(name)
    if record.dim("nfm") != M.shape[0]:
        raise ValueError(
            f"layer {name!r} reads {record.dim('nfm')} features and the matrix has {M.shape[0]}: give "
            "both the same "
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
            "overlap": subspace_overlap(A, M, directions),
        })  # fmt: skip
    return Comparison(f"feature matrix beside layer {name!r}", rows)


def _missing(value: float | str) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _show(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "–" if math.isnan(value) else f"{value:.3f}"
