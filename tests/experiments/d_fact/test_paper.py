"""The experiments of paper D: none is missing, and no two cells have the same key."""

import gramian.experiments.d_fact  # noqa: F401
from gramian.experiments.cell import ExperimentCell
from gramian.experiments.registry import experiments

PAPER_D = [e for e in experiments() if e.paper == "D"]


def test_every_figure_table_and_lemma_has_an_experiment():
    ids = {e.id for e in PAPER_D}
    assert ids >= {f"d/fig{i}" for i in (1, 3, 4, 5, 6, 7, 8, 11)} | {"d/table2", "d/table3", "d/lemma-d2"}
    titles = " ".join(e.title for e in PAPER_D)
    assert all(name in titles for name in ("Tables 1 and 2", "Fig. 3 and 9", "Fig. 8 and 10"))


def test_different_specs_have_different_keys():
    keys = [
        ExperimentCell(e, spec, 0).key
        for e in PAPER_D
        for spec in dict.fromkeys(s for g in e.specs.values() for s in g)
    ]
    assert len(keys) == len(set(keys))
