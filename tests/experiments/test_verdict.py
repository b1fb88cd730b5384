"""Verdicts: Student intervals, outcomes at every border, the best scale for every claim."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gramian.experiments import Claim, between, number
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import Estimate, compare, count, findings, judge
from toy_experiments import CLAIMS, Walk, toy


def test_the_interval_is_students():
    x = np.random.default_rng(0).normal(size=7)
    ours = Estimate.of(x)
    low, high = stats.t.interval(0.95, 6, loc=x.mean(), scale=stats.sem(x))
    np.testing.assert_allclose([ours.mean - ours.half, ours.mean + ours.half], [low, high])


@pytest.mark.parametrize("values", [[0.3], [math.nan, 1.0], [math.inf, 1.0]])
def test_no_interval_without_two_finite_seeds(values):
    assert Estimate.of(values).half is None


@pytest.mark.parametrize(
    ("mean", "half", "outcome"),
    [
        (1.0, None, "reproduced"),
        (0.9, None, "reproduced"),
        (0.89, None, "close"),
        (1.3, None, "close"),
        (1.31, None, "differs"),
        (math.nan, None, "differs"),
        (math.inf, None, "differs"),
        (1.2, 0.05, "close"),  # the interval does not reach the band
        (1.2, 0.1, "reproduced"),
        (1.39, 0.3, "reproduced"),  # as wide as all that is called close: the widest that counts
        (1.35, 0.31, "differs"),
        (1.25, 5.0, "close"),  # noise does not earn a verdict
        (1.05, 5.0, "reproduced"),
    ],
)
def test_the_outcome_at_every_border(mean, half, outcome):
    claim = Claim("x", 0.9, 1.1, 0.2, "made up")
    assert compare(claim, Estimate(mean, half, (mean,))) == outcome


def test_a_half_line_lends_no_width_to_the_interval():
    claim = between("x", 0.9, math.inf, "a law", slack=0.1)
    assert compare(claim, Estimate(50.0, 100.0, ())) == "reproduced"
    assert compare(claim, Estimate(0.75, 0.1, ())) == "differs"
    assert compare(claim, Estimate(0.82, 0.09, ())) == "reproduced"
    assert compare(claim, Estimate(0.2, 0.9, ())) == "differs"


@pytest.mark.parametrize(
    ("values", "outcome"), [([math.nan] * 2, "reproduced"), ([math.nan, 1.0], "close"), ([1.0, 1.0], "differs")]
)
def test_nan_matches_nan(values, outcome):
    assert compare(number("x", math.nan, 0.0, "diverges"), Estimate.of(values)) == outcome


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=6), st.floats(-5, 5), st.floats(0, 3), st.floats(0, 3))
def test_more_slack_never_makes_a_verdict_worse(values, paper, tolerance, slack):
    order = ["reproduced", "close", "differs"]
    narrow = compare(number("x", paper, tolerance, "law", slack=slack), Estimate.of(values))
    wide = compare(number("x", paper, tolerance, "law", slack=slack + 1), Estimate.of(values))
    assert order.index(wide) <= order.index(narrow)


def made(seed, error=None, missing=False, **numbers):
    head = {"key": "k", "spec": {}, "seed": seed, "arrays": {}}
    return head | {"numbers": numbers, "error": error, "missing": missing}


def test_each_claim_gets_its_verdict():
    records = [made(seed, end5=0.1 * seed, steps=3.0, lost=math.nan, endless=-math.inf, end9=5.0) for seed in range(3)]
    verdicts = judge(toy(), "small", records)
    assert [v.outcome for v in verdicts] == [
        "reproduced",
        "close",
        "differs",
        "reproduced",
        "reproduced",
        "cannot run here",
        "not judged at this scale",
        "not run",
    ]
    assert count(verdicts)["reproduced"] == 3
    misprint = verdicts[4]
    assert (misprint.ours.mean, misprint.printed.mean) == (3.0, -math.inf)
    assert verdicts[6].ours.mean == 5.0
    assert verdicts[5].why == "the moon is too far"
    assert [v.claim for v in verdicts] == list(CLAIMS)


def test_failures_and_missing_data_say_so():
    claims = (between("x", 0, 1, "law"),)
    failed = judge(toy(claims=claims), "small", [made(0, error="bad luck"), made(1, error="again")])
    assert (failed[0].outcome, failed[0].why) == ("not run", "2 cells failed")
    missing = judge(toy(claims=claims), "small", [made(0, error="no mnist", missing=True)])
    assert (missing[0].outcome, missing[0].why) == ("cannot run here", "no mnist")
    part = judge(toy(claims=claims), "small", [made(0, error="bad luck"), made(1, x=0.5)])
    assert part[0].outcome == "reproduced"


class Shelf(ExperimentStore):
    """A store whose records are given by scale."""

    def __init__(self, **records):
        super().__init__("nowhere")
        self.records = records

    def of(self, experiment, scale):
        return self.records.get(scale, [])


def test_the_best_scale_is_the_largest_that_judges():
    claims = (
        between("all", 0, 1, "law"),
        between("early", 0, 1, "law"),
        between("smoky", 0, 1, "law", scales=("paper",)),
        between("never", 0, 1, "law"),
    )
    experiment = toy(claims=claims, specs=(Walk(5),))
    shelf = Shelf(smoke=[made(0, all=0.5, smoky=0.5)], small=[made(0, all=0.5, early=0.5)], paper=[made(0, all=7.0)])
    best = findings(experiment, shelf).best
    assert [(v.scale, v.outcome) for v in best] == [
        ("paper", "differs"),
        ("small", "reproduced"),
        ("smoke", "not judged at this scale"),
        ("paper", "not run"),
    ]
    assert [v.outcome for v in findings(experiment, Shelf()).best] == ["not run"] * 4
    assert list(findings(experiment, shelf, ["small"]).records) == ["small"]
