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


def test_ties_count_one_half_and_missing_values_not_at_all():
    assert fig5.share_ahead(np.array([[1.0, 0.0], [np.nan, -1.0]])) == pytest.approx(0.5)
    assert fig5.share_ahead(np.zeros(4)) == 0.5


def test_comparisons_with_trees_and_networks_are_loops_over_pairs():
    numbers = fig5.arithmetic_numbers(fig5.TableAverages())
    found, points, pairs, best = table(4), 0.0, 0, []
    for row, ours in zip(found.scores, found.of("RFM"), strict=True):
        trees = [row[found.methods.index(m)] - ours for m in fig5.TREES if not np.isnan(row[found.methods.index(m)])]
        points += sum(1.0 if x > 0 else 0.5 if x == 0 else 0.0 for x in trees)
        pairs += len(trees)
        best.append(max(trees))
    assert numbers["trees/table 4"] == pytest.approx(points / pairs)
    assert numbers["trees/table 4/best"] == pytest.approx(np.mean(best))
    rfm = table(3).of("RFM") / table(3).scores.max(1)
    assert numbers["classification/RFM/pma/spread"] == pytest.approx(rfm.std())


def test_the_printed_formula_does_not_reach_one():
    assert printed_adtm(np.array([[0.9, 0.6]])).tolist() == pytest.approx([1 / 3, 0])
