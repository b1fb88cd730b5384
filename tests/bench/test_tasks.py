"""Suites and their splits."""

import json

import numpy as np
import pytest

from gramian.bench.tasks import SUITES, seeded_split
from gramian.datasets import uci


def test_uci_splits_are_those_of_the_authors(folder):
    suite = SUITES["uci-small"]
    assert suite.names(folder) == ["sign", "bands"]  # fewest rows first
    task = suite.task("bands", 2, folder)
    np.testing.assert_array_equal(task.split.test, uci("bands", folder).splits[2].test)
    assert task.train[0].shape == (45, 3)
    with pytest.raises(ValueError, match="4 splits, there is no split=4"):
        suite.task("bands", 4, folder)


def test_seeded_splits_are_reproducible_stratified_and_limited():
    y = np.repeat([0, 1], [15_000, 75_000])
    a, b = seeded_split(y, "classification", 0), seeded_split(y, "classification", 0)
    np.testing.assert_array_equal(a.train, b.train)
    assert not np.array_equal(a.train, seeded_split(y, "classification", 1).train)
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
