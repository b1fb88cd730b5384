"""Learned directions with named loadings, and pairs of columns with joint sensitivity.

Both are computed from one matrix: the M of the kernel, or the average gradient outer product of the predictor where
that M carries no information (round 0 was selected, or the kernel has the identity on the columns that passed the
feature threshold).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Float

from gramian.core import psd_eigh
from gramian.display import Bar, Plottable, Section, Table, bars, format_signed
from gramian.rfm.model import FittedRFM
from gramian.tables.column_map import ColumnMap

if TYPE_CHECKING:
    from pandas import DataFrame

_SHOWN_LOADINGS, _SHOWN_SIZE = 8, 0.01
"""At most this many loadings are displayed, and none that is smaller."""

Matrix = Float[np.ndarray, "d d"]
MatrixName = Literal["feature_matrix_", "agop_"]


@dataclass(frozen=True, eq=False, repr=False)
class Directions(Plottable):
    """Eigenvectors of the learned matrix, strongest first: ``loadings (k, d)`` on standardised (encoded) columns.

    ``shares`` are eigenvalues divided by the trace. Each row of ``loadings`` has length 1 and its largest entry is
    positive. ``source`` names the matrix: ``"feature_matrix_"`` or ``"agop_"``.
    """

    names: tuple[str, ...]
    loadings: Float[np.ndarray, "k d"]
    shares: Float[np.ndarray, " k"]
    source: MatrixName
    columns: ColumnMap

    @property
    def folded(self) -> Float[np.ndarray, "k p"]:
        """The share of each direction in each of the user's columns: sums of squared loadings, 1 in total."""
        return self.columns.fold(self.loadings**2)

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per (encoded) column and one column per direction."""
        import pandas as pd

        called = [f"direction {i + 1}" for i in range(len(self.loadings))]
        return pd.DataFrame(self.loadings.T, index=pd.Index(self.names, name="column"), columns=called)

    def sections(self) -> list[Section]:
        """Return one table of loadings per direction."""
        return [self._section(i) for i in range(len(self.loadings))]

    def _section(self, i: int) -> Section:
        direction = self.loadings[i]
        order = np.argsort(-np.abs(direction), kind="stable")[:_SHOWN_LOADINGS]
        order = order[np.abs(direction[order]) >= _SHOWN_SIZE]
        rows: list[list[str | Bar]] = [
            [self.names[j], bar, format_signed(direction[j])]
            for j, bar in zip(order, bars(direction[order].tolist()), strict=True)
        ]
        title = f"direction {i + 1}: {self.shares[i]:.1%} of {self.source}"
        return Section(title, Table(["column", "", "loading"], rows))


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Plottable):
    """Pairs of the user's columns by *joint sensitivity*: the off-diagonal of the learned matrix.

    ``strength`` is ``‖M_AB‖ / tr M`` and ``correlation`` is ``‖M_AB‖ / √(‖M_AA‖ ‖M_BB‖)``, with the norm over the
    encoded columns behind A and B; for two plain columns the latter is ``M_ij / √(M_ii M_jj)`` with its sign.

    Joint sensitivity means that the predictions depend on the two columns together, along one direction. A sum
    ``a + b`` has it too, and a product of two centred columns need not: it is no test for an interaction in the sense
    of a model with products.
    """

    pairs: tuple[tuple[str, str], ...]
    strength: Float[np.ndarray, " k"]
    correlation: Float[np.ndarray, " k"]
    source: MatrixName

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per pair, strongest first."""
        import pandas as pd

        first, second = [a for a, _ in self.pairs], [b for _, b in self.pairs]
        return pd.DataFrame(
            {"first": first, "second": second, "strength": self.strength, "correlation": self.correlation}
        )

    def sections(self) -> list[Section]:
        """Return a table with one line per pair."""
        rows: list[list[str | Bar]] = [
            [f"{a} × {b}", bar, f"{strength:.1%}", f"{correlation:+.2f}"]
            for (a, b), bar, strength, correlation in zip(
                self.pairs, bars(self.strength.tolist()), self.strength, self.correlation, strict=True
            )
        ]
        note = "a sum of two columns has joint sensitivity too; a product of centred ones need not"
        title = f"joint sensitivity, from {self.source}"
        return [Section(title, Table(["pair", "", "strength", "correlation"], rows), note)]


def learned_matrix(model: FittedRFM, off_diagonal: bool = False) -> tuple[Matrix, MatrixName]:
    """Return the matrix that describes what was learned, and its name.

    It is M, or the AGOP of the predictor where M is a multiple of the identity, where columns were left out by the
    feature threshold, or where ``off_diagonal`` is asked for and M is diagonal.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> learned_matrix(RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_)[1]
    'agop_'
    """
    M = model.features.matrix
    plain = np.allclose(M, np.eye(len(M)) * M[0, 0], rtol=1e-12, atol=0)
    diagonal = not np.any(M - np.diag(np.diag(M)))
    if plain or not np.all(model.features.support) or (off_diagonal and diagonal):
        return model.agop, "agop_"
    return M, "feature_matrix_"


def directions(model: FittedRFM, k: int = 3) -> Directions:
    """Return the k strongest learned directions: eigenvectors of the learned matrix, with named loadings.

    The matrix is that of :func:`learned_matrix`; ``source`` of the result names it.

    Parameters
    ----------
    model : FittedRFM
    k : int
        Directions, at most; there are no more of them than eigenvalues above zero.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(150, 3))
    >>> estimator = RFMRegressor(preset="fast", update="agop", select_round="last")
    >>> abs(directions(estimator.fit(X, X[:, 0] - X[:, 2]).model_, 1).loadings) > 0.5
    array([[ True, False,  True]])
    """
    check_positive("k", k)
    M, source = learned_matrix(model)
    values, vectors = (part.numpy() for part in psd_eigh(torch.from_numpy(M)))
    count = min(int(k), max(1, int((values > len(M) * np.finfo(float).eps * values[0]).sum())))
    loadings = np.ascontiguousarray(vectors[:, :count].T)
    total = values.sum() or 1.0
    return Directions(model.columns.encoded, loadings, values[:count] / total, source, model.columns)


def interactions(model: FittedRFM, k: int = 10) -> Interactions:
    """Return the k pairs of columns with the largest joint sensitivity, from the off-diagonal of the learned matrix.

    :class:`Interactions` explains what joint sensitivity is, and that it is no test for products.

    Parameters
    ----------
    model : FittedRFM
    k : int
        Pairs, at most.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).normal(size=(150, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, (X[:, 0] + X[:, 2]) ** 2).model_
    >>> interactions(model, 1).pairs
    (('x0', 'x2'),)
    """
    check_positive("k", k)
    M, source = learned_matrix(model, off_diagonal=True)
    columns = model.columns
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


def check_positive(name: str, value: object) -> None:
    """Raise a ValueError that names the argument unless it is a positive integer."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
