"""Encoding of free text: principal components of its character n-grams, in closed form and without the target.

Each n-gram of a text is hashed to one of ``D`` buckets. With the count ``c`` of a bucket in a text and the number
``N_b`` of the ``N`` training rows that have bucket ``b``, the text is the unit vector along ``v`` with entries
``v_b = (1 + log c) · idf_b``, ``idf_b = 1 + log((1 + N) / (1 + N_b))``. The channels are ``vᵀU``, where the columns of
``U (D, k)`` are the leading eigenvectors of the covariance of ``v`` over the training rows.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gramian.tables.channels import Channel, Encoding, missing_channel
from gramian.tables.columns import RawColumn
from gramian.tables.values import Array, Levels, read_levels

_BITS = 10
BUCKETS = 1 << _BITS
"""Number of buckets D."""
_LENGTHS = (3, 4)
"""Bytes of an n-gram."""
_COMPONENTS = 32
_SMALLEST = 1e-3
"""Variance of a component at least, as a share of the first one's."""
_MOST_TEXTS = 20_000
"""Different texts from which the components are computed at most: the covariance takes about a second then."""
_LONGEST = 1000
"""Characters of a text that are used at most."""
_LEADING = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}(?![^\W_])")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F-]{8,}")


@dataclass(frozen=True, eq=False)
class TextGrams(Encoding):
    """Components ``vᵀU`` of each text, and an indicator of missing ones, which are at the mean of the components."""

    idf: Float[np.ndarray, " buckets"]
    components: Float[np.ndarray, "buckets k"]
    mean: Float[np.ndarray, " k"]
    """Mean of the components over training rows."""
    indicator: bool

    @classmethod
    def fit(cls, column: RawColumn, missing: str, copies: Array) -> TextGrams:
        """Compute the components; ``copies (n,)`` says how often each row is in the table."""
        levels = read_levels(column.values)
        known = levels.codes >= 0
        rows_of = np.bincount(levels.codes[known], weights=copies[known], minlength=len(levels.texts))
        counts: Array = np.asarray(rows_of, dtype=np.float64)
        used = _sample(levels.texts, counts)
        grams, counts = _gram_counts([levels.texts[i] for i in used]), counts[used]
        rows = np.bincount(grams.indices, weights=np.repeat(counts, np.diff(grams.indptr)), minlength=BUCKETS)
        idf = 1 + np.log((1 + counts.sum()) / (1 + rows))
        V, share = _unit_rows(grams, idf), counts / counts.sum()
        mean = V.T @ share
        covariance = (V.T @ (V * share[:, None])).toarray() - np.outer(mean, mean)
        variances, U = scipy.linalg.eigh(covariance, subset_by_index=(BUCKETS - _COMPONENTS, BUCKETS - 1))
        U = U[:, ::-1][:, variances[::-1] > _SMALLEST * variances[-1]]
        U = U * np.where(U[np.abs(U).argmax(axis=0), np.arange(U.shape[1])] < 0, -1.0, 1.0)
        indicator = missing == "indicator" and not known.all()
        return cls(idf, np.ascontiguousarray(U), mean @ U, indicator)

    def encode(self, column: RawColumn) -> Array:
        levels: Levels = read_levels(column.values)
        block = np.vstack([_unit_rows(_gram_counts(levels.texts), self.idf) @ self.components, self.mean])[levels.codes]
        return np.column_stack([block, levels.codes < 0]) if self.indicator else block

    def channels(self, name: str, block: Array, weights: Array) -> list[Channel]:
        k = self.components.shape[1]
        share = weights / weights.sum()
        center = share @ block[:, :k]
        scale = float(np.sqrt(max((share @ (block[:, :k] - center) ** 2).sum(), np.finfo(float).tiny)))
        used = [Channel(f"{name}__text{j + 1}", float(center[j]), scale) for j in range(k)]
        return used + ([missing_channel(name, block[:, -1], weights)] if self.indicator else [])

    def description(self) -> str:
        gone = "; missing: the mean and an indicator" if self.indicator else "; missing: the mean"
        return f"text, by {self.components.shape[1]} principal components of its groups of 3 and 4 letters{gone}"

    def trial_values(self) -> NDArray[Any]:
        return np.array(["no such text", "", None], dtype=object)


def repeats_words(texts: Sequence[str]) -> bool:
    """Return whether half of different texts or more share a word, or the letters they begin with, with some others.

    A word that all texts have, as in ``id 17`` and ``id 18``, does not count, nor do hexadecimal numbers: such texts
    are identifiers, which say nothing about other rows.

    >>> repeats_words(["red chair", "blue chair", "red table", "old table"]), repeats_words(["id 17", "id 18", "id 9"])
    (True, False)
    """
    if all(_HEXADECIMAL.fullmatch(text.strip()) for text in texts):
        return False
    pieces = [_pieces(text[:_LONGEST]) for text in texts]
    counts = Counter(piece for found in pieces for piece in found)
    shared = [any(1 < counts[piece] < len(texts) for piece in found) for found in pieces]
    return sum(shared) >= len(texts) / 2


def _pieces(text: str) -> set[str]:
    leading = _LEADING.match(text.strip())
    return {word.casefold() for word in _WORD.findall(text)} | ({leading[0].casefold()} if leading else set())


def _sample(texts: Sequence[str], counts: Array) -> NDArray[np.intp]:
    """Return the indices of the most frequent texts, ties by a digest of the text: no order of rows decides."""
    if len(texts) <= _MOST_TEXTS:
        return np.arange(len(texts))
    digests = [hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in texts]
    order = sorted(range(len(texts)), key=lambda i: (-counts[i], digests[i]))
    return np.sort(np.array(order[:_MOST_TEXTS], dtype=np.intp))


def _gram_counts(texts: Sequence[str]) -> csr_array:
    """Return the number of n-grams of each text in each bucket, ``(m, D)``."""
    parts = [f" {' '.join(text[:_LONGEST].casefold().split())} ".encode("utf-8", "replace") for text in texts]
    letters = np.frombuffer(b"".join(parts), dtype=np.uint8).astype(np.uint32)
    row = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    cells = []
    for length in _LENGTHS:
        size = max(len(letters) - length + 1, 0)
        hashed = np.full(size, length, dtype=np.uint32)
        for k in range(length):
            hashed = hashed * np.uint32(16_777_619) ^ letters[k : k + size]
        bucket = (hashed * np.uint32(2_654_435_761)) >> np.uint32(32 - _BITS)
        whole = row[:size] == row[length - 1 : length - 1 + size]
        cells.append(row[:size][whole] * BUCKETS + bucket[whole].astype(np.intp))
    found, counts = np.unique(np.concatenate(cells), return_counts=True)
    starts = np.searchsorted(found, np.arange(len(parts) + 1) * BUCKETS)
    return csr_array((counts.astype(np.float64), found % BUCKETS, starts), shape=(len(parts), BUCKETS))


def _unit_rows(grams: csr_array, idf: Array) -> csr_array:
    values = (1 + np.log(grams.data)) * idf[grams.indices]
    row = np.repeat(np.arange(grams.shape[0]), np.diff(grams.indptr))
    norm = np.sqrt(np.bincount(row, weights=values**2, minlength=grams.shape[0]))
    return csr_array((values / norm[row], grams.indices, grams.indptr), shape=grams.shape)
