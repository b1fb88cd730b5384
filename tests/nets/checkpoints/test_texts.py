"""Texts from files of every form, and batches without padding."""

import gzip

import pytest
import torch

from gramian.nets.checkpoints.texts import Texts, read_texts, text_batches


def letters(texts, truncation=True, max_length=128):
    return {"input_ids": [[ord(letter) - 96 for letter in text[:max_length]] for text in texts]}


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        ("a.txt", "one\n\n  two \n", {}, Texts(("one", "two"))),
        ("a.txt", "\ufeffone\n", {}, Texts(("one",))),
        ("a.csv", 'text,label\n"a, b",1\nc,0\n', {}, Texts(("a, b", "c"), (1, 0))),
        ("a.csv", "label,sentence\npos,a\nneg,b\n", {}, Texts(("a", "b"), (1, 0), ("neg", "pos"))),
        ("a.csv", "words,kind,n\na b,x,3\nc,y,4\n", {"column": "words", "target": "n"}, Texts(("a b", "c"), (3, 4))),
        ("a.csv", "anything\na\n", {}, Texts(("a",))),
        ("a.tsv", 'text\tlabel\nsay "hi\t1\nb\t0\n', {}, Texts(('say "hi', "b"), (1, 0))),
        ("a.tsv", "a film\t0\nb\t1\n\t1\n", {}, Texts(("a film", "b"), (0, 1))),  # no header, an empty text
        ("a.csv", "text,label\na,1\n,0\n", {}, Texts(("a",), (1,))),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_files_of_texts(tmp_path, name, content, options, expected, packed):
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    assert read_texts(path, **options) == expected


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.txt", "\n", {}, "holds no text"),
        ("a.txt", "one", {"column": "text"}, "has lines and no columns"),
        ("a.csv", "a,b\nc,d\n", {}, "has the columns a, b: name the one"),
        ("a.csv", "text\nc\n", {"target": "y"}, "has no column 'y'; it has text"),
        ("a.csv", "text,label\nc,\n", {}, "rows without a 'label'"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, options, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=said):
        read_texts(tmp_path / name, **options)
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="save it as UTF-8"):
        read_texts(tmp_path / "b.txt")
    with pytest.raises(FileNotFoundError, match="texts are read from"):
        read_texts(tmp_path / "absent.txt")


def test_a_batch_has_texts_of_one_length():
    given = ["abc", "d", "efg", "hi", "jkl", "m"]
    batches = text_batches(letters, given, labels=[0, 1, 2, 3, 4, 5], batch_size=2)
    assert [tuple(batch["input_ids"].shape) for batch in batches] == [(2, 1), (1, 2), (2, 3), (1, 3)]
    assert torch.cat([batch["labels"] for batch in batches]).tolist() == [1, 5, 3, 0, 2, 4]
    assert all(bool(batch["attention_mask"].all()) for batch in batches)
    assert sum(len(batch["input_ids"]) for batch in batches) == len(given)


def test_the_next_token_as_label():
    batches = text_batches(letters, Texts(("ab", "c", "de"), (0, 1, 1)), next_token=True, max_length=2)
    assert len(batches) == 1, "a text of one token predicts nothing"
    assert torch.equal(batches[0]["labels"], batches[0]["input_ids"])
    assert "labels" not in text_batches(letters, ["ab"])[0]


def test_wrong_arguments():
    with pytest.raises(ValueError, match="1 labels for 2 texts"):
        text_batches(letters, ["a", "b"], labels=[1])
    with pytest.raises(ValueError, match="must be at least 1"):
        text_batches(letters, ["a"], batch_size=0)
    with pytest.raises(ValueError, match="enough tokens"):
        text_batches(letters, ["a"], next_token=True)
