"""The table of ``gramian fit``: its rows with a target, the task, the column by which rows are split, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from gramian.cli.remarks import remarks
from gramian.cli.target import read_target
from gramian.tables import ColumnRecord, TableEncoder
from gramian.tables.frame_files import check_columns, read_frame
from gramian.tables.plain_texts import count_na_words, missing_note
from gramian.tables.split_columns import split_condition
from gramian.tables.target_column import PredictionTask, choose_task, class_labels, read_amounts
from gramian.tables.types import Labels

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_ROWS = 10


class ColumnUse(TypedDict):
    """A column as ``gramian fit`` lists it; ``use`` is empty for numbers that are used as they are."""

    name: str
    kind: str
    missing: int
    distinct: int
    use: str


@dataclass(frozen=True, eq=False)
class FitData:
    """Rows with a target, their columns and targets, and what there is to say about them before the fit.

    ``split_by`` has groups or times of the rows under the name that ``fit`` of an estimator has for them.
    """

    X: pd.DataFrame
    y: pd.Series
    task: PredictionTask
    split_by: Mapping[str, Labels]
    without_target: int
    columns: list[ColumnUse]
    notes: list[str]

    @property
    def target(self) -> str:
        """The name of the target's column."""
        return str(self.y.name)


def read_fit_data(
    path: Path,
    target: str,
    *,
    task: str = "auto",
    drop: tuple[str, ...] = (),
    groups: str | None = None,
    times: str | None = None,
    missing: tuple[str, ...] = (),
    header: bool = True,
) -> FitData:
    """Read a table and decide on the task; raise a ValueError for a table or an option that cannot be fitted.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "t.csv").write_text("area,price\\n" + "20,1.5\\n30,2.5\\n" * 5, encoding="utf-8")
    >>> read_fit_data(folder / "t.csv", "price").task.name
    'regression'
    """
    frame = read_frame(path, missing, header)
    by = {name: column for name, column in (("groups", groups), ("time", times)) if column is not None}
    check_columns([target, *drop, *by.values()], frame, path)
    if target in (*drop, *by.values()):
        raise ValueError(f"{target!r} is the target and cannot be dropped, nor split the rows")
    known, y = read_target(frame[target])
    split_by = {name: _numbers_or_texts(frame.loc[known, column]) for name, column in by.items()}
    split_condition(split_by.get("groups"), split_by.get("time"))  # refused now, not after the first fit
    X = frame.loc[known].drop(columns=list(dict.fromkeys([target, *drop, *by.values()])))
    if X.shape[1] == 0:
        raise ValueError(f"{path} has no columns besides {', '.join(map(repr, (target, *drop)))} to predict from")
    if len(y) < _FEWEST_ROWS:
        raise ValueError(f"{path} has {len(y)} rows with a {target!r}: a fit needs at least {_FEWEST_ROWS}")
    words = count_na_words(frame[target].to_numpy(dtype=object))
    gaps = [f"the target {target!r}: {missing_note(word, rows)}" for word, rows in words.items()]
    y, notes = read_amounts(y, task)
    chosen = choose_task(y, task)
    if chosen.classifies:
        y, spelled = class_labels(y, frame.loc[known, target])
        notes += spelled
    return FitData(X, y, chosen, split_by, int((~known).sum()), describe(X), [*remarks(X), *gaps, *notes])


def describe(X: pd.DataFrame) -> list[ColumnUse]:
    """Return a record per column: its kind, its missing and distinct values, and how the table encoder uses it."""
    return [
        ColumnUse(
            name=record.name,
            kind=record.kind,
            missing=record.missing,
            distinct=int(X[record.name].nunique()),
            use=record.done if _is_encoded(record) else "",
        )
        for record in TableEncoder().fit(X).records_
    ]


def _is_encoded(record: ColumnRecord) -> bool:
    """Return whether a column is more than numbers that are used as they are."""
    return record.kind not in ("number", "boolean") or record.missing > 0


def _numbers_or_texts(column: pd.Series) -> NDArray[np.generic]:
    """Return a column as numbers if all of its entries are; a file of text has only texts."""
    try:
        return np.asarray(column.astype("float64"))
    except (TypeError, ValueError):
        return np.asarray(column)
