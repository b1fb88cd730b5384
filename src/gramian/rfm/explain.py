"""Why this prediction: what each column and each training row adds to it.

Both are sums that add up. Columns: ``f(x) − f(x⁰) = Σⱼ (xⱼ − x⁰ⱼ) ∫₀¹ ∂ⱼf(x⁰ + t(x − x⁰)) dt``, the gradient of the
machine integrated on the straight line from a reference row (integrated gradients). Rows: ``f(x) = offset + Σᵢ αᵢ
k(x, xᵢ)``. They say to what the prediction is sensitive, not what causes the target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from gramian.core import threads, wide_dtype
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
from gramian.rfm.calibration import log_probabilities
from gramian.rfm.columns import Columns, as_table, missing
from gramian.rfm.outputs import Output

METHODS = ("path", "gradient")
_FIRST_NODES, _MOST_NODES = 32, 256
_GAP_OF_DIFFERENCE, _GAP_OF_PARTS = 1e-2, 1e-3
"""The path is refined until the gap is below this share of the difference, or of the sum of all |contributions|."""
_SHOWN_COLUMNS = 12
_SHOWN_ROWS = 10
Vector = Float[np.ndarray, " p"]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The training rows that add most to one prediction: ``offset + Σ parts + others`` is the explained score.

    ``rows`` counts in the table the model was fitted to; ``parts`` are in the units of the score; ``similarity`` is
    ``k(x, xᵢ) / √(k(x, x) k(xᵢ, xᵢ))``, 1 for the same row; ``others`` is what all remaining rows add.
    """

    rows: Int[np.ndarray, " k"]
    parts: Float[np.ndarray, " k"]
    similarity: Float[np.ndarray, " k"]
    others: float
    offset: float

    def to_pandas(self) -> Any:
        """A frame with one line per training row: row, part, similarity."""
        import pandas as pd

        return pd.DataFrame({"row": self.rows, "part": self.parts, "similarity": self.similarity})


@dataclass(frozen=True, eq=False)
class Explanation(Renderable):
    """One prediction taken apart; see :meth:`gramian.rfm.explains.Explains.explain`.

    ``Σ contributions + gap = score − reference_score`` and ``neighbours.offset + Σ neighbours.parts +
    neighbours.others = score``, where ``score`` is the explained output at the row and ``reference_score`` the same
    output at the reference row. For a regressor ``score`` is ``prediction`` on the scale the target was fitted on.
    ``sensitivity`` is ``∂ score / ∂ column`` at the row, per unit of the user's column, NaN where that is no number.
    """

    prediction: Any
    probabilities: dict[Any, float] | None
    output: Output
    score: float
    reference_score: float
    method: str
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    contributions: Vector
    sensitivity: Vector
    gap: float
    nodes: int
    neighbours: Neighbours

    def to_pandas(self) -> Any:
        """A frame with one line per column of the user, in the user's order."""
        import pandas as pd

        table = {"value": list(self.values), "contribution": self.contributions, "sensitivity": self.sensitivity}
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column"))

    def sections(self) -> list[Section]:
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
        unresolved = abs(self.gap) > 1e-6 * max(abs(total), abs(self.score))  # else it is round-off
        sums = format_signed(total) + (f" and {format_signed(self.gap)} not resolved" if unresolved else "")
        note = f"reference {format_number(self.reference_score)}, columns {sums}: {format_number(self.score)}"
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
        headings = ["column", "value", "", "contribution", "sensitivity"]
        return [
            Section(self._title(), Table(headings, rows), note),
            Section("training rows that add most to it", Table(["row", "similarity", "", "part"], lines)),
        ]

    def _title(self) -> str:
        if self.probabilities is None:
            at = f"{self.output.name} {format_number(self.score)}"
            return at if self.prediction == self.score else f"prediction {format_number(self.prediction)} · {at}"
        sure = self.probabilities[self.prediction]
        return f"class {self.prediction} ({sure:.1%}) · {self.output.name} {format_number(self.score)}"


class Explanations(Renderable, list[Explanation]):
    """Explanations of several rows: a list that shows the columns of the first ten."""

    def sections(self) -> list[Section]:
        found = [explanation.sections()[0] for explanation in self[:_SHOWN_ROWS]]
        titled = [replace(section, title=f"row {i}: {section.title}") for i, section in enumerate(found)]
        left = len(self) - len(found)
        if left:
            titled[-1] = replace(titled[-1], note=f"{titled[-1].note}. {left} more rows are in the list")
        return titled


def explain_rows(
    model: Any, X: Any, output: Any, n_neighbours: int, method: str, reference: Any
) -> Explanation | list[Explanation]:
    """See :meth:`gramian.rfm.explains.Explains.explain`."""
    if method not in METHODS:
        raise ValueError(f'method must be "path" or "gradient", got {method!r}')
    if not isinstance(n_neighbours, int | np.integer) or n_neighbours < 0:
        raise ValueError(f"n_neighbours must be a non-negative integer, got {n_neighbours!r}")
    table, columns = as_table(X), Columns.of(model)
    Z = model._scaled(table)
    if reference is None:
        start = _mean_row(model)
    else:
        given = model._scaled(as_table(reference))
        if len(given) != 1:
            raise ValueError(f"reference must be one row, got {len(given)}")
        start = given[0]
    start_scores = _parts(model, start).sum(axis=0) + model._target_scaler.center
    found = [
        _explain_row(model, z, start, start_scores, columns, columns.cells(table, i), output, n_neighbours, method)
        for i, z in enumerate(Z)
    ]
    return found[0] if len(found) == 1 else Explanations(found)


def explain_standardised(
    model: Any, Z: Float[np.ndarray, "m d"], output: Any = None, n_neighbours: int = 5
) -> list[Explanation]:
    """Explanations of rows of standardised columns, such as the training rows a model keeps, by the path method.

    Values are those of the user's numbers; columns that were encoded otherwise have none.
    """
    columns, start = Columns.of(model), _mean_row(model)
    start_scores = _parts(model, start).sum(axis=0) + model._target_scaler.center
    values = columns.own(model._scaler.undo(Z))
    return [
        _explain_row(model, z, start, start_scores, columns, tuple(cells), output, n_neighbours, "path")
        for z, cells in zip(Z, values.tolist(), strict=True)
    ]


def _explain_row(
    model: Any,
    z: Float[np.ndarray, " d"],
    start: Float[np.ndarray, " d"],
    start_scores: Float[np.ndarray, " c"],
    columns: Columns,
    values: tuple[Any, ...],
    output: Any,
    n_neighbours: int,
    method: str,
) -> Explanation:
    parts, offsets = _parts(model, z), model._target_scaler.center
    scores = parts.sum(axis=0) + offsets
    chosen = Output.of(model, output, scores)
    i, sign = chosen.index, chosen.sign
    score, reference_score = sign * float(scores[i]), sign * float(start_scores[i])
    at_row = _gradient(model, z, chosen)
    along, nodes = at_row * (z - start), 1
    if method == "path":
        along, nodes = _path(model, z, start, chosen, score - reference_score)
    contributions = columns.fold(along)
    prediction, probabilities = _prediction(model, scores, score)
    return Explanation(
        prediction=prediction,
        probabilities=probabilities,
        output=chosen,
        score=score,
        reference_score=reference_score,
        method=method,
        columns=columns.names,
        values=values,
        contributions=contributions,
        # what is filled in has a slope, but nothing the user could change
        sensitivity=np.where([missing(value) for value in values], np.nan, columns.own(at_row / model._scaler.scale)),
        gap=score - reference_score - float(contributions.sum()),
        nodes=nodes,
        neighbours=_neighbours(model, z, sign * parts[:, i], sign * float(offsets[i]), n_neighbours),
    )


def _path(
    model: Any, z: Float[np.ndarray, " d"], start: Float[np.ndarray, " d"], output: Output, difference: float
) -> tuple[Float[np.ndarray, " d"], int]:
    """Contributions of encoded columns along the straight path, and the nodes it took."""
    nodes = _FIRST_NODES
    while True:
        along = _mean_gradient(model, start, z, output, nodes) * (z - start)
        gap = abs(difference - float(along.sum()))
        small = max(_GAP_OF_DIFFERENCE * abs(difference), _GAP_OF_PARTS * float(np.abs(along).sum()))
        if gap <= small or 2 * nodes > _MOST_NODES:
            return along, nodes
        nodes *= 2


def _gradient(model: Any, z: Float[np.ndarray, " d"], output: Output) -> Float[np.ndarray, " d"]:
    """The gradient of one output at one row."""
    return _mean_gradient(model, z, z, output, 1)


def _mean_gradient(
    model: Any, start: Float[np.ndarray, " d"], end: Float[np.ndarray, " d"], output: Output, nodes: int
) -> Float[np.ndarray, " d"]:
    """The gradient of one output along a line, blended, in standardised columns and in the units of y."""
    ends = model._tensor(np.stack([start, end]))
    with threads(model._threads(model.machine_.n)):
        total = model.blend_.mean(lambda machine: machine.mean_gradient(ends, output.index, nodes))
    out = np.zeros(len(model.support_))
    out[model.support_] = total.cpu().numpy()
    return out * (output.sign * model._target_scaler.scale[output.index])


def _mean_row(model: Any) -> Float[np.ndarray, " d"]:
    """The mean training row in standardised columns: the origin, unless a column was not centred at its mean."""
    machine = model.machine_
    X = machine.X.to(wide_dtype(machine.X.device))
    w = X.new_ones(machine.n) if machine.weights is None else machine.weights.to(X.dtype)
    out = np.zeros(len(model.support_))
    out[model.support_] = (w @ X / w.sum()).cpu().numpy()
    return out


def _parts(model: Any, z: Float[np.ndarray, " d"]) -> Float[np.ndarray, "n c"]:
    return model._row_parts_at(z[None])[0]


def _neighbours(
    model: Any, z: Float[np.ndarray, " d"], parts: Float[np.ndarray, " n"], offset: float, count: int
) -> Neighbours:
    largest = np.argsort(-np.abs(parts), kind="stable")[:count]
    rest = np.ones(len(parts), dtype=bool)
    rest[largest] = False
    at = torch.from_numpy(largest).to(model.machine_.X.device)
    x, similarity = model._tensor(z[None]), np.zeros(len(largest))
    if count:
        similarity += model.blend_.mean(lambda machine: machine.similarity(x, at)).cpu().numpy()
    return Neighbours(
        np.asarray(model.row_index_)[largest], parts[largest], similarity, float(parts[rest].sum()), offset
    )


def _prediction(model: Any, scores: Float[np.ndarray, " c"], score: float) -> tuple[Any, dict[Any, float] | None]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        return float(model.target_transform_.undo(np.array([score]))[0]), None
    shares = np.exp(log_probabilities(scores[None], 1 / model.temperature_))[0]
    probabilities = dict(zip(classes.tolist(), shares.tolist(), strict=True))
    return classes.tolist()[int(model._labels(scores[None])[0])], probabilities
