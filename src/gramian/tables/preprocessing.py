"""Raw tables to standardised numbers: validation, encoding, missing entries, scaling.

Complete columns of numbers are used as they are; all other tables pass through a :class:`TableEncoder`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, validate_data

from gramian.core.warn import warn
from gramian.tables.column_map import ColumnMap
from gramian.tables.columns import check_table, needs_encoding, read_columns, without_sparse
from gramian.tables.encoder import TableEncoder
from gramian.tables.plain_numbers import is_number_table, read_number_table, warn_of_rounded_integers
from gramian.tables.scaling import Array, Scaler
from gramian.tables.types import TableLike

Names = NDArray[Any]
NUMERIC = ("number", "money", "percent", "quantity", "formatted number")
"""Kinds of columns that hold numbers in units of their own."""
NOT_USED = "not used, because its values are codes that differ in every row"
"""Words by which a filter knows the warning of columns that are dropped as identifiers."""
_FAR, _LOST = 6.0, 1e-10
"""Standard deviations of an entry that may be far from the others, and between the quartiles of a column then."""


@dataclass(frozen=True, eq=False)
class TableReader:
    """Validation of tables against the training table, and their encoding as numbers ``(n, d)``.

    Attributes
    ----------
    owner : str
        Class of the estimator, for error messages.
    n_features : int
        Number of columns of the user's table.
    feature_names : ndarray of str or None
        Names of these columns, if the table had any.
    encoder : TableEncoder or None
        None if all columns were complete numbers.

    >>> reader, rows = TableReader.fit([[1.0, "a"], [2.0, "b"]], "auto", "RFMRegressor")
    >>> rows.shape, reader.n_features
    ((2, 2), 2)
    """

    owner: str
    n_features: int
    feature_names: Names | None
    encoder: TableEncoder | None

    @classmethod
    def fit(
        cls, X: TableLike, encoder: str | TableEncoder, owner: str, weights: Array | None = None
    ) -> tuple[TableReader, Array]:
        """Read a training table; return the reader for further tables, and the encoded rows of this one."""
        check_table(X)
        X = without_sparse(X)
        check = _input_check(owner)
        fitted = _new_encoder(encoder, X)
        if fitted is None:
            rows: Array = validate_data(check, X, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=False)
            warn_of_rounded_integers(read_columns(X))
            check_finite(rows, getattr(check, "feature_names_in_", None))
        else:
            validate_data(check, X, skip_check_array=True)
            rows = fitted.fit_transform(X, sample_weight=weights)
            _warn_of_identifiers(fitted)
        return cls(owner, int(check.n_features_in_), getattr(check, "feature_names_in_", None), fitted), rows

    def encode(self, X: TableLike) -> Array:
        """Return the encoded rows ``(n, d)`` of another table; entries may be NaN in columns of complete numbers."""
        check_table(X, None if self.feature_names is None else self.feature_names.tolist())
        X = without_sparse(X)
        check = _input_check(self.owner)
        check.n_features_in_ = self.n_features
        if self.feature_names is not None:
            check.feature_names_in_ = self.feature_names
        if self.encoder is not None:
            validate_data(check, X, reset=False, skip_check_array=True)
            return self.encoder.transform(X)
        if is_number_table(X):
            rows: Array = validate_data(check, X, dtype=np.float64, reset=False, ensure_all_finite=False)
        else:
            validate_data(check, X, reset=False, skip_check_array=True)
            rows = read_number_table(X)
            check_array(rows, ensure_all_finite=False)  # at least one row
        check_finite(rows, self.feature_names)
        return rows

    def encode_block(self, X: TableLike, means: Array) -> Array:
        """Encode a block of a table whose columns were checked before; column means replace missing numbers."""
        if self.encoder is not None:
            rows: Array = self.encoder.transform(X)
        else:
            rows = read_number_table(X)
            check_finite(rows, self.feature_names)
        return np.where(np.isnan(rows), means, rows)

    def column_scaler(self, scaler: Scaler, standardize: bool) -> Scaler:
        """Return the scaler with the centres and scales that the encoder prescribes, such as those of levels."""
        if not standardize or self.encoder is None:
            return scaler
        centers, scales = self.encoder.centers_, self.encoder.scales_
        return Scaler(
            np.where(np.isnan(centers), scaler.center, centers), np.where(np.isnan(scales), scaler.scale, scales)
        )


@dataclass(frozen=True, eq=False)
class Preprocessing:
    """Map from a user's table to the standardised columns ``Z (n, d)`` that a model is fitted to.

    ``column_means (d,)`` replace entries that are missing in a column where no training row had a missing entry.

    >>> reader, X = TableReader.fit(np.array([[0.0], [2.0]]), "auto", "RFMRegressor")
    >>> Preprocessing(reader, Scaler.fit(X, np.ones(2)), X.mean(axis=0)).transform([[4.0]])
    array([[3.]])
    """

    reader: TableReader
    scaler: Scaler
    column_means: Array

    @property
    def n_columns(self) -> int:
        """Number of encoded columns d."""
        return len(self.scaler.center)

    @cached_property
    def columns(self) -> ColumnMap:
        """Correspondence of the user's columns and the encoded ones."""
        encoder = self.reader.encoder
        if encoder is not None:
            encoded = tuple(str(name) for name in encoder.get_feature_names_out())
            numeric = tuple(kind in NUMERIC for kind in encoder.kinds_)
            return ColumnMap(tuple(map(str, encoder.columns_)), encoded, np.asarray(encoder.groups_), numeric)
        called, d = self.reader.feature_names, self.n_columns
        names = tuple(f"x{j}" for j in range(d)) if called is None else tuple(str(name) for name in called)
        return ColumnMap(names, names, np.arange(d), (True,) * d)

    def encode(self, X: TableLike) -> Array:
        """Return encoded rows without NaN; a warning names the columns in which column means replace entries."""
        rows = self.reader.encode(X)
        gaps = np.isnan(rows)
        if gaps.any():
            names = self.reader.feature_names
            at = np.flatnonzero(gaps.any(axis=0))
            listed = ", ".join(str(j) if names is None else repr(names[j]) for j in at)
            warn(
                f"{int(gaps.sum())} entries of X are missing in column {listed}, where no training row has a missing "
                "entry: the column's mean replaces them"
            )
            rows = np.where(gaps, self.column_means, rows)
        return rows

    def transform(self, X: TableLike) -> Array:
        """Return the standardised rows ``(n, d)`` of a table."""
        return self.scaler.transform(self.encode(X))

    def warn_of_lost_digits(self, X: Array, Z: Array) -> None:
        """Warn of columns of encoded rows X in which one entry is so large that rounding loses what others differ by.

        ``Z`` are the same rows, standardised.
        """
        far = np.flatnonzero(np.abs(Z).max(axis=0, initial=0.0) > min(_FAR, 0.9 * np.sqrt(len(Z) - 1)))
        if not len(far):
            return
        low, high = np.quantile(X[:, far], [0.25, 0.75], axis=0)
        half = high / self.scaler.scale[far] - low / self.scaler.scale[far]
        lost = far[(half > 0) & (half < _LOST)]
        if len(lost):
            names = ", ".join(repr(self.columns.encoded[j]) for j in lost[:5])
            warn(
                f"column {names} has an entry so far from the others that their differences are lost in rounding: "
                "correct the entry, or make it missing"
            )

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in ("reader", "scaler", "column_means")}


def check_finite(X: Array, names: Names | None) -> None:
    """Raise a ValueError that names the columns with infinity."""
    bad = np.isinf(X)
    if not bad.any():
        return
    listed = [str(j) if names is None else repr(str(names[j])) for j in np.flatnonzero(bad.any(axis=0))]
    shown = ", ".join(listed[:5]) + (f" and {len(listed) - 5} more" if len(listed) > 5 else "")
    raise ValueError(
        f"Input X contains infinity in column{'s' if len(listed) > 1 else ''} {shown} ({int(bad.sum())} entries): "
        "drop the rows or make the entries missing (NaN)"
    )


class _InputCheck(BaseEstimator):  # type: ignore[misc]
    """Object with the attributes that scikit-learn's ``validate_data`` reads and writes, separate from any estimator.

    An estimator that is refitted must keep its own column names until the new fit is complete.
    """

    def __sklearn_tags__(self) -> Tags:
        return table_tags(super().__sklearn_tags__())


def table_tags(tags: Tags) -> Tags:
    """Set the tags of an estimator that accepts raw tables: missing entries, text and categories are allowed."""
    tags.input_tags.allow_nan = True
    tags.input_tags.string = True
    tags.input_tags.categorical = True
    return tags


def _input_check(owner: str) -> Any:
    # scikit-learn's messages contain the class name of the object that is validated.
    return type(owner, (_InputCheck,), {})()


def _warn_of_identifiers(encoder: TableEncoder) -> None:
    dropped = [repr(record.name) for record in encoder.records_ if record.kind == "identifier"]
    if dropped:
        warn(f"column {', '.join(dropped)} is {NOT_USED}: leave the column out to avoid this warning")


def _new_encoder(encoder: str | TableEncoder, X: TableLike) -> TableEncoder | None:
    if isinstance(encoder, TableEncoder):
        copied: TableEncoder = clone(encoder)
        return copied
    if encoder != "auto":
        raise ValueError(f'encoder must be "auto" or a TableEncoder, got {encoder!r}')
    return TableEncoder() if needs_encoding(X) else None
