"""Records: keys that know what decides a result, JSON that is strict, files that are whole, folders that join."""

import json
import logging
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from gramian.experiments.store import Cell, Store, cells, plain
from toys import SPECS, Walk, toy


def record(cell, **more):
    answer = {"numbers": {"end": 1.0}, "arrays": {}, "error": None, "missing": False, "seconds": 1.0}
    return cell.head() | answer | {"finished": "2026-01-01T00:00:00+00:00", "versions": {}, "machine": {}} | more


def test_the_key_knows_what_decides_a_result():
    @dataclass(frozen=True)
    class Stroll(Walk):
        pass

    experiment = toy()
    keys = {
        Cell(experiment, Walk(5), 0).key,
        Cell(experiment, Walk(6), 0).key,
        Cell(experiment, Walk(5), 1).key,
        Cell(experiment, Walk(5, sizes=(2, 1)), 0).key,
        Cell(experiment, Walk(5, scale=math.nan), 0).key,
        Cell(experiment, Stroll(5), 0).key,
        Cell(replace(experiment, version=2), Walk(5), 0).key,
        Cell(replace(experiment, id="x/other"), Walk(5), 0).key,
    }
    assert len(keys) == 8
    same = Cell(replace(experiment, title="another", notes="", claims=()), Walk(5, scale=1.0), 0)
    assert same.key in keys


def test_cells_are_specs_times_seeds():
    experiment = toy(seeds=2)
    assert [(c.spec.steps, c.seed) for c in cells(experiment, "small")] == [(5, 0), (9, 0), (5, 1), (9, 1)]
    assert len(cells(experiment, "small", seeds=4)) == 8


def test_numbers_survive_strict_json(tmp_path):
    cell, store = Cell(toy(), Walk(5, scale=math.inf), 3), Store(tmp_path)
    numbers = {"nan": math.nan, "up": np.float64(math.inf), "down": -math.inf, "third": 1 / 3, "whole": np.int64(7)}
    arrays = {
        "A": np.array([[1 / 3, math.nan]]),
        "t": torch.tensor([2.0, 1e-9 / 3]),
        "names": ["a", "b"],
        "n": 123456789,
    }
    returned = store.put(record(cell, numbers=numbers, arrays=arrays))
    text = store.path(cell).read_text()

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(text, parse_constant=refuse)
    for found in (returned, store.get(cell)):
        assert math.isnan(found["numbers"].pop("nan"))
        assert found["numbers"] == {"up": math.inf, "down": -math.inf, "third": 1 / 3, "whole": 7.0}
        assert math.isnan(found["arrays"]["A"][0].pop())
        assert found["arrays"] == {"A": [[0.333333]], "t": [2.0, 3.33333e-10], "names": ["a", "b"], "n": 123456789}
        assert found["spec"]["scale"] == math.inf
    assert len(text.splitlines()) == len(returned) + 2  # a line for each entry


def test_what_is_no_data_is_refused():
    with pytest.raises(ValueError, match="set is none of them"):
        plain({"a": {1, 2}})


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    cell, store = Cell(toy(), Walk(5), 0), Store(tmp_path)
    store.put(record(cell))
    before = store.path(cell).read_text()
    with pytest.raises(ValueError, match="could not convert"):
        store.put(record(cell, numbers={"end": "one"}))
    with pytest.raises(ValueError, match="object is none of them"):
        store.put(record(cell, arrays={"end": object()}))
    assert store.path(cell).read_text() == before
    assert [path.name for path in store.path(cell).parent.iterdir()] == [store.path(cell).name]


def test_records_of_a_scale_are_those_of_its_specs_and_version(tmp_path):
    scales = {"smoke": SPECS[:1], "small": SPECS, "paper": (Walk(50),)}
    experiment, store = toy(specs=scales), Store(tmp_path)
    for spec, seed in ((Walk(9), 1), (Walk(5), 1), (Walk(5), 0), (Walk(7), 0)):
        store.put(record(Cell(experiment, spec, seed)))
    store.put(record(Cell(replace(experiment, version=2), Walk(5), 5)))
    store.put(record(Cell(replace(experiment, id="x/other"), Walk(5), 6)))
    found = {scale: [(r["spec"]["steps"], r["seed"]) for r in store.of(experiment, scale)] for scale in scales}
    assert found == {"smoke": [(5, 0), (5, 1)], "small": [(5, 0), (5, 1), (9, 1)], "paper": []}
    assert len(store.all()) == 6


def test_a_damaged_file_is_left_out_and_said(tmp_path, caplog):
    cell, store = Cell(toy(), Walk(5), 0), Store(tmp_path)
    store.put(record(cell))
    store.path(cell).write_text(store.path(cell).read_text()[:50])
    (store.path(cell).parent / "other.json").write_text("[1]")
    with caplog.at_level(logging.WARNING, logger="gramian"):
        assert store.all() == []
        assert store.get(cell) is None
    assert "other.json is not a record" in caplog.text


def test_folders_join_and_success_wins(tmp_path):
    experiment = toy()
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    here.put(record(Cell(experiment, Walk(1), 0), seconds=1.0))
    here.put(record(Cell(experiment, Walk(2), 0), error="bad luck"))
    there.put(record(Cell(experiment, Walk(1), 0), seconds=2.0))
    there.put(record(Cell(experiment, Walk(2), 0)))
    there.put(record(Cell(experiment, Walk(3), 0)))
    assert here.merge(there.folder) == 2
    assert here.merge(there.root) == 0
    assert {r["spec"]["steps"]: (r["seconds"], r["error"]) for r in here.all()} == {
        1: (1.0, None),
        2: (1.0, None),
        3: (1.0, None),
    }
    with pytest.raises(ValueError, match="holds no folder 'records'"):
        here.merge(tmp_path)
