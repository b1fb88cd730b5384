"""Verdicts: Student intervals, outcomes at every border, the best scale for every claim."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gramian.experiments import Claim, Null, at_least, at_most, between, negative, number, positive
from gramian.experiments.estimates import Estimate
from gramian.experiments.store import ExperimentStore
from gramian.experiments.verdict import compare, count, findings, judge
from toy_experiments import CLAIMS, Walk, toy


def test_the_interval_is_students():
    x = np.random.default_rng(0).normal(size=7)
    ours = Estimate.of(x)
    low, high = stats.t.interval(0.95, 6, loc=x.mean(), scale=stats.sem(x))
    np.testing.assert_allclose([ours.mean - ours.half, ours.mean + ours.half], [low, high])


@pytest.mark.parametrize("values", [[0.3], [math.nan, 1.0], [math.inf, 1.0]])
def test_no_interval_without_two_finite_seeds(values):
    assert Estimate.of(values).half is None


FAR = Null(50.0, "something else")


@pytest.mark.parametrize(
    ("mean", "half", "outcome"),
    [
        (1.0, 0.05, "reproduced"),
        (0.9, 0.1, "reproduced"),
        (1.0, None, "close"),  # one seed
        (0.89, 0.01, "close"),
        (1.3, None, "close"),
        (1.31, 0.01, "differs"),
        (math.nan, None, "differs"),
        (math.inf, None, "differs"),
        (1.2, 0.15, "close"),  # the interval reaches the band and earns nothing
        (1.35, 0.31, "differs"),
        (1.05, 0.11, "not told apart"),  # wider than the band
        (1.25, 0.31, "not told apart"),  # wider than all that is called close
        (1.25, 0.29, "close"),
    ],
)
def test_the_outcome_at_every_border(mean, half, outcome):
    claim = Claim("x", 0.9, 1.1, 0.2, "made up", null=FAR)
    assert compare(claim, Estimate(mean, half, (mean,))) == outcome


@pytest.mark.parametrize(
    ("mean", "half", "sign", "level"),
    [
        (1.0, 0.5, "reproduced", "not told apart"),
        (1.5, 0.5, "reproduced", "reproduced"),
        (0.5, 0.5, "not told apart", "not told apart"),
        (-0.1, 0.5, "not told apart", "differs"),
        (-1.0, 0.5, "differs", "differs"),
        (0.9, 0.05, "reproduced", "close"),
        (2.0, None, "close", "close"),
        (-2.0, None, "differs", "differs"),
        (math.inf, None, "close", "close"),
        (math.nan, None, "differs", "differs"),
    ],
)
def test_the_interval_must_clear_a_threshold(mean, half, sign, level):
    ours, mirrored = Estimate(mean, half, ()), Estimate(-mean, half, ())
    assert compare(positive("x", "a sign"), ours) == compare(negative("x", "a sign"), mirrored) == sign
    threshold = at_least("x", 1.0, "visible", null=Null(0.0, "nothing"), slack=0.2)
    below = at_most("x", -1.0, "visible", null=Null(0.0, "nothing"), slack=0.2)
    assert compare(threshold, ours) == compare(below, mirrored) == level


@pytest.mark.parametrize(
    ("values", "outcome"),
    [([math.nan] * 2, "reproduced"), ([math.nan], "close"), ([math.nan, 1.0], "close"), ([1.0, 1.0], "differs")],
)
def test_nan_matches_nan(values, outcome):
    assert compare(number("x", math.nan, 0.0, "diverges"), Estimate.of(values)) == outcome


def test_one_seed_is_enough_for_a_deterministic_claim_and_a_changed_setting_is_named():
    claim = between("x", 0.9, 1.1, "law", null=FAR, deterministic=True)
    assert compare(claim, Estimate.of([1.0])) == "reproduced"
    changed = [compare(claim, Estimate.of([x]), "another rate") for x in (1.0, 3.0)]
    assert changed == ["another setting", "differs"]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=6), st.floats(-5, 5), st.floats(0, 3), st.floats(0, 3))
def test_more_slack_never_makes_a_verdict_worse(values, paper, tolerance, slack):
    order = ["reproduced", "close", "not told apart", "differs"]
    narrow = compare(number("x", paper, tolerance, "law", slack=slack, null=FAR), Estimate.of(values))
    wide = compare(number("x", paper, tolerance, "law", slack=slack + 1, null=FAR), Estimate.of(values))
    assert order.index(wide) <= order.index(narrow)


@given(st.floats(-3, 3), st.floats(0, 3), st.floats(0, 3))
def test_a_wider_interval_never_earns_a_verdict(mean, half, more):
    order = ["reproduced", "close", "differs", "not told apart"]
    for claim in (between("x", -1, 1, "law", slack=0.5, null=FAR), positive("x", "sign")):
        narrow, wide = (compare(claim, Estimate(mean, h, (mean,))) for h in (half, half + more))
        assert wide in (narrow, "not told apart")
        assert order.index(wide) >= order.index(narrow)


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
    claims = (between("x", 0, 1, "law", null=FAR),)
    failed = judge(toy(claims=claims), "small", [made(0, error="bad luck"), made(1, error="again")])
    assert (failed[0].outcome, failed[0].why) == ("not run", "2 cells failed")
    missing = judge(toy(claims=claims), "small", [made(0, error="no mnist", missing=True)])
    assert (missing[0].outcome, missing[0].why) == ("cannot run here", "no mnist")
    part = judge(toy(claims=claims), "small", [made(0, error="bad luck"), made(1, x=0.5)])
    assert part[0].outcome == "close"


class Shelf(ExperimentStore):
    """A store whose records are given by scale."""

    def __init__(self, **records):
        super().__init__("nowhere")
        self.records = records

    def of(self, experiment, scale):
        return self.records.get(scale, [])


def test_the_best_scale_is_the_largest_that_judges():
    claims = (
        between("all", 0, 1, "law", null=FAR),
        between("early", 0, 1, "law", null=FAR),
        between("smoky", 0, 1, "law", scales=("paper",), null=FAR),
        between("never", 0, 1, "law", null=FAR),
    )
    experiment = toy(claims=claims, specs=(Walk(5),))
    shelf = Shelf(smoke=[made(0, all=0.5, smoky=0.5)], small=[made(0, all=0.5, early=0.5)], paper=[made(0, all=7.0)])
    best = findings(experiment, shelf).best
    assert [(v.scale, v.outcome) for v in best] == [
        ("paper", "differs"),
        ("small", "close"),
        ("smoke", "not judged at this scale"),
        ("paper", "not run"),
    ]
    assert [v.outcome for v in findings(experiment, Shelf()).best] == ["not run"] * 4
    assert list(findings(experiment, shelf, ["small"]).records) == ["small"]


def test_of_two_claims_on_one_key_the_larger_scale_settles():
    claims = (
        between("x", 0, 1, "law", null=FAR, scales=("small",), label="a sign"),
        between("x", 0, 9, "law", null=FAR, scales=("paper",), label="a level"),
    )
    experiment = toy(claims=claims, specs=(Walk(5),))
    small, paper = [made(0, x=0.5)], [made(0, x=2.0)]
    seen = [(v.claim.label, v.outcome) for v in findings(experiment, Shelf(small=small, paper=paper)).best]
    assert seen == [("a level", "close")]
    seen = [(v.claim.label, v.outcome) for v in findings(experiment, Shelf(small=small)).best]
    assert seen == [("a sign", "close"), ("a level", "not judged at this scale")]
    seen = [(v.claim.label, v.outcome) for v in findings(experiment, Shelf(paper=paper)).best]
    assert seen == [("a level", "close")]


def test_a_setting_that_only_the_smaller_scale_changes_counts_there():
    claims = (
        between("x", 0, 1, "law", null=FAR, small_setting="rate 1, not 0.1"),
        between("y", 0, 1, "law", null=FAR, setting="digits, not faces"),
    )
    experiment = toy(claims=claims, specs=(Walk(5),))
    records = [made(seed, x=0.5, y=0.5) for seed in range(2)]
    outcomes = {scale: [(v.outcome, v.why) for v in judge(experiment, scale, records)] for scale in ("small", "paper")}
    changed = ("another setting", "digits, not faces")
    assert outcomes == {
        "small": [("another setting", "rate 1, not 0.1"), changed],
        "paper": [("reproduced", ""), changed],
    }


def test_pooled_seeds_count_once_at_the_largest_scale():
    claims = (between("start", 0.0, 1.0, "law", null=FAR, pooled=True), between("end", 0.0, 1.0, "law", null=FAR))
    small = [made(seed, start=0.1 * seed, end=0.5) for seed in range(3)]
    shelf = Shelf(small=small, paper=[made(0, start=0.6, end=0.5)])
    start, end = findings(toy(claims=claims, specs=(Walk(5),)), shelf).best
    assert (start.ours.values, start.outcome) == ((0.6, 0.1, 0.2), "not told apart")
    assert (end.ours.values, end.outcome) == ((0.5,), "close")


def test_numbers_of_a_column_are_judged_together():
    claims = (
        between("distance", 0.0, 0.1, "law", null=FAR),
        number("one", 1.0, 0.1, "law", column="distance"),
        number("two", 1.0, 0.1, "law", column="distance"),
    )

    def derive(records):
        (record,) = records
        found = [record["numbers"][key] for key in ("one", "two") if key in record["numbers"]]
        return {"distance": sum(abs(value - 1) for value in found) / 2} if len(found) == 2 else {}

    experiment = toy(claims=claims, derive=derive)
    whole = judge(experiment, "small", [made(seed, one=1.0, two=1.1) for seed in range(2)])
    assert [v.outcome for v in whole] == ["reproduced", "judged in its column", "judged in its column"]
    assert whole[0].ours.values == pytest.approx((0.05, 0.05))
    part = judge(experiment, "small", [made(0, one=1.0)])
    assert [v.outcome for v in part] == ["not run", "not judged at this scale", "not run"]


@pytest.mark.parametrize(
    ("repeats", "decidable"),
    [
        ([0.05, 0.3], True),
        ([0.05, 0.31], False),
        ([0.05, math.inf], False),
        ([-0.21, 0.0], False),
        ([], True),
        ([9.0, *[0.1] * 19], True),
    ],
)
def test_a_claim_that_a_seed_of_ours_would_fail_is_not_decidable(repeats, decidable):
    claims = (
        between("distance", 0.0, 0.1, "law", slack=0.2, null=FAR),
        number("one", 1.0, 0.1, "law", column="distance"),
        number("lost", math.nan, 0.0, "diverges"),
    )
    experiment = toy(
        claims=claims, repeats=lambda records: {"distance": repeats, "lost": [math.nan]} if len(records) == 2 else {}
    )
    bad_luck = made(2, error="bad luck")
    for value, outcome in ((0.05, "reproduced"), (9.0, "differs")):
        records = [made(seed, one=1.0, distance=value, lost=math.nan) for seed in range(2)]
        column, cell, lost = judge(experiment, "small", [*records, bad_luck])
        assert column.outcome == (outcome if decidable else "not decidable")
        assert cell.outcome == ("judged in its column" if decidable else "not decidable")
        assert column.withheld == cell.withheld == ("" if decidable else outcome)
        assert column.judged == decidable
        assert lost.outcome == "reproduced"
        shelf = Shelf(small=[made(0)], paper=records)
        assert [v.scale for v in findings(experiment, shelf).best] == ["paper"] * 3
    # One seed has no other to compare it with.
    assert judge(experiment, "small", records[:1])[0].outcome == "differs"


@pytest.mark.parametrize(
    ("repeats", "words"),
    [
        ([0.05, 0.5], "1 of our 2 seeds would fail in the place of the paper's (has up to 0.5000; -0.2000 to 0.3000"),
        ([math.inf, 0.5], "2 of our 2 seeds would fail in the place of the paper's (diverges;"),
    ],
)
def test_the_reason_names_the_seeds_and_the_limits(repeats, words):
    claims = (
        between("distance", 0.0, 0.1, "law", slack=0.2, null=FAR),
        number("one", 1.0, 0.1, "law", column="distance"),
    )
    records = [made(seed, distance=0.05, one=1.0) for seed in range(2)]
    column, cell = judge(toy(claims=claims, repeats=lambda _: {"distance": repeats}), "small", records)
    assert words in column.why
    assert cell.why == f"its column is not decidable: {column.why}"


def test_seeds_that_cannot_be_compared_with_the_paper_s_do_not_count():
    claims = (
        between("distance", 0.0, 0.1, "law", slack=0.2, null=FAR),
        number("one", 1.0, 0.1, "law", column="distance"),
        between("gap", 0.0, 0.1, "law", slack=0.2, null=FAR),
    )
    seen = []

    def judged_by(records):
        seen.append([record["seed"] for record in records])
        return lambda key, seed: seed > 1 or key == "gap"

    experiment = toy(
        claims=claims, judged_by=judged_by, derive=lambda records: {"gap": records[0]["numbers"]["distance"]}
    )
    far = [made(seed, one=1.0, distance=9.0) for seed in range(2)]
    near = [made(seed, one=1.0, distance=0.05) for seed in (2, 3)]
    distance, one, gap = judge(experiment, "small", [*far, *near, made(4, error="bad luck")])
    assert distance.ours.values == (0.05, 0.05)
    assert one.ours.values == (1.0, 1.0)
    assert gap.ours.values == (9.0, 9.0, 0.05, 0.05)
    assert [verdict.outcome for verdict in (distance, one, gap)] == ["reproduced", "judged in its column", "differs"]
    assert set(map(tuple, seen)) == {(0, 1, 2, 3)}
    distance, one, gap = judge(experiment, "small", far)
    assert [verdict.outcome for verdict in (distance, one, gap)] == ["not run", "not run", "differs"]
    assert "can be compared with the paper's" in distance.why
    assert distance.ours is one.ours is None
    assert "can be compared with the paper's" in one.why
    nothing = judge(experiment, "small", [])[0]
    assert (nothing.outcome, nothing.why) == ("not run", "no record contains this number")
