"""Learned directions with named loadings, pairs of columns the predictions answer to jointly, and the view along one.

All of it reads one matrix: the M the kernel predicts with, or the average gradient outer product of the predictor where
that M says nothing (round 0 was kept, or columns were thresholded and the kernel is plain on the rest).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from gramian.core import psd_eigh
from gramian.display import Bar, Renderable, Section, Table, bars, format_number, format_signed
from gramian.rfm.columns import Columns
from gramian.rfm.importance import training_rows
from gramian.rfm.outputs import Output

_SHOWN_LOADINGS = 8
Matrix = Float[np.ndarray, "d d"]


@dataclass(frozen=True, eq=False)
class Directions(Renderable):
    """Eigenvectors of the learned matrix, strongest first: ``loadings (k, d)`` on standardised (encoded) columns.

    ``shares`` are eigenvalues over the trace. Each row of ``loadings`` has length 1 and its largest entry is positive.
    ``source`` names the matrix: ``"feature_matrix_"`` or ``"agop_"``.
    """

    names: tuple[str, ...]
    loadings: Float[np.ndarray, "k d"]
    shares: Float[np.ndarray, " k"]
    source: str
    columns: Columns

    @property
    def folded(self) -> Float[np.ndarray, "k p"]:
        """How much of each direction lies in each of the user's columns: squared loadings summed, 1 in all."""
        return self.columns.fold(self.loadings**2)

    def to_pandas(self) -> Any:
        """A frame with one line per (encoded) column and one column per direction."""
        import pandas as pd

        called = [f"direction {i + 1}" for i in range(len(self.loadings))]
        return pd.DataFrame(self.loadings.T, index=pd.Index(self.names, name="column"), columns=called)

    def sections(self) -> list[Section]:
        found = []
        for i, (direction, share) in enumerate(zip(self.loadings, self.shares, strict=True)):
            order = np.argsort(-np.abs(direction), kind="stable")[:_SHOWN_LOADINGS]
            order = order[np.abs(direction[order]) >= 0.01]
            rows: list[list[str | Bar]] = [
                [self.names[j], bar, format_signed(direction[j])]
                for j, bar in zip(order, bars(direction[order].tolist()), strict=True)
            ]
            found.append(
                Section(f"direction {i + 1}: {share:.1%} of {self.source}", Table(["column", "", "loading"], rows))
            )
        return found


@dataclass(frozen=True, eq=False)
class Interactions(Renderable):
    """Pairs of the user's columns by *joint sensitivity*: the off-diagonal of the learned matrix.

    ``strength`` is ``‖M_AB‖ / tr M`` and ``correlation`` is ``‖M_AB‖ / √(‖M_AA‖ ‖M_BB‖)``, with the norm over the
    encoded columns behind A and B; for two plain columns the latter is ``M_ij / √(M_ii M_jj)`` with its sign.

    What it says: the predictions answer to the two columns together, along one direction. A sum ``a + b`` does so too,
    and a product of two centred columns need not; so it is no test for an interaction in a model with products.
    """

    pairs: tuple[tuple[str, str], ...]
    strength: Float[np.ndarray, " k"]
    correlation: Float[np.ndarray, " k"]
    source: str

    def to_pandas(self) -> Any:
        """A frame with one line per pair, strongest first."""
        import pandas as pd

        first, second = [a for a, _ in self.pairs], [b for _, b in self.pairs]
        return pd.DataFrame(
            {"first": first, "second": second, "strength": self.strength, "correlation": self.correlation}
        )

    def sections(self) -> list[Section]:
        rows: list[list[str | Bar]] = [
            [f"{a} × {b}", bar, f"{strength:.1%}", f"{correlation:+.2f}"]
            for (a, b), bar, strength, correlation in zip(
                self.pairs, bars(self.strength.tolist()), self.strength, self.correlation, strict=True
            )
        ]
        note = "a sum of two columns has joint sensitivity too; a product of centred ones need not"
        title = f"joint sensitivity, from {self.source}"
        return [Section(title, Table(["pair", "", "strength", "correlation"], rows), note)]


@dataclass(frozen=True, eq=False)
class Along(Renderable):
    """Predictions when rows are moved along a learned direction and keep everything else.

    ``grid`` holds positions ``v·z`` (v of length 1, z the standardised columns), ``mean`` the average prediction of all
    rows put there, ``low`` and ``high`` bound the middle ``level`` of them.
    """

    direction: Float[np.ndarray, " d"]
    name: str
    output: Output
    grid: Float[np.ndarray, " g"]
    mean: Float[np.ndarray, " g"]
    low: Float[np.ndarray, " g"]
    high: Float[np.ndarray, " g"]
    level: float

    def to_pandas(self) -> Any:
        """A frame with one line per position."""
        import pandas as pd

        return pd.DataFrame({"position": self.grid, "mean": self.mean, "low": self.low, "high": self.high})

    def sections(self) -> list[Section]:
        some = np.unique(np.linspace(0, len(self.grid) - 1, 11).astype(int))
        rows: list[list[str | Bar]] = [
            [
                f"{self.grid[g]:+.2f}",
                bar,
                format_number(self.mean[g]),
                f"{format_number(self.low[g])} – {format_number(self.high[g])}",
            ]
            for g, bar in zip(some, bars((self.mean[some] - self.mean.min()).tolist()), strict=True)
        ]
        heading = f"{self.level:.0%} of rows"
        return [Section(f"{self.output.name} along {self.name}", Table(["position", "", "mean", heading], rows))]


def learned_matrix(model: Any, off_diagonal: bool = False) -> tuple[Matrix, str]:
    """The matrix that says what was learned, and its name; ``off_diagonal`` asks for one that is not diagonal."""
    M = np.asarray(model.feature_matrix_, dtype=np.float64)
    plain = np.allclose(M, np.eye(len(M)) * M[0, 0], rtol=1e-12, atol=0)
    diagonal = not np.any(M - np.diag(np.diag(M)))
    if plain or not np.all(model.support_) or (off_diagonal and diagonal):
        return model.agop_, "agop_"
    return M, "feature_matrix_"


def directions(model: Any, k: int) -> Directions:
    """See :meth:`gramian.rfm.explains.Explains.directions`."""
    _at_least_one("k", k)
    M, source = learned_matrix(model)
    values, vectors = (part.numpy() for part in psd_eigh(torch.from_numpy(M)))
    kept = min(int(k), max(1, int((values > len(M) * np.finfo(float).eps * values[0]).sum())))
    columns = Columns.of(model)
    total = values.sum() or 1.0
    return Directions(
        columns.encoded, np.ascontiguousarray(vectors[:, :kept].T), values[:kept] / total, source, columns
    )


def interactions(model: Any, k: int) -> Interactions:
    """See :meth:`gramian.rfm.explains.Explains.interactions`."""
    _at_least_one("k", k)
    M, source = learned_matrix(model, off_diagonal=True)
    columns = Columns.of(model)
    size = np.sqrt(columns.fold(columns.fold(M**2).T))
    own = np.sqrt(np.diag(size))
    single = np.bincount(columns.groups, minlength=len(columns.names)) == 1
    first = [int(np.argmax(columns.groups == p)) for p in range(len(columns.names))]
    trace = float(np.trace(M)) or 1.0
    upper = np.triu_indices(len(columns.names), 1)
    largest = np.argsort(-size[upper], kind="stable")[: int(k)]
    pairs = [(int(upper[0][i]), int(upper[1][i])) for i in largest]
    correlation = []
    for a, b in pairs:
        sign = np.sign(M[first[a], first[b]]) if single[a] and single[b] else 1.0
        scale = own[a] * own[b]
        correlation.append(sign * size[a, b] / scale if scale > 0 else 0.0)
    return Interactions(
        tuple((columns.names[a], columns.names[b]) for a, b in pairs),
        np.array([size[pair] / trace for pair in pairs]),
        np.array(correlation),
        source,
    )


def partial_dependence_along(model: Any, direction: int, grid: int, rows: int, output: Any, level: float) -> Along:
    """See :meth:`gramian.rfm.explains.Explains.partial_dependence_along`."""
    _at_least_one("grid", grid)
    _at_least_one("rows", rows)
    if not isinstance(direction, int | np.integer) or direction < 0:
        raise ValueError(f"direction must be the number of a learned direction, from 0 on, got {direction!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    found = directions(model, int(direction) + 1)
    if direction >= len(found.loadings):
        raise ValueError(f"direction must be below {len(found.loadings)}, the number of directions learned")
    return along(model, found, int(direction), grid, rows, output, level)


def along(
    model: Any, found: Directions, direction: int, grid: int, rows: int, output: Any = None, level: float = 0.8
) -> Along:
    """The same along one of directions that are there already: nothing is decomposed anew."""
    v, chosen = found.loadings[direction], Output.of(model, output)
    every, _ = training_rows(model, model.machine_.n)
    first, last = np.quantile(every @ v, [0.01, 0.99])
    positions = np.linspace(first, last, int(grid))
    Z, weights = training_rows(model, int(rows))
    across = Z - np.outer(Z @ v, v)
    moved = (across[None] + positions[:, None, None] * v).reshape(-1, Z.shape[1])
    outputs = chosen.sign * model._outputs_at(moved)[:, chosen.index].reshape(len(positions), len(Z))
    low, high = np.quantile(outputs, [(1 - level) / 2, (1 + level) / 2], axis=1)
    mean = np.average(outputs, axis=1, weights=weights)
    return Along(v, f"direction {direction + 1}", chosen, positions, mean, low, high, float(level))


def _at_least_one(name: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
