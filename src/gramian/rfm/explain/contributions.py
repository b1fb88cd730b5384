"""Contributions of columns and of training rows to one prediction.

Both are sums that add up. Columns: ``f(x) − f(x⁰) = Σⱼ (xⱼ − x⁰ⱼ) ∫₀¹ ∂ⱼf(x⁰ + t(x − x⁰)) dt``, the gradient of the
model integrated on the straight line from a reference row (integrated gradients). Rows: ``f(x) = offset + Σᵢ αᵢ
k(x, xᵢ)``. They describe to what the prediction is sensitive, not what causes the target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from gramian.display import (
    Bar,
    Renderable,
    Section,
    Table,
    bars,
    format_number,
    format_signed,
    format_value,
    more_columns,
)
from gramian.rfm.explain.output import Output
from gramian.rfm.model import FittedRFM
from gramian.tables.column_map import is_missing, row_as_table
from gramian.tables.targets import ClassTarget
from gramian.tables.types import Label, TableLike

if TYPE_CHECKING:
    from pandas import DataFrame

_FIRST_NODES, _MOST_NODES = 32, 256
_GAP_OF_DIFFERENCE, _GAP_OF_PARTS = 1e-2, 1e-3
"""The path is refined until the gap is below this share of the difference, or of the sum of all |contributions|."""
_SHOWN_COLUMNS = 12
_SHOWN_ROWS = 10
_ROUND_OFF = 1e-6

Method = Literal["path", "gradient"]
Row = Float[np.ndarray, " d"]
"""A row of standardised columns."""
Vector = Float[np.ndarray, " p"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The training rows with the largest parts in one prediction: ``offset + Σ parts + others`` is the explained score.

    ``rows`` are positions in the training table; ``parts`` are in the units of the score; ``similarity`` is
    ``k(x, xᵢ) / √(k(x, x) k(xᵢ, xᵢ))``, 1 for an equal row; ``others`` is the sum over all remaining rows.
    """

    rows: Int[np.ndarray, " k"]
    parts: Float[np.ndarray, " k"]
    similarity: Float[np.ndarray, " k"]
    others: float
    offset: float

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per training row: row, part, similarity."""
        import pandas as pd

        return pd.DataFrame({"row": self.rows, "part": self.parts, "similarity": self.similarity})


@dataclass(frozen=True, eq=False)
class Explanation(Renderable):
    """One prediction as a sum over columns and as a sum over training rows; see :func:`explain`.

    ``Σ contributions + gap = score − reference_score`` and ``neighbours.offset + Σ neighbours.parts +
    neighbours.others = score``, where ``score`` is the explained output at the row and ``reference_score`` the same
    output at the reference row. For a regressor ``score`` is ``prediction`` on the scale the target was fitted on.
    ``sensitivity`` is ``∂ score / ∂ column`` at the row, per unit of the user's column, and NaN for columns without
    numbers.
    """

    prediction: float | Label
    probabilities: dict[Label, float] | None
    output: Output
    score: float
    reference_score: float
    method: Method
    columns: tuple[str, ...]
    values: tuple[object, ...]
    contributions: Vector
    sensitivity: Vector
    gap: float
    nodes: int
    neighbours: Neighbours

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per column of the user, in the user's order."""
        import pandas as pd

        table = {"value": list(self.values), "contribution": self.contributions, "sensitivity": self.sensitivity}
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column"))

    def sections(self) -> list[Section]:
        """Return a table of columns and a table of training rows."""
        return [self._column_section(), self._row_section()]

    def _column_section(self) -> Section:
        order = np.argsort(-np.abs(self.contributions), kind="stable")
        shown, left = order[:_SHOWN_COLUMNS], order[_SHOWN_COLUMNS:]
        rows: list[list[str | Bar]] = [
            [
                self.columns[j],
                format_value(self.values[j]),
                bar,
                format_signed(self.contributions[j]),
                format_signed(self.sensitivity[j]),
            ]
            for j, bar in zip(shown, bars(self.contributions[shown].tolist()), strict=True)
        ]
        if len(left):
            rows.append([more_columns(len(left)), "", "", format_signed(float(self.contributions[left].sum())), ""])
        total = float(self.contributions.sum())
        sums = format_signed(total) + (f" and {format_signed(self.gap)} not resolved" if self.has_gap else "")
        note = f"reference {format_number(self.reference_score)}, columns {sums}: {format_number(self.score)}"
        return Section(self._title(), Table(["column", "value", "", "contribution", "sensitivity"], rows), note)

    @property
    def has_gap(self) -> bool:
        """True if the part of the difference that no column explains is more than rounding."""
        return abs(self.gap) > _ROUND_OFF * max(abs(float(self.contributions.sum())), abs(self.score))

    def _row_section(self) -> Section:
        near = self.neighbours
        lines: list[list[str | Bar]] = [
            [f"row {row}", f"{similarity:.3f}", bar, format_signed(part)]
            for row, similarity, bar, part in zip(
                near.rows, near.similarity, bars(near.parts.tolist()), near.parts, strict=True
            )
        ]
        lines += [
            ["all other rows", "", "", format_signed(near.others)],
            ["offset", "", "", format_signed(near.offset)],
        ]
        return Section("training rows with the largest parts", Table(["row", "similarity", "", "part"], lines))

    def _title(self) -> str:
        if self.probabilities is None:
            at = f"{self.output.name} {format_number(self.score)}"
            return at if self.prediction == self.score else f"prediction {format_number(self.prediction)} · {at}"
        probability = self.probabilities[self.prediction]
        return f"class {self.prediction} ({probability:.1%}) · {self.output.name} {format_number(self.score)}"


class Explanations(Renderable, list[Explanation]):
    """Explanations of several rows: a list that displays the columns of the first ten."""

    def sections(self) -> list[Section]:
        """Return one table of columns for each of the first ten rows."""
        shown = [explanation.sections()[0] for explanation in self[:_SHOWN_ROWS]]
        titled = [replace(section, title=f"row {i}: {section.title}") for i, section in enumerate(shown)]
        left = len(self) - len(shown)
        if left:
            titled[-1] = replace(titled[-1], note=f"{titled[-1].note}. {left} more rows are in the list")
        return titled


def explain(
    model: FittedRFM,
    X: TableLike,
    output: Label = None,
    n_neighbours: int = 5,
    method: Method = "path",
    reference: TableLike = None,
) -> Explanation | Explanations:
    """Split a prediction into contributions of the user's columns, and into parts of training rows.

    ``"path"``: ``c_j = (z_j − z⁰_j) ∫₀¹ ∂f/∂z_j(z⁰ + t(z − z⁰)) dt`` in standardised columns, from the reference row z⁰
    on a straight line (integrated gradients; Gauss–Legendre nodes are doubled from 32 to 256 until the error of
    ``Σ c_j = f(z) − f(z⁰)``, which is recorded as ``gap``, is below 1 %). ``"gradient"``: the local
    ``c_j = (z_j − z⁰_j) ∂f/∂z_j(z)``. Contributions of encoded columns are summed to those of the user's columns.

    Parameters
    ----------
    model : FittedRFM
    X : one row or a table (n, d)
    output : label, int or None
        The class whose score is explained (by default the predicted one; for two classes the decision score, which is
        that of the second), or the number of a target where there are several.
    n_neighbours : int
        Number of training rows to name: those whose parts in the prediction are largest.
    method : "path" or "gradient"
    reference : one row, optional
        The start of the path; by default the mean training row (of encoded columns).

    Returns
    -------
    Explanation, or a list of them where X holds several rows
        It can be printed, displayed by a notebook, and converted by ``to_pandas()``.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, 4 * X[:, 0] - X[:, 2]).model_
    >>> found = explain(model, [0.5, 0.5, 0.5])
    >>> [round(float(c)) for c in 2 * found.contributions]
    [4, 0, -1]
    >>> near = found.neighbours
    >>> bool(np.isclose(near.offset + near.parts.sum() + near.others, found.prediction))
    True
    """
    if method not in ("path", "gradient"):
        raise ValueError(f'method must be "path" or "gradient", got {method!r}')
    if not isinstance(n_neighbours, int | np.integer) or n_neighbours < 0:
        raise ValueError(f"n_neighbours must be a non-negative integer, got {n_neighbours!r}")
    table = row_as_table(X)
    Z = model.preprocessing.transform(table)
    explainer = _Explainer.starting_at(_start(model, reference), model, output, n_neighbours, method)
    found = [explainer.explain(z, model.columns.cells(table, i)) for i, z in enumerate(Z)]
    return found[0] if len(found) == 1 else Explanations(found)


def explain_standardised(
    model: FittedRFM, Z: Float[np.ndarray, "m d"], output: Label = None, n_neighbours: int = 5
) -> list[Explanation]:
    """Explain rows of standardised columns, such as the centres of a model, by the path method.

    Values are those of the user's numeric columns; other columns have none.

    >>> import numpy as np
    >>> from gramian import RFMRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
    >>> model = RFMRegressor(preset="fast", n_rounds=0).fit(X, X[:, 0]).model_
    >>> Z, _ = model.center_rows(3)
    >>> [len(found.contributions) for found in explain_standardised(model, Z)]
    [2, 2, 2]
    """
    explainer = _Explainer.starting_at(model.mean_row(), model, output, n_neighbours, "path")
    values = model.columns.own(model.preprocessing.scaler.inverse_transform(Z))
    return [explainer.explain(z, tuple(cells)) for z, cells in zip(Z, values.tolist(), strict=True)]


def _start(model: FittedRFM, reference: TableLike) -> Row:
    if reference is None:
        return model.mean_row()
    Z = model.preprocessing.transform(row_as_table(reference))
    if len(Z) != 1:
        raise ValueError(f"reference must be one row, got {len(Z)}")
    start: Row = Z[0]
    return start


@dataclass(frozen=True, eq=False)
class _Explainer:
    """The arguments of :func:`explain`, resolved, and the outputs ``start_scores (c,)`` at the reference row."""

    model: FittedRFM
    start: Row
    start_scores: Float[np.ndarray, " c"]
    wanted: Label
    n_neighbours: int
    method: Method

    @classmethod
    def starting_at(cls, start: Row, model: FittedRFM, wanted: Label, n_neighbours: int, method: Method) -> _Explainer:
        """Compute the outputs at the reference row."""
        scores = model.row_parts(start).sum(axis=0) + model.target_scaler.center
        return cls(model, start, scores, wanted, n_neighbours, method)

    def explain(self, z: Row, values: tuple[object, ...]) -> Explanation:
        """Explain one row of standardised columns, whose entries in the user's table are ``values``."""
        model = self.model
        parts, offsets = model.row_parts(z), model.target_scaler.center
        scores = parts.sum(axis=0) + offsets
        output = Output.of(model, self.wanted, scores)
        i, sign = output.index, output.sign
        score, reference_score = sign * float(scores[i]), sign * float(self.start_scores[i])
        slopes = sign * model.mean_gradient(z, z, i, 1)
        along, nodes = slopes * (z - self.start), 1
        if self.method == "path":
            along, nodes = self._along_path(z, output, score - reference_score)
        contributions = model.columns.fold(along)
        prediction, probabilities = _prediction(model, scores, score)
        # The value that replaces a missing entry has a slope, but no entry of the user's changes it.
        missing = [is_missing(value) for value in values]
        return Explanation(
            prediction=prediction,
            probabilities=probabilities,
            output=output,
            score=score,
            reference_score=reference_score,
            method=self.method,
            columns=model.columns.names,
            values=values,
            contributions=contributions,
            sensitivity=np.where(missing, np.nan, model.columns.own(slopes / model.preprocessing.scaler.scale)),
            gap=score - reference_score - float(contributions.sum()),
            nodes=nodes,
            neighbours=self._neighbours(z, sign * parts[:, i], sign * float(offsets[i])),
        )

    def _along_path(self, z: Row, output: Output, difference: float) -> tuple[Row, int]:
        """Return the contributions of encoded columns along the straight path, and the number of nodes."""
        nodes = _FIRST_NODES
        while True:
            slopes = output.sign * self.model.mean_gradient(self.start, z, output.index, nodes)
            along = slopes * (z - self.start)
            gap = abs(difference - float(along.sum()))
            tolerance = max(_GAP_OF_DIFFERENCE * abs(difference), _GAP_OF_PARTS * float(np.abs(along).sum()))
            if gap <= tolerance or 2 * nodes > _MOST_NODES:
                return along, nodes
            nodes *= 2

    def _neighbours(self, z: Row, parts: Float[np.ndarray, " n"], offset: float) -> Neighbours:
        largest = np.argsort(-np.abs(parts), kind="stable")[: self.n_neighbours]
        rest = np.ones(len(parts), dtype=bool)
        rest[largest] = False
        similarity = self.model.similarity(z, largest) if len(largest) else np.zeros(0)
        return Neighbours(self.model.row_index[largest], parts[largest], similarity, float(parts[rest].sum()), offset)


def _prediction(
    model: FittedRFM, scores: Float[np.ndarray, " c"], score: float
) -> tuple[float | Label, dict[Label, float] | None]:
    """Return the prediction in the user's terms, and a classifier's probabilities by label."""
    if not isinstance(model.target, ClassTarget):
        return float(model.target.transform.inverse_transform(np.array([score]))[0]), None
    labels = model.target.classes.tolist()
    shares = np.exp(model.log_probabilities(scores[None]))[0]
    return labels[int(model.target.indices(scores[None])[0])], dict(zip(labels, shares.tolist(), strict=True))
