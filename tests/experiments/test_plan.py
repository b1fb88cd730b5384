"""The plan: missing cells, hours from records of the same spec or from estimates, cheapest first."""

from gramian.experiments.cell import ExperimentCell
from gramian.experiments.plan import plan
from gramian.experiments.store import ExperimentStore
from toy_experiments import SPECS, Walk, toy


def put(store, experiment, spec, seed, seconds, error=None):
    rest = {"numbers": {}, "arrays": {}, "error": error, "missing": False, "seconds": seconds}
    store.put(ExperimentCell(experiment, spec, seed).head() | rest)


def test_recorded_times_come_first_then_estimates_then_nothing(tmp_path):
    store = ExperimentStore(tmp_path)
    ran = toy("x/ran", seeds=3)
    for spec in SPECS:
        put(store, ran, spec, 0, 36.0)
    put(store, ran, SPECS[0], 1, 72.0)
    put(store, ran, SPECS[1], 1, 1.0, error="bad luck")
    estimated = toy("x/estimated", (Walk(4),), cost=lambda spec: 90.0 * spec.steps)
    unknown, done = toy("x/unknown"), toy("x/done", (Walk(2),), seeds=1)
    put(store, done, Walk(2), 0, 5.0)
    work = plan([unknown, estimated, ran, done], store, ["small"])
    assert [(w.experiment, w.missing, w.all, w.source) for w in work] == [
        ("x/ran", 3, 6, "recorded"),
        ("x/estimated", 2, 2, "estimated"),
        ("x/unknown", 4, 4, "unknown"),
    ]
    assert work[0].hours == (54.0 + 2 * 36.0) / 3600
    assert work[1].hours == 2 * 360 / 3600
    assert work[2].hours is None
    assert [w.scale for w in plan([unknown], store, ["small", "paper"])] == ["paper", "small"]


def test_hours_are_guessed_from_another_scale_and_come_after_known_ones(tmp_path):
    store = ExperimentStore(tmp_path)
    scales = {"smoke": (Walk(2),), "small": (Walk(3),), "paper": (Walk(4), Walk(5))}
    experiment = toy("x/guessed", scales, seeds=1)
    put(store, experiment, Walk(2), 0, 7.2)
    put(store, experiment, Walk(3), 0, 72.0, error="bad luck")
    by_scale = {w.scale: (w.hours, w.source) for w in plan([experiment], store, ["small", "paper"])}
    assert by_scale == {"small": (7.2 / 3600, "guessed"), "paper": (2 * 7.2 / 3600, "guessed")}
    long, unknown = toy("x/long", (Walk(4),), cost=lambda spec: 1e6), toy("x/unknown")
    order = [w.experiment for w in plan([unknown, experiment, long], store, ["small"])]
    assert order == ["x/long", "x/guessed", "x/unknown"]
    put(store, experiment, Walk(4), 0, 36.0)
    (tmp_path / "records/x/guessed" / f"{ExperimentCell(experiment, Walk(2), 0).key}.json").unlink()
    (work,) = plan([experiment], ExperimentStore(tmp_path), ["small"])
    assert (work.hours, work.source) == (36.0 / 3600, "guessed")
    estimated = toy("x/guessed", scales, seeds=1, cost=lambda spec: 3600.0)
    assert plan([estimated], store, ["small"])[0].source == "estimated"
