"""Table encoder: a scikit-learn transformer from any frame to a float64 array, with a record of every column."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from gramian.tables.channels import Channel, Encoding
from gramian.tables.columns import RawColumn, as_table, read_columns, refused
from gramian.tables.date_texts import DateText
from gramian.tables.encodings import Category, Date, Number, Ordered
from gramian.tables.identifiers import names_rows, numbers_rows
from gramian.tables.merging import check_weights, counts_rows
from gramian.tables.plain_numbers import warn_of_rounded_integers
from gramian.tables.plain_texts import count_na_words, missing_note
from gramian.tables.text_grams import TextGrams, repeats_words
from gramian.tables.types import TableLike, TargetLike, WeightsLike
from gramian.tables.values import Array, Levels, UnreadableError, Values, missing_in, recognise, refuse_durations
from gramian.tables.written import WrittenDate, WrittenNumber, find_writing

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ColumnRecord:
    """Record of how one of the user's columns is encoded."""

    name: str
    kind: str
    """"number", "boolean", "duration", "date", "ordered", "category", "many-levels"; for text that is read otherwise,
    "money", "percent", "quantity", "formatted number", "bounded number", "number or word", "text"; or the reason why it
    was dropped: "empty", "constant", "identifier", "duplicate"."""
    encoded: tuple[str, ...]
    """Names of the encoded columns; none if the column was dropped."""
    done: str
    """Description of the encoding in words."""
    encoding: Encoding | None
    kept: tuple[int, ...]
    """Indices of the channels of the encoding that vary in the training rows; only these are used."""
    notes: tuple[str, ...] = ()
    """Sentences about a reading that may be another than what was meant: the order of dates, words for missing."""
    names_rows: bool = False
    """True if the values seem to be identifiers, which have no information about other rows."""
    missing: int = 0
    """Number of training rows without a value, those with a word such as NA included."""


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer from raw columns of any kind to finite float64 columns, fitted on training rows only.

    Numbers keep their units; booleans become 0 and 1; dates become days and points on circles; ordered categories
    become their rank; other categories and text become one column per level. Money, percent, numbers with a unit,
    bounds such as ``>20`` and dates such as ``24.07.2008`` are read from text. Free text becomes principal components
    of its character n-grams. Missing entries are replaced by the median and marked by an indicator column, or are a
    level of their own. Columns without information (constant, empty, a copy of an earlier one, codes that differ in
    every row) are dropped, and the record contains the reason.

    Parameters
    ----------
    max_categories : int, default=32
        A category with more levels is encoded as its most frequent levels, ``other``, and the frequency of the level.
    rank_gauss : bool or "only", default=False
        Add the normal score ``Φ⁻¹(F(x))`` of each number; with ``"only"``, replace the number by it.
    missing : "indicator" or "fill", default="indicator"
        Encoding of missing entries; ``"fill"`` omits the indicator columns.

    Attributes
    ----------
    columns_ : tuple of str
        Names of the user's columns (``x0, x1, …`` for arrays).
    kinds_ : tuple of str
        Kind of each of them.
    records_ : tuple of ColumnRecord
        Description of the encoding of each of them.
    groups_ : ndarray of int (d_encoded,)
        Index of the user's column from which each encoded column was made.
    centers_, scales_ : ndarray (d_encoded,)
        Constants for standardisation, ``(x − center) / scale``; NaN where the mean and the standard deviation of the
        data should be used. They are prescribed for levels: a rare level divided by its standard deviation would be far
        from all other rows.
    notes_ : tuple of str
        Sentences about columns that are dropped as identifiers, may be identifiers, or may be read unexpectedly.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from gramian.tables import TableEncoder
    >>> rows = [[3.5, "red", True], [None, "blue", False], [1.0, "red", None], [2.0, None, True]]
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x0__missing', 'x1=blue', 'x1=red', 'x1__missing', 'x2', 'x2__missing']
    >>> encoder.transform(rows)[1]
    array([2., 1., 1., 0., 0., 0., 0.])
    >>> encoder.groups_
    array([0, 0, 1, 1, 1, 2, 2])
    >>> encoder.records_[0].done
    'numbers; missing: the median 2 and an indicator'
    """

    # scikit-learn requires that any value is accepted here and validated in fit.
    def __init__(self, *, max_categories: Any = 32, rank_gauss: Any = False, missing: Any = "indicator") -> None:
        self.max_categories = max_categories
        self.rank_gauss = rank_gauss
        self.missing = missing

    def fit(self, X: TableLike, y: TargetLike = None, sample_weight: WeightsLike = None) -> TableEncoder:
        """Find kinds, levels and medians in the training rows X (n, d). The target is not used.

        ``sample_weight (n,)`` are the rows' weights: a weight of 2 is the same as a repeated row, and a row of weight 0
        is not there. Whole weights of more than 10 on average and other weights state importance: medians and shares
        use them, and the rows of a level are counted once each.
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: TableLike, y: TargetLike = None, sample_weight: WeightsLike = None) -> Array:
        """Fit the encoder and encode the same rows; the result equals ``fit(X).transform(X)``."""
        encoded = self._fit(X, sample_weight)
        return self.transform(X) if encoded is None else encoded

    def transform(self, X: TableLike) -> Array:
        """Encode rows as float64 (n, d_encoded), without NaN; a row's encoding does not depend on the other rows."""
        check_is_fitted(self)
        columns = self._read(X, reset=False)
        out = np.empty((len(columns[0]), len(self.groups_)))
        at = 0
        for record, column in zip(self.records_, columns, strict=True):
            if record.encoding is not None:
                block = _encode(record, record.encoding, replace(column, name=record.name))
                out[:, at : at + len(record.kept)] = block[:, record.kept]
                at += len(record.kept)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the encoded columns."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array([name for record in self.records_ for name in record.encoded], dtype=object)

    @property
    def notes_(self) -> tuple[str, ...]:
        """Sentences about columns that are dropped as identifiers, may be identifiers, or may be read unexpectedly.

        >>> TableEncoder().fit([["NA", "24/07/2008"], ["5", "01/08/2008"], ["7", "05/08/2008"]]).notes_
        ("'x0': 'NA' (1 row) is read as missing",
         "'x1': dates are read with the day first, as '24/07/2008' shows")
        """
        check_is_fitted(self)
        found = []
        for record in self.records_:
            found += [f"{record.name!r}: {note}" for note in record.notes]
            if record.kind == "identifier":
                found.append(f"{record.name!r} is not used: its values are codes that differ in every row")
            elif record.names_rows:
                found.append(f"{record.name!r} is different in (almost) every row: it may be an identifier")
        return tuple(found)

    def _read(self, X: TableLike, reset: bool) -> list[RawColumn]:
        table = as_table(X)
        columns = read_columns(table)
        validate_data(self, table, reset=reset, skip_check_array=True)
        least = 2 if reset else 1
        for count, what, minimum in ((len(columns), "feature", 1), (len(columns and columns[0]), "sample", least)):
            if count < minimum:
                shape = tuple(table.shape)
                raise ValueError(
                    f"Found array with {count} {what}(s) (shape={shape}) while a minimum of {minimum} is required."
                )
        return columns

    def _fit(self, X: TableLike, sample_weight: WeightsLike) -> Array | None:
        """Fit the encoder; return the encoded rows, or None where some of them have weight 0."""
        self._check_parameters()
        columns = self._read(X, reset=True)
        given = check_weights(sample_weight, len(columns[0]))
        weights = np.ones(len(columns[0])) if given is None else given
        present = weights > 0
        if not present.all():
            columns = [replace(column, values=column.values[present]) for column in columns]
            weights = weights[present]
        blocks: list[Array] = []
        records: list[ColumnRecord] = []
        channels: list[Channel] = []
        seen: dict[bytes, str] = {}
        taken: set[str] = set()
        for column in columns:
            record, used, block = self._fit_column(column, seen, weights)
            records.append(_distinct(record, taken))
            channels += used
            blocks.append(block)
        if not channels:
            kinds = ", ".join(f"{record.name!r} is {record.kind}" for record in records[:5])
            raise ValueError(f"no column varies from row to row, so there is nothing to learn from: {kinds}")
        self.columns_ = tuple(record.name for record in records)
        self.kinds_ = tuple(record.kind for record in records)
        self.records_ = tuple(records)
        self.groups_ = np.repeat(np.arange(len(records)), [len(record.kept) for record in records])
        self.centers_ = np.array([channel.center for channel in channels])
        self.scales_ = np.array([channel.scale for channel in channels])
        return np.hstack(blocks) if present.all() else None

    def _fit_column(
        self, column: RawColumn, seen: dict[bytes, str], weights: Array
    ) -> tuple[ColumnRecord, list[Channel], Array]:
        """Return record, used channels and encoded rows; ``seen`` maps digests of earlier columns to their names."""
        nothing = np.empty((len(column), 0))
        copies = weights if counts_rows(weights) else np.ones(len(weights))
        words = {} if column.category else _named(column, lambda: count_na_words(column.values))
        kind, values = _named(column, lambda: recognise(column.values, parse=not column.category))
        if kind == "number":
            warn_of_rounded_integers([column])
        given, column = column, replace(column, values=values)
        kind, encoding = self._encoding(kind, column, given, weights, copies)
        if encoding is None:
            return _dropped(column, kind, _DROPPED[kind]), [], nothing
        block = _named(column, lambda: encoding.encode(given if isinstance(encoding, WrittenNumber) else column))
        channels = encoding.channels(column.name, block, weights)
        varying = [j for j in range(block.shape[1]) if (block[:, j] != block[0, j]).any()]
        if not varying:
            return _dropped(column, "constant", _DROPPED["constant"]), [], nothing
        done = encoding.description()
        twin = seen.setdefault(_digest(block[:, varying]), column.name)
        if twin != column.name:
            return _dropped(column, "duplicate", f"dropped: the same values as column {twin!r}"), [], nothing
        for j in [j for j in varying if channels[j].indicator and len(varying) > 1]:
            twin = seen.setdefault(_digest(block[:, [j]]), column.name)
            if twin != column.name:  # columns that are missing together would count the same fact several times
                varying.remove(j)
                done += f" (that of column {twin!r}: missing in the same rows)"
        used = [channels[j] for j in varying]
        names = tuple(channel.name for channel in used)
        notes = tuple([missing_note(word, rows) for word, rows in words.items()] + encoding.notes())
        identifies = _identifies(column, kind, copies)
        gaps = _count_missing(column.values)
        record = ColumnRecord(column.name, kind, names, done, encoding, tuple(varying), notes, identifies, gaps)
        return record, used, block[:, varying]

    def _encoding(
        self, kind: str, column: RawColumn, given: RawColumn, weights: Array, copies: Array
    ) -> tuple[str, Encoding | None]:
        """Return the final kind of a column and its encoding; ``given`` has the values before they were recognised."""
        if kind == "empty":
            return "empty", None
        if kind in ("number", "boolean", "duration"):
            return kind, Number.fit(column, self.missing, self.rank_gauss, weights)
        if kind == "date":
            return kind, Date.fit(column, self.missing, weights)
        if column.order is not None:
            return "ordered", Ordered.fit(column, self.missing, weights)
        writing = None if column.category else find_writing(column.values)
        if isinstance(writing, DateText):
            return "date", WrittenDate.fit(column, writing, self.missing, weights)
        if writing is not None:
            number = WrittenNumber.fit(given, writing, self.missing, self.rank_gauss, weights)
            return writing.kind, number
        category = Category.fit(column, int(self.max_categories), copies)
        if not category.other:
            return "category", category
        rows = float(copies[column.values.codes >= 0].sum())
        if not column.category and category.covered() < _COVERED * rows and repeats_words(column.values.texts):
            return "text", TextGrams.fit(column, self.missing, copies)
        different = not category.counted and not category.missing
        return ("identifier", None) if different else ("many-levels", category)

    def _check_parameters(self) -> None:
        whole = isinstance(self.max_categories, int | np.integer) and not isinstance(self.max_categories, bool)
        if not (whole and self.max_categories >= 2):
            raise ValueError(f"max_categories must be an integer of at least 2, got {self.max_categories!r}")
        if self.rank_gauss not in (False, True, "only"):
            raise ValueError(f'rank_gauss must be False, True or "only", got {self.rank_gauss!r}')
        if self.missing not in ("indicator", "fill"):
            raise ValueError(f'missing must be "indicator" or "fill", got {self.missing!r}')

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


_COVERED = 0.5
"""Share of the rows whose level has a column of its own below which text with words is encoded by n-grams."""
_DROPPED = {
    "empty": "dropped: every value is missing",
    "constant": "dropped: one value in all rows",
    "identifier": "dropped: codes that differ in every row",
}


def _dropped(column: RawColumn, kind: str, done: str) -> ColumnRecord:
    gaps = _count_missing(column.values)
    return ColumnRecord(column.name, kind, (), done, None, (), names_rows=kind == "identifier", missing=gaps)


def _count_missing(values: Values) -> int:
    return int((values.codes < 0 if isinstance(values, Levels) else missing_in(values)).sum())


def _identifies(column: RawColumn, kind: str, copies: Array) -> bool:
    """Return whether the values of a column that is used seem to be identifiers."""
    if kind == "number":
        return numbers_rows(column.name, column.values, copies)
    if kind != "many-levels":
        return False
    return names_rows(len(column.values.texts), float(copies[column.values.codes >= 0].sum()))


def _encode(record: ColumnRecord, encoding: Encoding, column: RawColumn) -> Array:
    try:
        if record.kind in ("number", "boolean"):
            refuse_durations(column.values)
        return encoding.encode(column)
    except UnreadableError as error:
        form = encoding.description().partition(";")[0].partition(", read as")[0]
        raise refused(column.name, error, f"{record.kind} ({form})") from error


def _named(column: RawColumn, work: Callable[[], T]) -> T:
    """Call ``work``; the error for a value that cannot be read names the column."""
    try:
        return work()
    except UnreadableError as error:
        raise ValueError(
            f"column {column.name!r} holds {error}, which cannot be read here: leave the column out, or turn it into "
            "numbers, dates or text (the same kind in training and later rows)"
        ) from error


def _digest(values: Array) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=16).digest()


def _distinct(record: ColumnRecord, taken: set[str]) -> ColumnRecord:
    """Give encoded columns names that no earlier one has: a user's column may have the name ``age__missing``."""
    names = []
    for name in record.encoded:
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return replace(record, encoded=tuple(names))
