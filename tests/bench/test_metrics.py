"""Paper B's metrics (appendix E), by hand and by law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian.bench import metrics

NAN = np.nan
X = np.array([[0.90, 0.80, 0.85], [0.60, 0.60, 0.30], [0.50, 1.00, 0.95]])


def test_average_by_hand():
    assert_allclose(metrics.average(X), [2.0 / 3, 0.8, 0.7])


def test_friedman_rank_by_hand():
    # ranks: 1 3 2 | 1.5 1.5 3 | 3 1 2
    assert_allclose(metrics.friedman_rank(X), [5.5 / 3, 5.5 / 3, 7.0 / 3])


def test_pma_by_hand():
    assert_allclose(metrics.pma(X)[0], 100 * (1 + 1 + 0.5) / 3)
    assert_allclose(metrics.pma(X)[1], 100 * (0.8 / 0.9 + 1 + 1) / 3)
    shares = np.array([1, 1, 0.5])
    assert_allclose(metrics.pma_spread(X)[0], 100 * shares.std())


def test_within_by_hand():
    # shares of the best: 1 .889 .944 | 1 1 .5 | .5 1 .95
    assert_allclose(metrics.within(X, 90), np.array([2, 2, 2]) * 100 / 3)
    assert_allclose(metrics.within(X, 95), np.array([2, 2, 1]) * 100 / 3)


def test_within_counts_the_boundary():
    assert metrics.within(np.array([[1.0, 0.9, 0.9 - 1e-9]]), 90).tolist() == [100.0, 100.0, 0.0]


def test_adtm_by_hand():
    # (x − min)/(max − min): 1 0 .5 | 1 1 0 | 0 1 .9
    assert_allclose(metrics.adtm(X), [2 / 3, 2 / 3, 1.4 / 3])


def test_wins_count_ties_for_all():
    assert metrics.wins(X).tolist() == [2.0, 2.0, 0.0]


def test_normalized_r2_clips_what_has_no_lower_end():
    x = np.array([[0.9, 0.8, -1e6], [0.5, 0.5, 0.25]])
    assert_allclose(metrics.normalized_r2(x), [(1 + 1) / 2, (8 / 9 + 1) / 2, 0.0])
    assert metrics.adtm(x)[1] > 0.99  # without the clip the second method looks as good as the first


def test_missing_scores_are_dropped_from_averages_and_imputed_for_ranks():
    x = np.array([[0.9, 0.5, NAN], [0.8, 0.6, 0.4]])
    assert_allclose(metrics.average(x), [0.85, 0.55, 0.4])
    # the missing one counts as the mean 0.7 of its row: rank 2
    assert_allclose(metrics.friedman_rank(x), [1.0, 2.5, 2.5])
    assert_allclose(metrics.pma(x)[2], 50.0)
    assert_allclose(metrics.within(x, 50)[2], 100.0)
    assert_allclose(metrics.adtm(x), [1.0, 0.25, 0.0])


def test_round_off_makes_no_winner():
    x = np.array([[0.1 + 0.2, 0.3]])
    assert metrics.friedman_rank(x).tolist() == [1.5, 1.5]
    assert metrics.wins(x).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(3))
def test_laws(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.2, 1, size=(30, 5))
    m = x.shape[1]
    assert_allclose(metrics.friedman_rank(x).mean(), (m + 1) / 2)
    assert metrics.wins(x).sum() == 30
    assert (metrics.within(x, 95) <= metrics.within(x, 90)).all()
    assert_allclose(metrics.adtm(3 * x - 1), metrics.adtm(x))
    order = rng.permutation(m)
    for metric in (metrics.average, metrics.friedman_rank, metrics.pma, metrics.adtm, metrics.wins):
        assert_allclose(metric(x[:, order]), metric(x)[order])
        assert_allclose(metric(x[rng.permutation(30)]), metric(x))


def test_a_dominant_method_has_the_ends_of_every_scale():
    x = np.column_stack([np.linspace(0.5, 0.9, 7), np.linspace(0.4, 0.8, 7)])
    assert_array_equal(metrics.friedman_rank(x), [1, 2])
    assert_array_equal(metrics.adtm(x), [1, 0])
    assert metrics.pma(x)[0] == 100


def test_sets_where_all_tie_do_not_count_in_adtm():
    assert metrics.adtm(np.array([[0.5, 0.5], [0.2, 0.4]])).tolist() == [0.0, 1.0]


def test_a_set_without_scores_is_refused():
    with pytest.raises(ValueError, match="every set needs the score"):
        metrics.friedman_rank(np.array([[NAN, NAN]]))
