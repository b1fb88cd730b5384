"""What small runs have shown: every number that was measured has a sentence, whether it is judged or not."""

import math

import pytest

from gramian.experiments import Null, at_least, between, number
from gramian.experiments.estimates import Estimate
from gramian.experiments.shown import in_band, other_numbers, shown, small_run_note
from gramian.experiments.verdict import NOT_JUDGED, REPRODUCED, Verdict
from toy_experiments import toy

FAR = Null(50.0, "far away")


def verdict(claim, value, outcome=NOT_JUDGED):
    return Verdict("x/walk", "smoke", claim, outcome, None if value is None else Estimate.of([value]))


IDENTITY = {"kind": "proved identity", "null": FAR}
CASES = [
    (between("e", 0.0, 1e-10, "law", **IDENTITY), 3.2e-16, "the identity is met to 3e-16"),
    (between("e", 0.0, 1e-10, "law", **IDENTITY), 0.0, "the identity is met exactly"),
    (between("e", 0.9, 1.0, "law", **IDENTITY), 0.99, "the identity is met to 0.01"),
    (between("e", 1.7, 2.3, "law", **IDENTITY), 2.1, "the identity is met to 0.1"),
    (between("e", 0.0, 1e-10, "law", **IDENTITY), 1.0, "outside the band 0 … 1e-10"),
    (number("e", 0.9, 0.1, "law", null=FAR), 0.95, "inside the band 0.8 … 1"),
    (at_least("e", 60.0, "law", null=FAR), 0.5, "outside the band ≥ 60"),
    (number("e", math.nan, 0.0, "diverges"), math.nan, "as in the paper"),
    (number("e", math.nan, 0.0, "diverges"), 1.0, "unlike the paper"),
]


@pytest.mark.parametrize(("claim", "value", "words"), CASES)
def test_a_number_that_is_not_judged_says_what_it_shows(claim, value, words):
    made = verdict(claim, value)
    assert shown(made) == f"{words}; the scale smoke is too small to judge"
    assert in_band(made) == (not words.startswith(("outside", "unlike")))


def test_a_judged_number_and_one_that_was_not_measured_have_no_such_sentence():
    claim = number("e", 0.9, 0.1, "law", null=FAR)
    assert shown(verdict(claim, 0.9, REPRODUCED)) == ""
    assert shown(verdict(claim, None)) == ""
    assert small_run_note([verdict(claim, 0.9, REPRODUCED), verdict(claim, None)]) == ""


def test_the_note_counts_and_names_the_scales_that_judge():
    small = number("e", 0.9, 0.1, "law", null=FAR, scales=("paper", "small"))
    note = small_run_note([verdict(small, 0.9), verdict(small, 9.0)])
    assert note.startswith("2 numbers were measured at a scale too small to judge, 1 of them in the band")
    assert note.endswith("; --scale small or --scale paper is large enough")
    only = number("e", 0.9, 0.1, "law", null=FAR, scales=("paper",))
    assert small_run_note([verdict(only, 0.9)]).endswith("; --scale paper is large enough")


def test_numbers_that_no_claim_names():
    experiment = toy(claims=(number("a", 1.0, 0.1, "law", null=FAR, misprint="sign", printed_key="b"),))
    records = [{"seed": 0, "error": None, "missing": False, "numbers": {"a": 1.0, "b": 2.0, "c": 3.0}}]
    assert {key: ours.mean for key, ours in other_numbers(experiment, records).items()} == {"c": 3.0}
