"""The paper's own tables and the averages over them."""

import numpy as np
import pytest

from gramian.experiments.b_rfm import fig5
from gramian.experiments.b_rfm.metrics import naive, printed_adtm
from gramian.experiments.b_rfm.printed_tables import table


@pytest.mark.parametrize(("which", "shape"), [(2, (23, 7)), (3, (19, 8)), (4, (18, 7)), (5, (10, 8))])
def test_tables_have_their_rows_and_scores_of_the_right_size(which, shape):
    found = table(which)
    assert found.scores.shape == shape == (len(found.rows), len(found.methods))
    assert np.nanmax(found.scores) <= (1.0 if which in (2, 4) else 100.0)
    assert "RFM" in found.methods


def test_averages_equal_loops_over_a_complete_table_without_ties():
    found, loops = fig5.averages(3), naive(table(3).scores)
    for j, method in enumerate(table(3).methods):
        assert found[method]["pma"] == pytest.approx(loops["pma"][j] / 100)
        assert found[method]["adtm"] == pytest.approx(loops["adtm"][j])


def test_the_printed_formula_does_not_reach_one():
    assert printed_adtm(np.array([[0.9, 0.6]])).tolist() == pytest.approx([1 / 3, 0])
