"""Figures of experiments: their style does not leak, and figures with many points become PNG files."""

import matplotlib as mpl

from gramian.experiments import figures
from gramian.experiments.cell import ExperimentCell
from gramian.experiments.store import ExperimentStore
from toy_experiments import draw, toy, walk


def test_the_style_does_not_leak_and_many_points_become_a_png(tmp_path):
    before = dict(mpl.rcParams)
    seen = []

    def crowd(records, figure):
        seen.append(mpl.rcParams["axes.spines.top"])
        draw(records, figure)
        figure.axes[0].scatter(range(20_000), [(7 * i) % 1000 for i in range(20_000)])

    store = ExperimentStore(tmp_path)
    experiment = toy(draw=crowd)
    for spec in experiment.specs["small"]:
        result = walk(spec, 0)
        rest = {"numbers": result.numbers, "arrays": result.arrays, "error": None, "seconds": 1.0}
        store.put(ExperimentCell(experiment, spec, 0).head() | rest)
    records = store.of(experiment, "small")
    path = figures.write(experiment, records, tmp_path / "big")
    assert path.suffix == ".png"
    assert path.stat().st_size < 500_000
    assert seen == [False]
    assert dict(mpl.rcParams) == before
    small = figures.write(toy(), records, tmp_path / "big")
    assert [entry.name for entry in tmp_path.glob("big*")] == [small.name] == ["big.svg"]
    assert figures.draw(toy(draw=None), records) is None
