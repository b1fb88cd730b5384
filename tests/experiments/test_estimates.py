"""Means over seeds with Student intervals."""

import math

import numpy as np
import pytest
from scipy import stats

from gramian.experiments.estimates import Estimate, comparable_records, estimates
from toy_experiments import toy


def test_the_interval_is_students():
    x = np.random.default_rng(0).normal(size=7)
    ours = Estimate.of(x)
    low, high = stats.t.interval(0.95, 6, loc=x.mean(), scale=stats.sem(x))
    np.testing.assert_allclose([ours.mean - ours.half, ours.mean + ours.half], [low, high])


@pytest.mark.parametrize("values", [[0.3], [math.nan, 1.0], [math.inf, 1.0]])
def test_no_interval_without_two_finite_seeds(values):
    assert Estimate.of(values).half is None


def test_failures_stay_with_the_comparable_seeds_and_have_no_numbers():
    good = [{"seed": seed, "error": None, "numbers": {"x": float(seed)}} for seed in range(3)]
    failed = {"seed": 5, "error": "bad luck", "numbers": {}}
    experiment = toy(comparable=lambda records: [record["seed"] for record in records if record["seed"] != 1])
    kept = comparable_records(experiment, [*good, failed])
    assert kept == [good[0], good[2], failed]
    assert estimates(kept)["x"].values == (0.0, 2.0)
    assert comparable_records(toy(), [*good, failed]) == [*good, failed]
