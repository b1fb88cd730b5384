"""Texts as data: read from a file, and cut into batches of tokens of one length each."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gramian.core.paths import check_exists

TEXT_SUFFIXES = (".txt", ".csv", ".tsv", ".txt.gz", ".csv.gz", ".tsv.gz")
_COLUMNS = ("text", "sentence", "content", "review", "question", "prompt")
"""Columns of a table that hold the texts unless another is named."""
_LABELS = ("label", "labels", "target", "y")
Tokenizer = Callable[..., Mapping[str, Any]]
"""A tokenizer of transformers: called with a list of texts, it returns ``input_ids`` as lists."""


@dataclass(frozen=True)
class Texts:
    """Texts with a whole number each as the label, or without labels; ``classes`` names the numbers."""

    texts: tuple[str, ...]
    labels: tuple[int, ...] | None = None
    classes: tuple[str, ...] = ()

    def first(self, count: int | None) -> Texts:
        """Return the first texts only.

        >>> Texts(("a", "b"), (0, 1)).first(1)
        Texts(texts=('a',), labels=(0,), classes=())
        """
        return Texts(self.texts[:count], None if self.labels is None else self.labels[:count], self.classes)


def is_text_file(path: str | Path) -> bool:
    """Return whether a path has the suffix of a file of texts.

    >>> is_text_file("a/train.tsv.gz"), is_text_file("a/train.npz")
    (True, False)
    """
    return str(path).lower().endswith(TEXT_SUFFIXES)


def read_texts(path: str | Path, *, column: str | None = None, target: str | None = None) -> Texts:
    """Read texts: the lines of ``.txt``, or a column of ``.csv`` and ``.tsv`` (also ``.gz``).

    ``column`` is the column of the texts; by default text, sentence or another usual name, or the only one. ``target``
    is the column of the labels; by default one of the name label or target, if there is one. Columns of a file without
    a header (as SST-2 has none) are called 0, 1 and so on. Empty texts are left out.
    """
    path = Path(path)
    check_exists(path, "texts are read from .txt, .csv and .tsv, also with .gz")
    raw = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    try:
        content = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}): save it as UTF-8") from error
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind == "txt":
        if column is not None or target is not None:
            raise ValueError(f"{path} has lines and no columns: use .csv or .tsv for texts with labels")
        found = Texts(tuple(line.strip() for line in content.splitlines() if line.strip()))
    else:
        found = _read_table(path, content, "\t" if kind == "tsv" else ",", column, target)
    if not found.texts:
        raise ValueError(f"{path} holds no text")
    return found


def _read_table(path: Path, content: str, mark: str, column: str | None, target: str | None) -> Texts:
    lines = io.StringIO(content, newline="")
    # In .tsv a quotation mark is a letter as any other.
    table = [row for row in (csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE) if mark == "\t"
             else csv.reader(lines, delimiter=mark)) if row]  # fmt: skip
    names = table[0] if table else []
    if any(name.strip().isdigit() for name in names):  # no name of a column: the file has no header
        names = [str(j) for j in range(len(names))]
    else:
        table = table[1:]
    columns = {name: [row[j].strip() if j < len(row) else "" for row in table] for j, name in enumerate(names)}
    label = target or next((name for name in _LABELS if name in names), None) or _only_whole_numbers(columns)
    rest = [name for name in names if name != label]
    text = column or next((name for name in _COLUMNS if name in rest), rest[0] if len(rest) == 1 else None)
    if text is None:
        raise ValueError(f"{path} has the columns {', '.join(names)}: name the one that holds the texts")
    for name in (text, label):
        if name is not None and name not in names:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(names)}")
    kept = [i for i, found in enumerate(columns[text]) if found]
    texts = tuple(columns[text][i] for i in kept)
    if label is None:
        return Texts(texts)
    given = [columns[label][i] for i in kept]
    if not all(given):
        raise ValueError(f"{path} has rows without a {label!r}: leave them out of the file")
    if all(value.isdigit() for value in given):
        return Texts(texts, tuple(int(value) for value in given))
    classes = sorted(set(given))
    return Texts(texts, tuple(classes.index(value) for value in given), tuple(classes))


def _only_whole_numbers(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Return the column of whole numbers of a file without a header that has one, and a column of texts."""
    if len(columns) != 2 or list(columns) != ["0", "1"]:
        return None
    whole = [name for name, values in columns.items() if all(value.isdigit() for value in values)]
    return whole[0] if len(whole) == 1 else None


def text_batches(
    tokenizer: Tokenizer,
    texts: Sequence[str] | Texts,
    *,
    labels: Sequence[int] | None = None,
    next_token: bool = False,
    batch_size: int = 16,
    max_length: int = 128,
) -> list[dict[str, Tensor]]:
    """Cut texts into batches for :func:`gramian.nets.inspect`: dicts of ``input_ids``, ``attention_mask``, ``labels``.

    Texts of one batch have the same number of tokens, so that nothing is padded: padded positions would count as rows
    of every layer, and results would depend on the batches. Results do not depend on the order of the texts.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers.
    texts
        The texts, also as :func:`read_texts` returns them.
    labels
        A class for each text. They replace those of ``texts``.
    next_token
        Use the tokens themselves as labels, as causal language models do; texts of one token, which predict nothing,
        are left out.
    batch_size, max_length
        Largest number of texts in a batch, and of tokens in a text; the rest of a longer text is left out.

    >>> def letters(texts, **options):
    ...     return {"input_ids": [[ord(letter) - 96 for letter in text] for text in texts]}
    >>> [batch["input_ids"].tolist() for batch in text_batches(letters, ["ab", "c", "de"])]
    [[[3]], [[1, 2], [4, 5]]]
    """
    given = texts if isinstance(texts, Texts) else Texts(tuple(texts))
    own = given.labels if labels is None else tuple(int(label) for label in labels)
    if own is not None and len(own) != len(given.texts):
        raise ValueError(f"labels: {len(own)} labels for {len(given.texts)} texts")
    if batch_size < 1 or max_length < 1:
        raise ValueError(f"batch_size={batch_size} and max_length={max_length} must be at least 1")
    ids = tokenizer(list(given.texts), truncation=True, max_length=max_length)["input_ids"]
    by_length: dict[int, list[int]] = {}
    for i, tokens in enumerate(ids):
        if len(tokens) > int(next_token):
            by_length.setdefault(len(tokens), []).append(i)
    if not by_length:
        raise ValueError("texts: none has enough tokens to be measured")
    batches = []
    for _, members in sorted(by_length.items()):
        for start in range(0, len(members), batch_size):
            part = members[start : start + batch_size]
            tokens = torch.tensor([list(ids[i]) for i in part])
            batch = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
            if next_token:
                batch["labels"] = tokens.clone()
            elif own is not None:
                batch["labels"] = torch.tensor([own[i] for i in part])
            batches.append(batch)
    return batches
