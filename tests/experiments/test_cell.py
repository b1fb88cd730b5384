"""Cells of experiments: keys, order, and the work that a worker process does."""

import math
import pickle
from dataclasses import dataclass, replace

from gramian.experiments import papers
from gramian.experiments.cell import ExperimentCell, cells
from toy_experiments import Walk, toy, walk


def test_the_key_depends_on_everything_that_decides_the_result():
    @dataclass(frozen=True)
    class Stroll(Walk):
        pass

    experiment = toy()
    keys = {
        ExperimentCell(experiment, Walk(5), 0).key,
        ExperimentCell(experiment, Walk(6), 0).key,
        ExperimentCell(experiment, Walk(5), 1).key,
        ExperimentCell(experiment, Walk(5, sizes=(2, 1)), 0).key,
        ExperimentCell(experiment, Walk(5, scale=math.nan), 0).key,
        ExperimentCell(experiment, Stroll(5), 0).key,
        ExperimentCell(replace(experiment, version=2), Walk(5), 0).key,
        ExperimentCell(replace(experiment, id="x/other"), Walk(5), 0).key,
    }
    assert len(keys) == 8
    same = ExperimentCell(replace(experiment, title="another", notes=None, claims=()), Walk(5, scale=1.0), 0)
    assert same.key in keys


def test_cells_are_specs_times_seeds():
    experiment = toy(seeds=2)
    assert [(c.spec.steps, c.seed) for c in cells(experiment, "small")] == [(5, 0), (9, 0), (5, 1), (9, 1)]
    assert len(cells(experiment, "small", seeds=4)) == 8
    others = toy(seeds=2, seeds_of=lambda spec, count: range(count) if spec.steps == 5 else (0, 3))
    assert [(c.spec.steps, c.seed) for c in cells(others, "small")] == [(5, 0), (9, 0), (5, 1), (9, 3)]
    assert len(cells(others, "small", seeds=4)) == 8


def test_a_function_that_cannot_be_pickled_is_found_by_its_id(monkeypatch):
    monkeypatch.setattr(papers, "find", lambda id: toy(id))
    experiment = replace(toy(), run=lambda spec, seed: walk(spec, seed))
    task = pickle.loads(pickle.dumps(ExperimentCell(experiment, Walk(5), 0).task()))
    answer = task()
    assert answer["error"] is None
    assert set(answer["numbers"]) == {"end5", "steps", "lost", "endless"}


def test_missing_data_is_not_a_failure_of_the_worker():
    answer = ExperimentCell(toy(), Walk(5, how="missing"), 0).task()()
    assert answer["missing"]
    assert "GRAMIAN_DATA" in answer["error"]
