"""Cells of benchmarks: stable keys, no repetition, no method that can end the run."""

import hashlib
import json
import logging

import failing_methods
from gramian import __version__
from gramian.bench.cell import BenchCell, cells
from gramian.bench.methods import METHODS, Method
from gramian.records import LinesStore, run


def test_the_key_depends_on_everything_that_decides_the_result():
    method = METHODS["SVM"]

    def key(set="iris", split=0, name="SVM", learner=method, seed=0):
        return BenchCell("sklearn", set, split, name, learner, seed).key

    keys = {
        key(),
        key(set="wine"),
        key(split=1),
        key(seed=1),
        key(name="SVM@tag"),
        key(learner=Method("SVM", method.package, method.make, revision="2")),
        key(learner=Method("SVM", "numpy", method.make)),
    }
    assert len(keys) == 7
    assert cells("sklearn", ["SVM"], ["iris"], splits=1)[0].key in keys


def test_the_key_has_not_changed():
    """Result files of users must still be found: the sha256 of these entries as JSON."""
    learner = Method("SVM", "gramian", METHODS["SVM"].make, revision="3")
    identity = {"suite": "sklearn", "set": "iris", "split": 1, "method": "SVM@x", "seed": 4}
    identity |= {"version": __version__, "revision": "3", "suite_revision": "1"}
    expected = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    assert BenchCell("sklearn", "iris", 1, "SVM@x", learner, 4).key == expected


def test_a_run_survives_its_methods_and_resumes(folder, tmp_path, caplog):
    """Two methods that work and three that fail; then the file after an interrupt; then nothing to do."""
    store = LinesStore(tmp_path / "deep" / "results.jsonl")
    options = {"folder": folder, "find": failing_methods.find}
    todo = cells("uci-small", ["tree", "dummy"], ["sign", "bands"], splits=1, **options)
    todo += cells("uci-small", ["raises", "dies"], ["sign"], splits=1, **options)
    ticks = []
    run(todo, store, keep_failed=True, tick=lambda cell, record: ticks.append(record))
    # A busy machine may need this time for the first import alone: the limit is for the method that never ends.
    todo += cells("uci-small", ["sleeps"], ["sign"], splits=1, **options)
    records = run(todo, store, time_limit=1.0, keep_failed=True, tick=lambda cell, record: ticks.append(record))
    assert len(records) == len(ticks) == len(store.all()) == 7
    by_cell = {(r["method"], r["set"]): r for r in records}
    assert "exit code 3" in by_cell["dies", "sign"]["error"]
    assert "longer than 1 seconds" in by_cell["sleeps", "sign"]["error"]
    assert "no luck" in by_cell["raises", "sign"]["error"]
    for name in ("dies", "sleeps", "raises"):  # all count the same: the most frequent class
        assert by_cell[name, "sign"]["score"] == by_cell["dummy", "sign"]["score"]
    assert by_cell["tree", "sign"]["error"] is None
    assert list(by_cell["dies", "sign"]) == list(by_cell["tree", "sign"])

    lines = store.path.read_text().splitlines(keepends=True)
    rest = [line for line in lines if json.loads(line)["method"] != "tree"]
    store.path.write_text("".join(rest) + lines[0][:40])  # the kill came in the middle of a line
    with caplog.at_level(logging.WARNING, logger="gramian"):
        again = run(todo, store, keep_failed=True)
    assert "line 6 is not a whole record" in caplog.text
    added = store.path.read_text().splitlines()[6:]
    assert [json.loads(line)["method"] for line in added] == ["tree", "tree"]
    assert {r["key"]: r["score"] for r in again} == {r["key"]: r["score"] for r in records}

    size = store.path.stat().st_size
    assert len(run(todo, store, keep_failed=True)) == 7
    assert store.path.stat().st_size == size
