"""The store of experiments: strict JSON, whole files, folders that can be merged."""

import json
import logging
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian.experiments.cell import ExperimentCell
from gramian.experiments.store import ExperimentStore
from toy_experiments import SPECS, Walk, toy


def record(cell, **more):
    answer = {"numbers": {"end": 1.0}, "arrays": {}, "error": None, "missing": False, "seconds": 1.0}
    return cell.head() | answer | {"finished": "2026-01-01T00:00:00+00:00", "versions": {}, "machine": {}} | more


def test_numbers_survive_strict_json(tmp_path):
    cell, store = ExperimentCell(toy(), Walk(5, scale=math.inf), 3), ExperimentStore(tmp_path)
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


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    cell, store = ExperimentCell(toy(), Walk(5), 0), ExperimentStore(tmp_path)
    store.put(record(cell))
    before = store.path(cell).read_text()
    with pytest.raises(ValueError, match="could not convert"):
        store.put(record(cell, numbers={"end": "one"}))
    with pytest.raises(ValueError, match="got a value of type object"):
        store.put(record(cell, arrays={"end": object()}))
    assert store.path(cell).read_text() == before
    assert [path.name for path in store.path(cell).parent.iterdir()] == [store.path(cell).name]


def test_records_of_a_scale_are_those_of_its_specs_and_version(tmp_path):
    scales = {"smoke": SPECS[:1], "small": SPECS, "paper": (Walk(50),)}
    experiment, store = toy(specs=scales), ExperimentStore(tmp_path)
    for spec, seed in ((Walk(9), 1), (Walk(5), 1), (Walk(5), 0), (Walk(7), 0)):
        store.put(record(ExperimentCell(experiment, spec, seed)))
    store.put(record(ExperimentCell(replace(experiment, version=2), Walk(5), 5)))
    store.put(record(ExperimentCell(replace(experiment, id="x/other"), Walk(5), 6)))
    found = {scale: [(r["spec"]["steps"], r["seed"]) for r in store.of(experiment, scale)] for scale in scales}
    assert found == {"smoke": [(5, 0), (5, 1)], "small": [(5, 0), (5, 1), (9, 1)], "paper": []}
    assert len(store.all()) == 6


def test_a_damaged_file_is_skipped_with_a_warning(tmp_path, caplog):
    cell, store = ExperimentCell(toy(), Walk(5), 0), ExperimentStore(tmp_path)
    store.put(record(cell))
    store.path(cell).write_text(store.path(cell).read_text()[:50])
    (store.path(cell).parent / "other.json").write_text("[1]")
    with caplog.at_level(logging.WARNING, logger="gramian"):
        assert store.all() == []
        assert store.get(cell) is None
    assert "other.json is not a record" in caplog.text


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": None},
        {"numbers": None},
        {"numbers": {"end": "abc"}},
        {"numbers": {"end": None}},
        {"seconds": None},
        {"arrays": []},
        {"error": 1},
    ],
)
def test_a_record_with_a_field_of_another_type_is_skipped(tmp_path, caplog, wrong):
    cell, store = ExperimentCell(toy(), Walk(5), 0), ExperimentStore(tmp_path)
    store.put(record(cell))
    text = json.loads(store.path(cell).read_text())
    for damaged in (text | wrong, {name: value for name, value in text.items() if name not in wrong}):
        store.path(cell).write_text(json.dumps(damaged))
        with caplog.at_level(logging.WARNING, logger="gramian"):
            assert store.all() == []
    assert caplog.text.count("is not a record") == 2


def test_a_merged_record_is_never_written_outside_the_folder(tmp_path, caplog):
    cell = ExperimentCell(toy(), Walk(1), 0)
    here, there = ExperimentStore(tmp_path / "deep" / "here"), ExperimentStore(tmp_path / "there")
    there.put(record(cell))
    path = there.path(cell)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"experiment": "../../outside"}))
    with caplog.at_level(logging.WARNING, logger="gramian"):
        assert here.merge(there.folder) == 0
    assert "is not a record" in caplog.text
    assert not list(tmp_path.rglob("outside"))


def test_merged_folders_prefer_finished_records(tmp_path):
    experiment = toy()
    here, there = ExperimentStore(tmp_path / "here"), ExperimentStore(tmp_path / "there")
    here.put(record(ExperimentCell(experiment, Walk(1), 0), seconds=1.0))
    here.put(record(ExperimentCell(experiment, Walk(2), 0), error="bad luck"))
    there.put(record(ExperimentCell(experiment, Walk(1), 0), seconds=2.0))
    there.put(record(ExperimentCell(experiment, Walk(2), 0)))
    there.put(record(ExperimentCell(experiment, Walk(3), 0)))
    assert here.merge(there.folder) == 2
    assert here.merge(there.root) == 0
    assert {r["spec"]["steps"]: (r["seconds"], r["error"]) for r in here.all()} == {
        1: (1.0, None),
        2: (1.0, None),
        3: (1.0, None),
    }
    with pytest.raises(ValueError, match="holds no folder 'records'"):
        here.merge(tmp_path)
