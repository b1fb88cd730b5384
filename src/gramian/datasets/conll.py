"""Sentences with a part of speech and a named-entity tag for every word, in the column format of CoNLL-2003."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gramian.datasets.folder import find
from gramian.datasets.images import check_split

COLUMNS = ("word", "pos", "chunk", "ner")
"""Columns of a line of CoNLL-2003."""
_DOCUMENT = "-DOCSTART-"
_ENTITY = re.compile(r"O|[BIES]-\S+")


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences as words, with two tags for each word; all three have one tuple per sentence.

    Parameters
    ----------
    words : tuple of tuples of str
    pos : tuple of tuples of str
        Part of speech, such as ``"NNP"``.
    ner : tuple of tuples of str
        Named entity: ``"O"`` outside of all, otherwise a place and a type, such as ``"B-ORG"``.
    description : str

    >>> one = TaggedSentences((("Paris", "sleeps"),), (("NNP", "VBZ"),), (("B-LOC", "O"),), "a sentence")
    >>> len(one), one.tags("pos")
    (1, ('NNP', 'VBZ'))
    """

    words: tuple[tuple[str, ...], ...]
    pos: tuple[tuple[str, ...], ...]
    ner: tuple[tuple[str, ...], ...]
    description: str

    def __len__(self) -> int:
        return len(self.words)

    def tags(self, column: str) -> tuple[str, ...]:
        """Return the different tags of the column ``"pos"`` or ``"ner"``, sorted."""
        if column not in ("pos", "ner"):
            raise ValueError(f"column must be pos or ner, got {column!r}")
        found: tuple[tuple[str, ...], ...] = getattr(self, column)
        return tuple(sorted({tag for sentence in found for tag in sentence}))


def conll2003(split: str = "train", folder: str | Path | None = None) -> TaggedSentences:
    """English newspaper sentences of CoNLL-2003: 14,041 to train on, 3,250 to validate, 3,453 to test.

    The corpus may not be redistributed; copy your own files to the folder.

    Parameters
    ----------
    split : "train", "valid" or "test"
    folder : path, optional
        Holds ``conll2003/{train,valid,test}.txt``; the folder GRAMIAN_DATA by default.

    >>> conll2003("valid", folder="nowhere")
    Traceback (most recent call last):
        ...
    FileNotFoundError: there is no conll2003/valid.txt in nowhere: ...
    """
    check_split(split, ("train", "valid", "test"))
    return read_conll(find(f"conll2003/{split}.txt", folder), f"CoNLL-2003, {split}")


def read_conll(path: str | Path, name: str = "") -> TaggedSentences:
    """Read a file of lines ``word pos chunk ner`` with an empty line after each sentence.

    Lines ``-DOCSTART-``, which begin a document, are left out.

    Parameters
    ----------
    path : path
    name : str
        Begin of the description; the file's name by default.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "made.txt")
    >>> _ = path.write_text("Paris NNP B-NP B-LOC\\nsleeps VBZ B-VP O\\n\\nIt PRP B-NP O\\n")
    >>> found = read_conll(path)
    >>> found.words, found.description
    ((('Paris', 'sleeps'), ('It',)), 'made.txt: 2 sentences, 3 words')
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a text in UTF-8: convert it first") from error
    sentences: list[list[list[str]]] = [[]]
    for number, line in enumerate(lines, 1):
        fields = line.split()
        if not fields or fields[0] == _DOCUMENT:
            sentences.append([])
            continue
        if len(fields) != len(COLUMNS):
            raise ValueError(
                f"{path}, line {number}: expected {' '.join(COLUMNS)}, got {len(fields)} columns: {line!r}"
            )
        if not _ENTITY.fullmatch(fields[3]):
            raise ValueError(
                f"{path}, line {number}: the last column must be O or a named entity like B-ORG, got {fields[3]!r}"
            )
        sentences[-1].append(fields)
    found = [sentence for sentence in sentences if sentence]
    if not found:
        raise ValueError(f"{path} contains no sentence: expected lines {' '.join(COLUMNS)}")
    words, pos, _, ner = (tuple(tuple(row[at] for row in sentence) for sentence in found) for at in range(4))
    count = sum(len(sentence) for sentence in found)
    return TaggedSentences(words, pos, ner, f"{name or path.name}: {len(found)} sentences, {count} words")
