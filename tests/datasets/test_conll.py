"""The reader of CoNLL's column format, on made files and, where it is at hand, on the corpus."""

import os

import pytest

from gramian.datasets import conll2003
from gramian.datasets.conll import read_conll

SENTENCES = [
    [("Ada", "NNP", "B-NP", "B-PER"), ("Lovelace", "NNP", "I-NP", "I-PER"), ("wrote", "VBD", "B-VP", "O")],
    [("London", "NNP", "B-NP", "B-LOC")],
]


def written(path, sentences, head="-DOCSTART- -X- -X- O\n\n"):
    path.parent.mkdir(exist_ok=True)
    path.write_text(head + "\n".join("".join(" ".join(row) + "\n" for row in sentence) for sentence in sentences))
    return path


def test_what_was_written_is_read(tmp_path):
    written(tmp_path / "conll2003/valid.txt", SENTENCES)
    found = conll2003("valid", folder=tmp_path)
    assert [list(zip(*parts, strict=True)) for parts in zip(found.words, found.pos, found.ner, strict=True)] == [
        [(word, pos, ner) for word, pos, _, ner in sentence] for sentence in SENTENCES
    ]
    assert len(found) == 2
    assert found.tags("ner") == ("B-LOC", "B-PER", "I-PER", "O")
    assert found.description == "CoNLL-2003, valid: 2 sentences, 4 words"
    with pytest.raises(ValueError, match="column must be pos or ner, got 'chunk'"):
        found.tags("chunk")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ada NNP B-PER\n", "line 1: expected word pos chunk ner, got 3 columns: 'Ada NNP B-PER'"),
        (
            "a DT B-NP O\nAda NNP B-NP PER\n",
            "line 2: the last column must be O or a named entity like B-ORG, got 'PER'",
        ),
        ("-DOCSTART- -X- -X- O\n\n", "contains no sentence"),
        ("", "contains no sentence"),
    ],
)
def test_damaged_files_are_refused_with_the_line(tmp_path, text, message):
    path = tmp_path / "made.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_conll(path)


def test_other_encodings_and_splits_are_refused(tmp_path):
    path = tmp_path / "made.txt"
    path.write_bytes("Zürich NNP B-NP B-LOC\n".encode("latin-1"))
    with pytest.raises(ValueError, match="not a text in UTF-8"):
        read_conll(path)
    with pytest.raises(ValueError, match="split must be one of train, valid, test, got 'dev'"):
        conll2003("dev", folder=tmp_path)


def test_the_corpus():
    folder = os.environ.get("GRAMIAN_DATA", "")
    if not os.path.isfile(os.path.join(folder, "conll2003/train.txt")):
        pytest.skip("CoNLL-2003 is not in the folder GRAMIAN_DATA")
    found = conll2003()
    assert len(found) == 14041
    assert len(found.tags("ner")) == 9
