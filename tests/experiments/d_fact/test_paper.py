"""All experiments of paper D at the scale smoke: they need no data, run and draw."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import gramian.experiments.d_fact  # noqa: F401
from gramian.experiments.cell import ExperimentCell
from gramian.experiments.registry import experiments

PAPER_D = [e for e in experiments() if e.paper == "D"]


@pytest.fixture(scope="module")
def smoke():
    """Results of every experiment at the scale smoke, without a data folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAMIAN_DATA", "nowhere")
        return {e.id: [(spec, e.run(spec, 0)) for spec in e.specs["smoke"]] for e in PAPER_D}


def test_every_figure_table_and_lemma_has_an_experiment():
    ids = {e.id for e in PAPER_D}
    assert ids >= {f"d/fig{i}" for i in (1, 3, 4, 5, 6, 7, 8, 11)} | {"d/table2", "d/table3", "d/lemma-d2"}
    titles = " ".join(e.title for e in PAPER_D)
    assert all(name in titles for name in ("Tables 1 and 2", "Fig. 3 and 9", "Fig. 8 and 10"))


def test_smoke_needs_no_data_and_draws(smoke):
    for e in PAPER_D:
        results = smoke[e.id]
        assert all(np.isfinite(list(result.numbers.values())).all() for _, result in results), e.id
        if e.draw is not None:
            records = [
                ExperimentCell(e, spec, 0).head() | {"numbers": dict(result.numbers), "arrays": dict(result.arrays)}
                for spec, result in results
            ]
            figure = Figure(layout="constrained")
            e.draw(records, figure)
            assert figure.axes, e.id


def test_different_specs_have_different_keys():
    keys = [
        ExperimentCell(e, spec, 0).key
        for e in PAPER_D
        for spec in dict.fromkeys(s for g in e.specs.values() for s in g)
    ]
    assert len(keys) == len(set(keys))
