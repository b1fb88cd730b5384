"""Tables 2 to 5 of paper B as printed: test scores of seven or eight methods on the sets of Grinsztajn et al."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class PrintedTable:
    """One table: a row per data set and training size, a column per method, NaN where the paper has a dash.

    Attributes
    ----------
    rows : tuple of (int, str)
        Number of training rows, and name of the data set.
    methods : tuple of str
        ``"RFM"`` is the column that the paper calls "ours".
    scores : array (sets, methods)
        R² in Tables 2 and 4, accuracy in per cent in Tables 3 and 5.
    """

    rows: tuple[tuple[int, str], ...]
    methods: tuple[str, ...]
    scores: Float[np.ndarray, "sets methods"]

    def of(self, method: str) -> Float[np.ndarray, " sets"]:
        """Return the column of a method."""
        return self.scores[:, self.methods.index(method)]

    def value(self, rows: int, name: str) -> float:
        """Return the score of RFM on one data set."""
        return float(self.of("RFM")[self.rows.index((rows, name))])

    def nearest(self, rows: int, name: str) -> float:
        """Return the score of RFM on a data set at the printed number of training rows nearest to `rows`, or NaN."""
        sizes = [size for size, other in self.rows if other == name]
        return self.value(min(sizes, key=lambda size: abs(size - rows)), name) if sizes else np.nan


@cache
def table(number: int) -> PrintedTable:
    """Read one of the Tables 2, 3, 4 and 5.

    >>> table(2).value(7056, "sulfur"), table(2).nearest(1000, "sulfur"), table(3).scores.shape
    (0.913, 0.913, (19, 8))
    """
    text = files("gramian.experiments.b_rfm").joinpath("tables", f"table{number}.csv").read_text(encoding="utf-8")
    head, *body = csv.reader(text.splitlines())
    scores = np.array([[float(cell) if cell else np.nan for cell in line[2:]] for line in body])
    return PrintedTable(tuple((int(line[0]), line[1]) for line in body), tuple(head[2:]), scores)
