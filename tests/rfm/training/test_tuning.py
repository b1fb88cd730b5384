"""Ridge and bandwidth of a round: the smallest leave-one-out error given M, by brute force."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from gramian.core.rows import Rows
from gramian.kernels import Gaussian, Identity, KernelOperator, Laplace, Lp, Matern, as_metric
from gramian.rfm.training.tuning import (
    RIDGES,
    FixedParams,
    LeaveOneOutTuner,
    RecordingTuner,
    ReplayedParams,
    RoundParams,
    median_distance,
    with_median_bandwidth,
)
from gramian.solvers import Workspace
from small_training import make_rows


def tune(tuner, kernel, data, index=0, metric=None):
    metric = Identity(data.X.shape[1]) if metric is None else metric
    return tuner.tune(index, kernel, metric, data, Workspace())


def naive_loo(kernel, data, ridge):
    """The mean squared leave-one-out error, by the inverse of the whole matrix in float64."""
    weights = torch.ones(len(data), dtype=torch.float64) if data.weights is None else data.weights
    K = KernelOperator(kernel, data.X.double()).dense()
    inverse = torch.linalg.inv(K + ridge * torch.diag(1 / weights))
    errors = (inverse @ data.Y / inverse.diagonal()[:, None]).square().mean(dim=1)
    return float(errors @ weights / weights.sum())


class TestMedian:
    def test_it_is_the_median_distance_of_two_rows_under_the_metric(self):
        data = make_rows(40)
        M = torch.diag(torch.tensor([4.0, 1.0, 0.0], dtype=torch.float64))
        apart = torch.pdist(data.X * torch.tensor([2.0, 1.0, 0.0], dtype=torch.float64))
        found = median_distance(Laplace(), as_metric(M), data.X, seed=0)
        assert found == pytest.approx(float(apart.median()), rel=1e-9)

    def test_rows_that_all_coincide_have_the_distance_1(self):
        assert median_distance(Laplace(), Identity(2), torch.ones(5, 2), seed=0) == 1.0

    def test_only_a_kernel_that_asks_for_it_gets_the_median(self):
        data = make_rows(40)
        median = median_distance(Laplace(), Identity(3), data.X, seed=0)
        fitted = with_median_bandwidth(Laplace("median", bandwidth_scale=2.0), Identity(3), data.X, 0)
        assert fitted.length == pytest.approx(2 * median)
        assert with_median_bandwidth(Laplace(3.0), Identity(3), data.X, 0) == Laplace(3.0)


class TestGivenNumbers:
    def test_the_ridge_is_the_one_that_was_given(self):
        data = make_rows(30)
        params = tune(FixedParams(0.3), Laplace(2.0), data)
        assert (params.ridge, params.kernel.length) == (0.3, 2.0)
        assert np.isnan(params.loo)

    def test_a_ridge_per_row_is_multiplied_by_the_total_weight(self):
        data = make_rows(30, weighted=True)
        assert tune(FixedParams(0.1, per_row=True), Laplace(2.0), data).ridge == pytest.approx(
            0.1 * float(data.weights.sum())
        )
        assert tune(LeaveOneOutTuner(0.1, per_row=True), Laplace(), data).ridge == pytest.approx(
            0.1 * float(data.weights.sum())
        )


class TestReplayedParams:
    def test_scale_and_ridge_are_repeated_and_the_median_is_computed_again(self):
        data, other = make_rows(50), make_rows(50, seed=1)
        first = tune(LeaveOneOutTuner(None), Gaussian(), data)
        again = tune(ReplayedParams((first,), growth=2.0), Gaussian(), other)
        assert again.ridge == 2 * first.ridge
        assert again.bandwidth_scale == first.bandwidth_scale
        median = median_distance(Gaussian(), Identity(3), other.X, seed=0)
        assert again.kernel.length == pytest.approx(first.bandwidth_scale * median)

    def test_each_round_has_its_own_parameters(self):
        path = tuple(RoundParams(Laplace(1.0), ridge, bandwidth_scale=2.0) for ridge in (0.1, 0.2))
        tuner = ReplayedParams(path)
        assert [tune(tuner, Laplace(1.0), make_rows(20), index).ridge for index in (0, 1)] == [0.1, 0.2]


class TestLeaveOneOut:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kernel", [Laplace("median"), Gaussian(2.0), Lp(2.0)], ids=str)
    def test_the_ridge_has_the_smallest_error_of_the_grid(self, kernel, weighted):
        data = make_rows(60, weighted=weighted, noise=0.3)
        params = tune(LeaveOneOutTuner(None), kernel, data)
        unit = 1.0 if data.weights is None else data.total_weight / len(data)
        errors = {unit * ridge: naive_loo(params.kernel, data, unit * ridge) for ridge in RIDGES}
        assert params.ridge == pytest.approx(min(errors, key=errors.get))
        assert params.loo == pytest.approx(min(errors.values()), rel=1e-6)
        assert RIDGES[params.ridge_index] * unit == pytest.approx(params.ridge)

    def test_the_bandwidth_is_no_worse_than_its_neighbours(self):
        data = make_rows(80, noise=0.1)
        params = tune(LeaveOneOutTuner(1e-2), Gaussian(), data)
        for factor in (2**-0.5, 2**0.5):
            assert naive_loo(params.kernel.times(factor), data, 1e-2) >= params.loo * (1 - 1e-9)

    def test_the_search_finds_more_than_the_nearest_valley(self):
        """The leave-one-out error of a wavy target also falls towards flat kernels, where it ends at the mean."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 3))
        y = np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=300)
        data = Rows(torch.from_numpy(X), torch.from_numpy((y - y.mean()) / y.std())[:, None])
        params = tune(LeaveOneOutTuner(1e-3), Gaussian(), data)
        assert params.loo < 0.7
        assert params.loo == pytest.approx(naive_loo(params.kernel, data, 1e-3), rel=1e-4)

    def test_a_cautious_tuner_takes_the_simplest_setting_within_one_standard_error(self):
        data = make_rows(60, noise=1.0)
        codes = Rows(data.X, data.Y.sign())
        best, careful = (tune(LeaveOneOutTuner(None, cautious=c), Laplace(), codes) for c in (False, True))
        assert careful.loo >= best.loo

        def steps(params):
            return abs(np.log2(params.bandwidth_scale)) + abs(np.log10(params.ridge / 0.3))

        assert steps(careful) <= steps(best)

    def test_later_rounds_search_around_the_optimum_and_then_repeat_it(self):
        data = make_rows(60)
        tuner = LeaveOneOutTuner(None)
        found = [tune(tuner, Laplace(), data, index) for index in range(5)]
        assert all(params.loo > 0 for params in found[:3])
        assert all(np.isnan(params.loo) for params in found[3:])
        assert {params.bandwidth_scale for params in found[2:]} == {found[2].bandwidth_scale}
        assert {params.ridge for params in found[2:]} == {found[2].ridge}

    def test_a_resumed_tuner_goes_on_as_if_it_had_never_stopped(self):
        data = make_rows(260, noise=0.2)  # more rows than one eigendecomposition is used for
        whole, resumed = LeaveOneOutTuner(None), LeaveOneOutTuner(None)
        first = tune(whole, Laplace(), data, 0)
        resumed.resume(first)
        assert tune(resumed, Laplace(), data, 1) == tune(whole, Laplace(), data, 1)

    def test_many_rows_are_tuned_on_a_random_part_of_them(self):
        data = make_rows(90, noise=0.3)
        params = tune(LeaveOneOutTuner(None, seed=3, rows=60), Laplace(2.0), data)
        part = torch.randperm(90, generator=torch.Generator().manual_seed(4))[:60]
        assert params.loo == pytest.approx(naive_loo(Laplace(2.0), data[part], params.ridge), rel=1e-9)
        assert params.loo != pytest.approx(naive_loo(Laplace(2.0), data[torch.arange(60)], params.ridge), rel=1e-3)

    @pytest.mark.parametrize("weight", [1e-12, 1e6])
    def test_the_grid_moves_with_the_common_size_of_all_weights(self, weight):
        data = make_rows(50, noise=0.2)
        weights = torch.full((50,), weight, dtype=torch.float64)
        plain, scaled = (
            tune(LeaveOneOutTuner(None), Laplace(), rows) for rows in (data, Rows(data.X, data.Y, weights))
        )
        assert scaled.ridge == pytest.approx(weight * plain.ridge)
        assert scaled.loo == pytest.approx(plain.loo, rel=1e-6)

    def test_a_ridge_that_float32_cannot_solve_is_evaluated_in_float64(self):
        """A smooth noiseless target wants the smallest ridge, for which float32 has no factor."""
        X = np.random.default_rng(0).normal(size=(300, 4))
        y = np.sin(X[:, 0])
        data = Rows(torch.from_numpy(X).float(), torch.from_numpy((y - y.mean()) / y.std())[:, None])
        params = tune(LeaveOneOutTuner(None), Matern(), data)
        assert params.ridge <= 1e-4
        assert np.isfinite(params.loo)


def test_a_recorder_passes_parameters_on_and_resumes_its_tuner():
    data = make_rows(60)
    alone = LeaveOneOutTuner(None)
    expected = [tune(alone, Laplace(), data, index) for index in range(3)]
    recorder = RecordingTuner(LeaveOneOutTuner(None), expected[:1])
    assert [tune(recorder, Laplace(), data, index) for index in (1, 2)] == expected[1:]
    assert recorder.path == expected


def test_the_ridges_of_the_grid_rise():
    assert all(a < b for a, b in pairwise(RIDGES))
