"""The estimate of the remaining time."""

from gramian.core.clock import Clock
from gramian.experiments.cell import ExperimentCell
from gramian.records import RemainingTime
from gramian.records import remaining as module
from small_training import FakeTime
from toy_experiments import Walk, toy


def test_the_estimate_uses_the_most_similar_finished_cells(monkeypatch):
    time = FakeTime()
    monkeypatch.setattr(module, "Clock", lambda: Clock(now=time))
    experiment, other = toy(seeds=2), toy("x/other")
    waiting = [
        ExperimentCell(experiment, Walk(5), 0),
        ExperimentCell(experiment, Walk(9), 0),
        ExperimentCell(other, Walk(5), 0),
    ]
    remaining = RemainingTime(waiting, [], jobs=1)
    assert remaining.seconds() is None

    def done(seconds):
        return {"seconds": seconds, "error": None}

    before = [(ExperimentCell(experiment, Walk(5), 1), done(100.0))]
    remaining = RemainingTime(waiting, before, jobs=1)
    assert remaining.seconds() == 300  # nothing else is known
    time.now += 20
    assert remaining.seconds() == 280  # the work since then
    remaining.tick(waiting[1], done(40.0))
    assert remaining.seconds() == 100 + 70  # the same spec, and the mean of all
    assert RemainingTime(waiting, before, jobs=2).seconds() == 150
    for cell in (waiting[0], waiting[2]):
        remaining.tick(cell, done(1.0))
    assert remaining.seconds() == 0


def test_failures_are_not_used_for_the_estimate():
    cell = ExperimentCell(toy(), Walk(5), 0)
    failed = [(ExperimentCell(toy(), Walk(5), 1), {"seconds": 1.0, "error": "bad luck"})]
    assert RemainingTime([cell], failed, jobs=1).seconds() is None
