"""The ℓp kernel of normal scores equals the plain one on scores that are computed beforehand."""

import numpy as np
import pytest
import torch
from scipy.special import ndtri
from scipy.stats import rankdata

from gramian.kernels import ColumnScores, Diagonal, KernelOperator, Lp, ScoredLp, fact_sum, gradient_moments

N, D = 40, 3


@pytest.fixture
def rows(rng):
    """Rows with one long-tailed column, one of a few values, and one that is nearly normal."""
    Z = torch.randn(N, D, generator=rng, dtype=torch.float64)
    Z[:, 0] = (3 * Z[:, 0]).exp()
    Z[:, 1] = Z[:, 1].sign()
    return Z


@pytest.fixture
def fitted(rows):
    return ScoredLp(1.3).fitted_to(rows)


@pytest.fixture
def pair(rows, fitted, rng):
    """The operator of the kernel, and the plain one on its coordinates."""
    metric = Diagonal(torch.rand(D, generator=rng, dtype=torch.float64) + 0.1)
    return KernelOperator(fitted, rows, metric), KernelOperator(Lp(1.3), fitted.scores(rows), metric)


@pytest.fixture
def coef(rng):
    return torch.randn(N, 2, generator=rng, dtype=torch.float64)


def test_scores_are_those_of_middle_ranks(rows):
    scores = ColumnScores.fit(rows)
    assert scores.columns.tolist() == [0, 2]  # the column of two values is left as it is
    out = scores(rows)
    assert torch.equal(out[:, 1], rows[:, 1])
    for j in (0, 2):
        expected = ndtri((rankdata(rows[:, j].numpy()) - 0.5) / N)
        np.testing.assert_allclose(out[:, j].numpy(), expected, atol=1e-12)


def test_scores_between_and_beyond_the_training_rows(rows):
    scores = ColumnScores.fit(rows)
    new = rows[:4].clone()
    new[:, 0] = torch.tensor([-1e9, 0.0, 1e9, float(rows[:, 0].sort().values[3:5].mean())])
    out, known = scores(new)[:, 0], scores(rows)[:, 0].sort().values
    assert torch.equal(out[:3], known[[0, 0, -1]])
    torch.testing.assert_close(out[3], known[3:5].mean())
    assert torch.equal(scores.slopes(new)[:3, 0], torch.zeros(3, dtype=torch.float64))


def test_a_row_of_weight_two_is_two_rows(rows):
    weights = torch.ones(N, dtype=torch.float64)
    weights[:7] = 2
    weights[7] = 0
    twice = torch.cat([rows[:7], rows[:7], rows[8:]])
    torch.testing.assert_close(ColumnScores.fit(rows, weights)(rows), ColumnScores.fit(twice)(rows))


def test_many_values_keep_their_scores_to_a_percent(rng):
    X = (2 * torch.randn(5000, 1, generator=rng, dtype=torch.float64)).exp()
    expected = ndtri((rankdata(X[:, 0].numpy()) - 0.5) / len(X))
    scores = ColumnScores.fit(X)
    assert scores.knots.shape[1] <= 256
    assert np.abs(scores(X)[:, 0].numpy() - expected).max() < 0.05


def test_float32_rows_whose_knots_coincide_have_finite_scores():
    X = 1 + torch.arange(30, dtype=torch.float64)[:, None] * 1e-9
    scores = ColumnScores.fit(X)
    assert torch.isfinite(scores(X.float())).all()
    assert torch.isfinite(scores.slopes(X.float())).all()


def test_values_are_those_of_the_plain_kernel_on_scores(pair, rows, fitted, coef):
    scored, plain = pair
    torch.testing.assert_close(scored.dense(), plain.dense())
    torch.testing.assert_close(scored.predict(rows[:5], coef), plain.predict(fitted.scores(rows[:5]), coef))


def test_moments_for_updates_are_in_the_coordinates_of_the_metric(pair, coef):
    scored, plain = (gradient_moments(operator, coef) for operator in pair)
    torch.testing.assert_close(scored.second, plain.second)
    torch.testing.assert_close(fact_sum(pair[0], coef), fact_sum(pair[1], coef))


@pytest.mark.parametrize("batch_invariant", [True, False])
def test_gradients_are_in_input_coordinates(pair, rows, coef, batch_invariant):
    operator = pair[0]
    X = (rows[:6] + rows[6:12]) / 2
    G = operator.gradient(X, coef, batch_invariant=batch_invariant)
    for j in (0, 2):
        step = torch.zeros(D, dtype=torch.float64)
        step[j] = 1e-6 * float(X[:, j].abs().min())
        naive = (operator.predict(X + step, coef) - operator.predict(X - step, coef)) / (2 * step[j])
        torch.testing.assert_close(G[:, :, j], naive, rtol=1e-4, atol=1e-4 * float(naive.abs().max()))


def test_mean_gradients_add_up_to_the_difference_of_values(pair, rows, coef):
    operator, ends = pair[0], rows[:2].clone()
    ends[1, 2] = ends[0, 2]  # an entry that does not change
    mean = operator.mean_gradient(ends, coef, 256)
    values = operator.predict(ends, coef)
    torch.testing.assert_close(mean @ (ends[1] - ends[0]), values[1] - values[0], rtol=1e-6, atol=1e-8)


def test_monotone_changes_of_a_column_change_nothing(rows):
    moved = rows.clone()
    moved[:, 0] = moved[:, 0].log()
    torch.testing.assert_close(ScoredLp(1.0).fitted_to(rows)(rows), ScoredLp(1.0).fitted_to(moved)(moved))


def test_long_tails_are_found(rows):
    assert ColumnScores.fit(rows).has_long_tails
    assert not ColumnScores.fit(rows[:, 1:]).has_long_tails
    assert not ColumnScores.fit(rows[:, 1:2]).has_long_tails  # no column has scores
    assert torch.equal(ColumnScores.fit(rows[:, 1:2])(rows[:, 1:2]), rows[:, 1:2])


def test_a_kernel_without_scores_says_what_to_do(rows):
    with pytest.raises(ValueError, match=r"fitted_to\(X\), or fit an estimator"):
        ScoredLp(1.0)(rows)


def test_slopes_at_training_values_are_the_mean_of_both_sides(rows):
    scores = ColumnScores.fit(rows)
    slopes = scores.slopes(rows)
    assert bool((slopes[:, [0, 2]] > 0).all())
    order = rows[:, 0].argsort()
    x, s = rows[order, 0], scores(rows)[order, 0]
    sides = s.diff() / x.diff()
    torch.testing.assert_close(slopes[order, 0][1:-1], (sides[1:] + sides[:-1]) / 2)
    torch.testing.assert_close(slopes[order, 0][[0, -1]], sides[[0, -1]])  # at the ends there is one side


def test_scores_of_some_columns_are_renumbered(rows, fitted):
    support = torch.tensor([False, True, True])
    few = fitted.at_columns(support)
    torch.testing.assert_close(few.coordinates(rows[:, support]), fitted.coordinates(rows)[:, support])


def test_gradients_by_the_metric_are_those_of_the_plain_kernel(pair, rows, fitted, coef):
    scored, plain = pair
    G = scored.gradient(rows[:4], coef, by_input=False)
    torch.testing.assert_close(G, plain.gradient(fitted.scores(rows[:4]), coef))


def test_scores_of_another_number_of_columns_are_refused():
    X = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    kernel = ScoredLp(1.0).fitted_to(X)
    for other in (X[:, :2], torch.cat([X, X], dim=1)):
        with pytest.raises(ValueError, match=f"scores of 3 columns and X has {other.shape[1]}"):
            kernel(other)
    kept = torch.tensor([True, False, True])
    assert torch.equal(kernel.at_columns(kept).coordinates(X[:, kept]), kernel.coordinates(X)[:, kept])
