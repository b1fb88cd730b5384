"""Free text: n-grams, their components, and the choice between text and identifiers."""

import uuid

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramian.tables import TableEncoder
from gramian.tables.columns import RawColumn
from gramian.tables.text_grams import BUCKETS, TextGrams, repeats_words
from raw_tables import adverts

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def column(texts):
    return RawColumn("c", np.fromiter(texts, dtype=object, count=len(texts)))


def some_texts(n=60, seed=0):
    return adverts(n, seed)[0]["text"].tolist()


def naive_bucket(gram):
    """Return the bucket of bytes, with Python's whole numbers."""
    hashed = len(gram)
    for letter in gram:
        hashed = (hashed * 16_777_619 & 0xFFFFFFFF) ^ letter
    return (hashed * 2_654_435_761 & 0xFFFFFFFF) >> 22


def naive_vectors(texts, idf=None):
    """Return counts of n-grams by loops, and unit vectors."""
    counts = np.zeros((len(texts), BUCKETS))
    for i, text in enumerate(texts):
        letters = f" {' '.join(text.casefold().split())} ".encode()
        for length in (3, 4):
            for k in range(len(letters) - length + 1):
                counts[i, naive_bucket(letters[k : k + length])] += 1
    if idf is None:
        idf = 1 + np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0)))
    V = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * idf
    return V / np.linalg.norm(V, axis=1, keepdims=True), idf


def test_the_components_are_those_of_a_naive_twin():
    texts = [text for text in some_texts() if text]
    found = TextGrams.fit(column(texts), "indicator", np.ones(len(texts)))
    V, idf = naive_vectors(texts)
    assert np.allclose(found.idf, idf)
    block = found.encode(column(texts))
    # Squared distances in the components are those of the leading singular vectors.
    centred = V - V.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    k = block.shape[1]
    expected = (left * sizes)[:, :k]
    assert k == 32
    assert np.allclose((block - block.mean(axis=0)) @ (block - block.mean(axis=0)).T, expected @ expected.T, atol=1e-9)
    assert np.allclose(found.mean, block.mean(axis=0))


def test_new_texts_are_projected_as_a_naive_twin_does():
    texts = [text for text in some_texts() if text]
    found = TextGrams.fit(column(texts), "indicator", np.ones(len(texts)))
    new = ["Excellent   SOFA", "ünknown 東京", "x"]
    assert np.allclose(found.encode(column(new)), naive_vectors(new, found.idf)[0] @ found.components)


def test_missing_texts_are_at_the_mean_and_marked():
    texts = [*(text for text in some_texts() if text), None, "", "NA"]
    found = TextGrams.fit(column(texts), "indicator", np.ones(len(texts)))
    block = found.encode(column(texts))
    assert np.allclose(block[-3:, :-1], block[:-3, :-1].mean(axis=0))
    assert block[:, -1].tolist() == [0] * (len(texts) - 3) + [1] * 3
    assert not TextGrams.fit(column(texts), "fill", np.ones(len(texts))).indicator


def test_copies_are_rows_bit_for_bit():
    texts = [text for text in some_texts() if text]
    copies = np.random.default_rng(0).integers(1, 4, len(texts))
    one = TextGrams.fit(column(texts), "fill", copies * 1.0)
    other = TextGrams.fit(column(np.repeat(texts, copies).tolist()), "fill", np.ones(copies.sum()))
    assert np.array_equal(one.components, other.components)
    assert np.array_equal(one.encode(column(texts)), other.encode(column(texts)))


@settings(max_examples=20)
@given(st.lists(st.text(max_size=30), min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_any_text_is_encoded_alone_as_among_others(texts, random):
    known = [text for text in some_texts() if text]
    found = TextGrams.fit(column(random.sample(known, len(known))), "fill", np.ones(len(known)))
    block = found.encode(column(texts))
    assert np.isfinite(block).all()
    for i, text in enumerate(texts):
        assert np.array_equal(found.encode(column([text]))[0], block[i])


def test_half_letters_and_long_texts_are_encoded():
    texts = [
        f"{word} {'a' if k % 2 else 'b'}\ud83e {'long ' * 2000 if k == 5 else ''}"
        for k, word in enumerate(some_texts())
    ]
    found = TextGrams.fit(column(texts), "fill", np.ones(len(texts)))
    assert np.isfinite(found.encode(column(texts))).all()


def test_free_text_is_a_kind_of_column_in_every_container():
    frame = pd.DataFrame({"text": some_texts(80), "x": np.arange(80.0)})
    encoder = TableEncoder().fit(frame)
    assert encoder.kinds_[0] == "text"
    assert encoder.records_[0].encoded[:2] == ("text__text1", "text__text2")
    block = encoder.transform(frame)
    for other in (pl.from_pandas(frame), frame.convert_dtypes(), frame.to_numpy(dtype=object)):
        assert np.array_equal(TableEncoder().fit_transform(other), block)


def test_the_expected_squared_distance_of_two_rows_is_2():
    encoder = TableEncoder().fit(
        pd.DataFrame({"text": [text or "box" for text in some_texts(80)], "x": np.arange(80.0)})
    )
    block = encoder.transform(pd.DataFrame({"text": [text or "box" for text in some_texts(80)], "x": np.arange(80.0)}))
    mine = encoder.groups_ == 0
    scaled = (block[:, mine] - encoder.centers_[mine]) / encoder.scales_[mine]
    assert np.isclose(((scaled[:, None] - scaled[None]) ** 2).sum(axis=2).mean(), 2)


def test_frequent_levels_stay_levels():
    """Levels of which half of the rows have a column of their own are no free text."""
    words = [f"the {k} of them in box{k}" for k in range(5)] * 20 + [f"rare {k} box{k % 9}" for k in range(40)]
    assert TableEncoder().fit([[word, i] for i, word in enumerate(words)]).kinds_[0] == "many-levels"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"{word} chair" for word in ("red", "blue", "old", "new")] + ["old table", "new table"], True),
        (["Braund, Mr. Owen", "Cumings, Mrs. John", "Allen, Mr. William", "Kelly, Miss. A", "Rice, Miss. B"], True),
        ([f"{letter}{k}" for k in range(20) for letter in "ABC"], True),
        ([f"anna.{k}x@mail.com" if k % 2 else f"{k}bob@post.org" for k in range(20)], True),
        ([f"id {k}" for k in range(50)], False),
        ([f"customer_{k}" for k in range(50)], False),
        ([str(uuid.UUID(int=k * 7919**9 % 2**128)) for k in range(200)], False),
        ([f"{k:012x}" for k in range(10**9, 10**9 + 50)], False),
        ([f"{k} {k + 1}" for k in range(50)], False),
    ],
)  # fmt: skip
def test_texts_that_share_words_are_no_identifiers(texts, expected):
    assert repeats_words(texts) is expected
