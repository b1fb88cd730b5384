"""A concept reads texts as it was trained to, survives its file, and refuses a damaged one."""

import numpy as np
import pytest
import torch

from gramian.concepts import Concept, ProbeOptions, collect, fit_concept
from gramian.files import ModelFileError
from tiny_reader import Letters, Reader

QUICK = ProbeOptions(kernels=ProbeOptions().kernels[:1], ridges=(0.1, 1.0, 10.0), rounds=1)
METHODS = ("rfm", "logistic", "mean_difference", "pca")


def texts(n, seed=0):
    """Random letters; the concept is that there are vowels."""
    rng = np.random.default_rng(seed)
    made = ["".join(rng.choice(list("aeiou" if i % 2 else "bcdfg"), size=rng.integers(3, 9))) for i in range(n)]
    return made, ["vowels" if i % 2 else "consonants" for i in range(n)]


@pytest.fixture(scope="module")
def model():
    return Reader()


@pytest.fixture(scope="module")
def concept(model):
    made, labels = texts(40)
    return fit_concept(collect(model, made, tokenizer=Letters()), labels, name="vowels", options=QUICK)


def test_new_texts_are_scored(concept, model):
    made, labels = texts(30, seed=1)
    p = concept.score(made, model=model, tokenizer=Letters())
    truth = np.array([label == "vowels" for label in labels])
    assert p.shape == (30,)
    assert p[truth].min() > p[~truth].max()
    sets = concept.prediction_sets(made, model=model, tokenizer=Letters(), coverage=0.8)
    assert set().union(*sets) <= {"vowels", "consonants"}
    assert np.mean([label in chosen for label, chosen in zip(labels, sets, strict=True)]) > 0.6


@pytest.mark.parametrize("method", METHODS)
def test_directions_point_to_the_concept_in_each_layer(concept, model, method):
    directions = concept.directions(method)
    assert tuple(one.layer for one in directions) == ("blocks.0", "blocks.1", "blocks.2") == concept.layers
    states = collect(model, texts(40)[0], tokenizer=Letters())
    for one in directions:
        assert float(one.vector.norm()) == pytest.approx(1.0, abs=1e-5)
        assert one.vector.dtype == torch.float32
        assert one.typical_norm == pytest.approx(states.typical_norm(one.layer))
        along = one.along(states.layer(one.layer))
        assert float(along[1::2].mean()) > float(along[::2].mean())
        assert one.auc == concept.aucs[method][concept.layers.index(one.layer)].value


def test_tokens_are_scored_one_by_one(concept, model):
    scored = concept.token_scores(["bad", "ooooo"], model=model, tokenizer=Letters())
    assert [one.tokens for one in scored] == [("b", "a", "d"), tuple("ooooo")]
    assert scored[1].scores.mean() > scored[0].scores.mean()
    alone = concept.token_scores(["bad"], model=model, tokenizer=Letters())[0]
    np.testing.assert_allclose(alone.scores, scored[0].scores, rtol=1e-4, atol=1e-5)


def test_the_file_gives_the_same_concept(concept, model, tmp_path):
    concept.save(tmp_path / "vowels.concept")
    same = Concept.load(tmp_path / "vowels.concept")
    made = texts(10, seed=2)[0]
    first, second = (one.score(made, model=model, tokenizer=Letters()) for one in (concept, same))
    np.testing.assert_array_equal(first, second)
    for method in METHODS:
        for one, other in zip(concept.directions(method), same.directions(method), strict=True):
            assert torch.equal(one.vector, other.vector)
            assert one.auc == other.auc
    assert str(same) == str(concept)
    assert (same.name, same.classes, same.settings) == (concept.name, concept.classes, concept.settings)


@pytest.mark.parametrize("at", [0.1, 0.5, 0.99])
def test_a_damaged_file_is_refused(concept, tmp_path, at):
    path = tmp_path / "vowels.concept"
    concept.save(path)
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= 0x55
    path.write_bytes(data)
    with pytest.raises(ModelFileError):
        Concept.load(path)
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelFileError):
        Concept.load(path)


def test_steering_along_the_concept_changes_the_model_only_inside(concept, model):
    ids = torch.tensor([[97, 98]])
    model.eval()
    with torch.no_grad():
        before = model(ids, torch.ones_like(ids))
        with concept.steer(model, strength=0.5, layers=["blocks.1"]):
            inside = model(ids, torch.ones_like(ids))
        after = model(ids, torch.ones_like(ids))
    assert torch.equal(before, after)
    assert not torch.allclose(before, inside)


def test_wrong_requests_are_named(concept):
    with pytest.raises(ValueError, match="method must be one of"):
        concept.directions("svm")
    with pytest.raises(ValueError, match="of must be one of"):
        concept.directions(of="digits")
    with pytest.raises(ValueError, match="have width 4"):
        concept.score(["abc"], model=Reader(d=4), tokenizer=Letters())
    with pytest.raises(ValueError, match="hidden states of blocks"):
        concept.probabilities({})


def test_it_is_shown_with_a_line_per_layer(concept):
    shown = str(concept)
    assert all(name in shown for name in (*concept.layers, "RFM", "logistic", "vowels"))
    assert "<table" in concept._repr_html_()
    assert repr(concept) == "Concept('vowels', classes=('consonants', 'vowels'), layers=3, rows=40)"
