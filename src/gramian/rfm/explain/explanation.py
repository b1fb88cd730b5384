"""Explanations of single predictions as results: frozen, printed, and displayed by a notebook."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from gramian.display import (
    Bar,
    Column,
    Plottable,
    Renderable,
    Section,
    Table,
    bars,
    format_number,
    format_signed,
    format_value,
    more_columns,
)
from gramian.rfm.explain.influence import Influence
from gramian.rfm.explain.output import Output
from gramian.tables.types import Label

if TYPE_CHECKING:
    from pandas import DataFrame

_SHOWN_COLUMNS = 12
_SHOWN_ROWS = 10
_SHOWN_ENTRIES = 4
_ROUND_OFF = 1e-6

Method = Literal["path", "gradient"]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Plottable):
    """One prediction as a sum over columns, and the training rows that influence it; see :func:`explain`.

    ``Σ contributions + gap = score − reference_score``, where ``score`` is the explained output at the row and
    ``reference_score`` the same output at the reference row. For a regressor ``score`` is ``prediction`` on the scale
    the target was fitted on, before it is clipped to the range of the training targets. ``sensitivity`` is
    ``∂ score / ∂ column`` at the row, per unit of the user's column, and NaN for columns without numbers. ``values``
    are the row's entries, None where one is missing. ``influence`` holds the training rows whose removal changes the
    score most.
    """

    prediction: float | Label
    probabilities: dict[Label, float] | None
    output: Output
    score: float
    reference_score: float
    method: Method
    columns: tuple[str, ...]
    values: tuple[object, ...]
    contributions: Float[np.ndarray, " p"]
    sensitivity: Float[np.ndarray, " p"]
    gap: float
    nodes: int
    influence: Influence

    def to_pandas(self) -> DataFrame:
        """Return a frame with one line per column of the user, in the user's order."""
        import pandas as pd

        table = {"value": list(self.values), "contribution": self.contributions, "sensitivity": self.sensitivity}
        return pd.DataFrame(table, index=pd.Index(self.columns, name="column"))

    def sections(self) -> list[Section]:
        """Return a table of columns, and tables of the most influential training rows unless none were asked for."""
        return [self._column_section(), *self._influence_sections()]

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

    def _influence_sections(self) -> list[Section]:
        found, title = self.influence, "training rows whose removal changes this prediction most"
        if not len(found.rows):
            reason = f"none are listed: {found.reason}"
            return [Section(title, Table(["", ""], []), reason)] if found.reason else []
        names = [f"row {label}" for label in found.labels]
        lines: list[list[str | Bar]] = [
            [name, format_value(target), f"{similarity:.3f}", bar, format_signed(change), self.format_without(rest)]
            for name, target, similarity, bar, change, rest in zip(
                names,
                found.targets,
                found.similarity,
                bars(found.change.tolist()),
                found.change,
                found.without,
                strict=True,
            )
        ]
        heading = Column(self.target_heading, "left")
        headings: list[str | Column] = ["row", heading, "similarity", "", "change", "without it"]
        note = (
            f"change: {self.output.name} without the row less that with it, exact for the same features and ridge\n"
            f"without it: {self.outcome} without the row"
        )
        shown = self.leading_columns(_SHOWN_ENTRIES)
        cells = [[format_value(entries[j]) for j in shown] for entries in (self.values, *found.entries)]
        rows = [[name, *line] for name, line in zip(["the explained row", *names], cells, strict=True)]
        about = (
            "their entries" if len(shown) == len(self.columns) else "their entries in the columns that contribute most"
        )
        return [
            Section(title, Table(headings, lines), note),
            Section(about, Table(["row", *(self.columns[j] for j in shown)], rows)),
        ]

    @property
    def outcome(self) -> str:
        """The quantity that ``influence.without`` holds, in words."""
        return "prediction" if self.probabilities is None else f"probability of {self.output.label}"

    @property
    def target_heading(self) -> str:
        """The heading above targets or classes of training rows."""
        return "target" if self.probabilities is None else "class"

    def format_without(self, value: float) -> str:
        """Format a value of ``influence.without``."""
        return format_number(value) if self.probabilities is None else f"{value:.1%}"

    def leading_columns(self, most: int) -> list[int]:
        """Return the numbers of the columns with the largest contributions, largest first."""
        return [int(j) for j in np.argsort(-np.abs(self.contributions), kind="stable")[:most]]

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
