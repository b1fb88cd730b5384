"""Suites and their splits."""

import json

import numpy as np
import pytest

from data_files import write_gz
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


def test_the_rest_of_uci_has_no_set_of_the_halves_and_few_training_rows(folder, monkeypatch):
    entries = json.loads((folder / "uci121/manifest.json").read_text())
    for name, second in (("bands", 9), ("magic", 9)):
        entries = [entry for entry in entries if entry["name"] != name] + [
            {"name": name, "n1": 60, "n2": second, "ok": True}
        ]
    (folder / "uci121/manifest.json").write_text(json.dumps(entries))
    suite = SUITES["uci-rest"]
    assert suite.names(folder) == ["bands"]
    assert not set(suite.names(folder)) & set(SUITES["uci-small"].names(folder))
    monkeypatch.setattr("gramian.bench.tasks._TRAIN_ROWS", 20)
    task, whole = suite.task("bands", 2, folder), uci("bands", folder).splits[2]
    assert len(task.split.train) == 20
    assert set(task.split.train) < set(whole.train)
    np.testing.assert_array_equal(task.split.test, whole.test)
    np.testing.assert_array_equal(task.split.train, suite.task("bands", 2, folder).split.train)


def test_uci_regression_leaves_out_tables_of_the_halves(tmp_path):
    for name in ("yacht", "pol", "challenger"):
        rows = "\n".join(f"{i},{i % 3},{i / 2}" for i in range(10))
        write_gz(tmp_path / f"uci_regression/{name}/data.csv.gz", rows.encode())
    suite = SUITES["uci-regression"]
    assert suite.names(tmp_path) == ["yacht"]
    task = suite.task("yacht", 0, tmp_path)
    assert (task.kind, task.train[0].shape, task.test[1].dtype) == ("regression", (7, 2), np.float64)


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
