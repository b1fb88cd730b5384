"""Entries of the manifest for the columns of a table: numbers, ordered categories and categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields

import numpy as np
from numpy.typing import NDArray

from gramian.tables.channels import Encoding
from gramian.tables.encodings import Category, Number, Ordered
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.values import read_levels

Put = Callable[[NDArray[np.generic]], str]

_KNOWN: dict[type[Encoding], frozenset[str]] = {
    Number: frozenset({"fill", "indicator", "value", "knots", "scores"}),
    Ordered: frozenset({"levels", "fill", "indicator"}),
    Category: frozenset({"levels", "other", "missing", "counted", "counts"}),
}
"""Fields of the encodings that the predictor computes."""
_BLANKS = (
    "", "nan", "NaN", "NAN", "-nan", "-NaN", "<NA>", "NaT", "NA", "N/A", "n/a", "na", "n.a.", "#N/A", "#N/A N/A", "#NA",
    "null", "NULL", "Null", "None", "none", "nil", "-", "--", "?", ".", "missing", "unknown", "1.#IND", "1.#QNAN",
    "-1.#IND", "-1.#QNAN", "<na>", "nat", "NAT",
)  # fmt: skip
"""Texts that may stand for a missing entry; the reader of tables says which do."""


class NotExportableError(ValueError):
    """A fitted model has a part that the exported predictor does not compute; the message names it."""


def missing_texts() -> list[object]:
    """Return the texts that the reader of tables takes for a missing entry.

    >>> "" in missing_texts(), "red" in missing_texts()
    (True, False)
    """
    return [text for text in _BLANKS if not read_levels(np.array([text], dtype=object)).texts]


def column_entries(preprocessing: Preprocessing, put: Put) -> list[object]:
    """Return the entry of each of the user's columns, None for one that is not used; ``put`` stores an array.

    >>> from gramian.tables.preprocessing import TableReader
    >>> from gramian.tables.scaling import Scaler
    >>> reader, rows = TableReader.fit([[1.0, "a"], [2.0, "b"]], "auto", "RFMRegressor")
    >>> found = Preprocessing(reader, Scaler.fit(rows, np.ones(2)), rows.mean(axis=0))
    >>> column_entries(found, str)[1]["levels"]
    ['a', 'b']
    """
    encoder = preprocessing.reader.encoder
    if encoder is None:
        means = preprocessing.column_means.tolist()
        return [{"kind": "number", "kept": [0], "fill": mean, "expected": False} for mean in means]
    return [
        None if record.encoding is None else {**_entry(record.name, record.encoding, put), "kept": list(record.kept)}
        for record in encoder.records_
    ]


def _entry(name: str, encoding: Encoding, put: Put) -> dict[str, object]:
    _check(name, encoding)
    if isinstance(encoding, Number):
        entry: dict[str, object] = {"kind": "number", "fill": encoding.fill, "indicator": encoding.indicator}
        if encoding.knots is not None and encoding.scores is not None:
            entry |= {"knots": put(encoding.knots), "scores": put(encoding.scores)}
        return {**entry, "value": encoding.value}
    if isinstance(encoding, Ordered):
        fill, indicator = encoding.fill, encoding.indicator
        return {"kind": "ordered", "levels": list(encoding.levels), "fill": fill, "indicator": indicator}
    assert isinstance(encoding, Category)
    return {
        "kind": "category",
        "levels": list(encoding.levels),
        "other": encoding.other,
        "missing": encoding.missing,
        "counted": dict(zip(encoding.counted, encoding.counts.tolist(), strict=True)),
    }


def _check(name: str, encoding: Encoding) -> None:
    """Raise an error for an encoding of another type, or with an option that the predictor does not know."""
    kind = type(encoding)
    if kind not in _KNOWN:
        raise NotExportableError(
            f"column {name!r} is encoded as {kind.__name__} ({encoding.description()}), and an exported predictor has "
            "numbers and categories only: turn the column into one of these before the fit, or use model.save"
        )
    for field in fields(encoding):  # type: ignore[arg-type]  # every encoding is a dataclass
        default = None if field.default is MISSING else field.default
        if field.name not in _KNOWN[kind] and getattr(encoding, field.name) != default:
            raise NotExportableError(
                f"column {name!r} is encoded with the option {field.name!r} ({encoding.description()}), which an "
                "exported predictor does not know: turn the column into plain numbers before the fit, or use model.save"
            )
