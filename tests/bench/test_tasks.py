"""Suites, splits and methods."""

import json

import numpy as np
import pytest

from gramian.bench import methods, paper
from gramian.bench.methods import METHODS, find_method
from gramian.bench.peers import XRFMClassifier, XRFMRegressor
from gramian.bench.tasks import SUITES, seeded
from gramian.datasets import uci


def test_uci_splits_are_the_authors(folder):
    suite = SUITES["uci-small"]
    assert suite.names(folder) == ["sign", "bands"]  # fewest rows first
    task = suite.task("bands", 2, folder)
    np.testing.assert_array_equal(task.split.test, uci("bands", folder).splits[2].test)
    assert task.train[0].shape == (45, 3)
    with pytest.raises(ValueError, match="4 splits, there is no split=4"):
        suite.task("bands", 4, folder)


def test_seeded_splits():
    y = np.repeat([0, 1], [15_000, 75_000])
    a, b = seeded(y, "classification", 0), seeded(y, "classification", 0)
    np.testing.assert_array_equal(a.train, b.train)
    assert not np.array_equal(a.train, seeded(y, "classification", 1).train)
    assert (len(a.train), len(a.test)) == (10_000, 50_000)
    assert not set(a.train) & set(a.test)
    np.testing.assert_allclose(y[a.train].mean(), y.mean(), atol=1e-3)


def test_grinsztajn_classification_looks_in_every_folder(tmp_path):
    entries = [("clf_num", "a"), ("clf_num_60pct", "b"), ("reg_num", "c")]
    (tmp_path / "grinsztajn").mkdir()
    text = json.dumps([{"kind": kind, "name": name, "rows": 1} for kind, name in entries])
    (tmp_path / "grinsztajn/manifest.json").write_text(text)
    assert SUITES["grinsztajn-clf"].names(tmp_path) == ["a", "b"]
    assert SUITES["grinsztajn-reg"].names(tmp_path) == ["c"]
    with pytest.raises(ValueError, match=r"'c' is not among .*a, b"):
        SUITES["grinsztajn-clf"].task("c", 0, tmp_path)


@pytest.mark.parametrize("name", [n for n, m in METHODS.items() if not m.paper and m.package == "scikit-learn"])
def test_methods_of_scikit_learn_take_arrays_and_frames(name):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 120
    frame = pandas.DataFrame({"x": rng.normal(size=n), "c": pandas.Categorical(rng.choice(["u", "v", "w"], n))})
    y = 1000 + 5 * frame["x"].to_numpy() + 10 * (frame["c"] == "u").to_numpy()
    method = find_method(name)
    model = method.make("regression", frame[:80], 0).fit(frame[:80], y[:80])
    assert model.score(frame[80:], y[80:]) > 0.5
    labels = (y > np.median(y)).astype(int)
    X = np.column_stack([frame["x"], frame["c"] == "u"])
    assert method.make("classification", X, 0).fit(X[:80], labels[:80]).score(X[80:], labels[80:]) > 0.7


@pytest.mark.parametrize("name", ["LightGBM", "XGBoost", "CatBoost", "xRFM"])
def test_peers_are_missing_or_make_an_estimator(name):
    method = find_method(name)
    if method.missing:
        assert "pip install" in method.missing
        pytest.skip(f"{name}: {method.missing}")
    assert hasattr(method.make("regression", np.zeros((3, 2)), 0), "fit")


def test_a_peer_that_is_not_there_says_so():
    ghost = methods.Method("ghost", "no-such-distribution", METHODS["SVM"].make)
    assert ghost.missing == "not installed (pip install no-such-distribution)"
    with pytest.raises(ValueError, match="'ghost' is not a method; there are gramian"):
        find_method("ghost")


def test_validation_rows_of_xrfm_keep_classes_where_they_can():
    y = np.repeat([0, 1, 2], [40, 50, 10])
    train, valid = XRFMClassifier()._split(y, True)
    assert np.bincount(y[valid]).tolist() == [8, 10, 2]
    y[0] = 3  # a class of one row
    train, valid = XRFMClassifier()._split(y, True)
    assert (len(train), len(valid)) == (80, 20)
    assert len(XRFMRegressor()._split(y / 7, False)[1]) == 20


@pytest.mark.parametrize("name", paper.UPDATES)
def test_the_papers_protocol_learns_the_made_sets(folder, name):
    outcome = paper.evaluate(uci("bands", folder), name)
    assert outcome.score == np.mean(outcome.scores) > 0.6
    assert len(outcome.scores) == 4
    assert outcome.choice.ridge in paper.RIDGES
    if name == "paper-laplace":
        assert outcome.choice.round == 0


def test_the_papers_protocol_refuses_what_has_no_room(folder, monkeypatch):
    monkeypatch.setattr(paper, "resolve_memory", lambda size, device: 10_000)
    with pytest.raises(MemoryError, match=r"45 rows need .* 10.* may be used"):
        paper.evaluate(uci("bands", folder), "paper-laplace")


def test_the_papers_protocol_does_not_divide_by_a_zero_norm():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert list(paper._inputs(X, 2)) == [False]
    normal = paper._inputs(X[:1], 1)[True]
    np.testing.assert_allclose(normal.norm(dim=1), 1)
