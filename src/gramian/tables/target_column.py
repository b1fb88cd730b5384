"""Target columns of pandas frames: their type, and the task that they ask for (needs pandas)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from gramian.tables.date_texts import DateText
from gramian.tables.number_texts import NumberText
from gramian.tables.values import EXACT

if TYPE_CHECKING:
    import pandas as pd

TASKS = ("auto", "regression", "classification")
MOSTLY_NUMBERS = 0.5
"""A column of text with a larger share of numbers than this is meant to hold numbers."""
_WHOLE, _DECIMALS = r"(?:0|-?[1-9]\d{0,14})", r"(?:\.0*)?"
"""A whole number as Python writes it, of so few digits that a float has them all; decimals that say nothing."""
_MOST_CLASSES = 20
_ROWS_PER_CLASS = 20
"""Whole numbers are classes if there are at most 20 of them, with at least 20 rows each on average."""


@dataclass(frozen=True)
class PredictionTask:
    """Regression or classification, the reason for the choice, and the other task if that is plausible too."""

    name: str
    reason: str
    other: str | None = None

    @property
    def classifies(self) -> bool:
        """True if the target is a label."""
        return self.name == "classification"


def typed_column(column: pd.Series) -> pd.Series:
    """Convert a column of text to numbers or booleans if all its entries are such, else return it unchanged.

    >>> import pandas as pd
    >>> typed_column(pd.Series(["3", "4.5"])).tolist(), typed_column(pd.Series(["NA", "4"])).tolist()
    ([3.0, 4.5], ['NA', '4'])
    """
    from pandas import to_numeric
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column) or not all(isinstance(value, str) for value in column):
        return column
    if set(column) <= {"True", "False"}:
        return column == "True"
    numbers = to_numeric(column, errors="coerce")
    return column if numbers.isna().any() else numbers


def text_among_numbers(column: pd.Series) -> tuple[list[str], float]:
    """Return the texts of a column that are not numbers, most frequent first, and the share of numbers.

    >>> import pandas as pd
    >>> text_among_numbers(pd.Series(["1", "2", "?", "?", None]))
    (['?'], 0.5)
    """
    from pandas import to_numeric
    from pandas.api.types import is_numeric_dtype

    values = column.dropna()
    if is_numeric_dtype(values) or not len(values) or not all(isinstance(value, str) for value in values):
        return [], 0.0
    text = to_numeric(values, errors="coerce").isna()
    return values[text].value_counts().index.tolist(), 1 - float(text.mean())


def written_numbers(column: pd.Series) -> tuple[pd.Series, str] | None:
    """Return a column of money, percent or other written amounts as numbers, and their writing in words; else None.

    Bounds such as ``<18`` and words are no targets of a regression, so that a column with one of them is None.

    >>> import pandas as pd
    >>> numbers, writing = written_numbers(pd.Series(["$1,200", "$80.50"]))
    >>> numbers.tolist(), writing
    ([1200.0, 80.5], 'money in $ with commas between thousands')
    >>> written_numbers(pd.Series(["$1,200", "unknown"]))
    """
    if not len(column) or not all(isinstance(value, str) for value in column):
        return None
    texts = sorted(set(column))
    writing = None if DateText.of(texts) else NumberText.of(texts)
    if writing is None or writing.words or writing.step:
        return None
    return column.map({text: writing.read(text) for text in texts}).astype("float64"), writing.description()


def read_amounts(y: pd.Series, task: str = "auto") -> tuple[pd.Series, list[str]]:
    """Return a target of written amounts as numbers, with a note; a target of few levels and labels are unchanged.

    >>> import pandas as pd
    >>> read_amounts(pd.Series(["5 %", "7 %"], name="rate"), "regression")[1]
    ["the target 'rate' is read as numbers: percent"]
    """
    few = task == "auto" and y.nunique() <= _MOST_CLASSES
    found = None if few or task == "classification" else written_numbers(y)
    return (y, []) if found is None else (found[0], [f"the target {y.name!r} is read as numbers: {found[1]}"])


def class_labels(y: pd.Series, written: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return a target of whole numbers as labels, with a note where a label is not as it is ``written`` in the table.

    They are integers if the table writes them so, or with decimals because other rows have no target. Else they are
    codes, such as ``007``, and the labels are the very texts: predictions must join with the table. If a number is
    written in two ways, the labels are the numbers. Other targets are unchanged.

    >>> import pandas as pd
    >>> written = pd.Series(["001", "002"])
    >>> class_labels(typed_column(written), written)[0].tolist()
    ['001', '002']
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if not is_numeric_dtype(y) or is_bool_dtype(y) or not bool((y == y.round()).all()):
        return y, []
    whole = y.astype("int64") if y.dtype.kind == "f" and bool((y.abs() < EXACT).all()) else y
    if not all(isinstance(text, str) for text in written):
        return whole, []
    texts = written.str.strip()
    if texts.str.fullmatch(_WHOLE).all():
        return whole, []
    if texts.str.fullmatch(_WHOLE + _DECIMALS).all() or texts.nunique() > texts.map(Decimal).nunique():
        example = next(text for text in texts if not re.fullmatch(_WHOLE, text))
        return whole, [f"the target {y.name!r}: its classes are whole numbers, {example!r} is {int(Decimal(example))}"]
    return written, []


def choose_task(y: pd.Series, requested: str = "auto") -> PredictionTask:
    """Choose regression or classification for a target without missing values.

    Text, booleans and dates are classes. Whole numbers are classes if there are two of them, or at most 20 with 20 rows
    each on average. All other numbers are regression. Text of which most rows have an entry of their own, such as an
    id, a date or a sentence, raises a ValueError.

    >>> import pandas as pd
    >>> choose_task(pd.Series(["a", "b", "a"]))
    PredictionTask(name='classification', reason='it holds text', other=None)
    >>> choose_task(pd.Series([0.5, 1.25]))
    PredictionTask(name='regression', reason='it holds numbers with decimals', other=None)
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    numeric = is_numeric_dtype(y) and not is_bool_dtype(y)
    if requested == "regression" and not numeric:
        raise ValueError(f"the target {y.name!r} holds {_content(y)}, and regression needs numbers")
    if requested != "auto":
        return PredictionTask(requested, "as requested")
    if not numeric:
        if y.nunique() > max(_MOST_CLASSES, len(y) / 2):
            raise ValueError(
                f"the target {y.name!r} holds {_content(y)} with {y.nunique():,} distinct entries in {len(y):,} rows: "
                "regression needs numbers, and classification several rows of each class. If the entries are classes "
                "nevertheless, request the task 'classification'"
            )
        return PredictionTask("classification", f"it holds {_content(y)}")
    if not bool((y == y.round()).all()):
        return PredictionTask("regression", "it holds numbers with decimals")
    distinct = y.nunique()
    reason = f"it holds {distinct:,} distinct whole numbers in {len(y):,} rows"
    if distinct <= 2 or (distinct <= _MOST_CLASSES and distinct * _ROWS_PER_CLASS <= len(y)):
        return PredictionTask("classification", reason, "regression")
    return PredictionTask("regression", reason, "classification")


def _content(y: pd.Series) -> str:
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype

    return "yes or no" if is_bool_dtype(y) else "dates" if is_datetime64_any_dtype(y) else "text"
