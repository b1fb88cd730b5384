"""Counts by paper, kind and scale add up to the claims; the sentence about printed numbers counts each once."""

import re

import pytest

from gramian.experiments import Null, between, number
from gramian.experiments.counts import (
    agreement,
    before,
    count_rows,
    count_table,
    group_of,
    markdown,
    printed_outcomes,
    summary,
)
from gramian.experiments.verdict import Findings, judge
from toy_experiments import CLAIMS, toy


def found(*experiments, **numbers):
    records = [{"seed": seed, "error": None, "missing": False, "numbers": numbers} for seed in range(2)]
    return [Findings(e, {"paper": records}, {"paper": judge(e, "paper", records)}) for e in experiments]


def test_every_claim_is_counted_once():
    rows = count_rows(found(toy(), toy("y/b-why"), steps=3.0, end5=1.0))
    assert sum(sum(row.outcomes.values()) for row in rows) == 2 * len(CLAIMS)
    assert {row.group for row in rows} == {"paper X", "explanations"}
    assert rows[-1].group == "explanations"
    by_kind = {row.kind: row.outcomes for row in rows if row.group == "paper X" and row.scale}
    assert by_kind["proved identity"] == {"reproduced": 1}
    assert by_kind["printed number"] == {"close": 1, "differs": 1}


def test_a_table_adds_up_over_what_it_does_not_name():
    rows = count_rows(found(toy(), steps=3.0, end5=1.0))
    whole, parts = count_table(rows, ["group"]), count_table(rows, ["group", "kind", "scale"])
    assert len(whole.rows) == 1
    for place in range(1, len(whole.columns)):
        assert int(whole.rows[0][place]) == sum(int(row[place + 2]) for row in parts.rows)
    assert markdown(whole).splitlines()[2].startswith("| paper X | ")


def test_the_sentence_counts_numbers_of_a_column_and_not_the_column():
    claims = (
        between("distance", 0.0, 1.0, "law", null=Null(9.0, "a constant"), kind="printed number"),
        number("one", 1.0, 0.1, "law", column="distance"),
        number("two", 1.0, 0.1, "law", column="distance"),
        number("three", 1.0, 0.1, "law", null=Null(9.0, "a constant")),
        number("four", 1.0, 0.1, "law", null=Null(9.0, "a constant")),
    )
    text = summary(found(toy(claims=claims), one=1.0, two=1.0, three=1.0, distance=0.0))
    assert [int(n) for n in re.findall(r"\d+", text)] == [4, 3, 75, 2, 1, 1, 1, 1]
    assert "3 are judged at the paper's size (75% of all): 2 in their columns and 1 alone (1 reproduced)" in text
    assert text.endswith("Of the other 1, 1 have not run")


def test_numbers_of_a_column_have_the_verdict_of_the_column():
    claims = (
        between("distance", 0.0, 1.0, "law", null=Null(9.0, "a constant"), kind="printed number"),
        number("one", 1.0, 0.1, "law", column="distance"),
        number("two", 5.0, 0.1, "law", column="distance"),
        number("three", 3.0, 0.1, "law", null=Null(9.0, "a constant")),
        number("four", 1.0, 0.1, "law", null=Null(9.0, "a constant")),
    )
    entries = found(toy(claims=claims), toy("y/b-why", claims=claims), one=1.0, two=1.0, three=1.0, distance=0.5)
    assert printed_outcomes(entries) == {"reproduced": 2, "differs": 1}
    assert agreement(entries).endswith("at any size, 2 (67%) are reproduced or close; the others: 1 differs")
    assert agreement([]) == "Of the 0 printed numbers that are judged at any size, 0 are reproduced or close"


def test_numbers_that_are_not_decidable_are_not_judged():
    claims = (
        between("distance", 0.0, 1.0, "law", null=Null(9.0, "a constant"), kind="printed number"),
        number("one", 1.0, 0.1, "law", column="distance"),
        number("three", 1.0, 0.1, "law", null=Null(9.0, "a constant")),
    )
    experiment = toy(claims=claims, repeats=lambda records: {"distance": [0.5, 2.0]})
    entries = found(experiment, one=1.0, three=1.0, distance=0.5)
    assert printed_outcomes(entries) == {"reproduced": 1}
    assert agreement(entries).endswith("close. Without the rule on decidability, 1 more would be judged: 1 reproduced")
    assert summary(entries).endswith(
        "0 in their columns and 1 alone (1 reproduced). Of the other 1, 1 are not decidable"
    )


def test_the_sentence_accounts_for_every_number():
    text = summary(found(toy(), steps=3.0, end5=1.0))
    judged = int(re.search(r"(\d+) are judged", text)[1])
    others = [int(n) for n in re.findall(r"(\d+) (?:have not run|cannot run here|ran at)", text)]
    assert judged + sum(others) == int(re.match(r"Of (\d+) printed", text)[1])
    assert summary([]) == "Of 0 printed numbers, 0 are judged at the paper's size: 0 in their columns and 0 alone"


def test_the_former_counts_are_those_of_the_audit():
    rows = before()
    reproduced = sum(row.outcomes.get("reproduced", 0) for row in rows if row.group != "explanations")
    assert reproduced == pytest.approx(353, abs=0)
    assert group_of("c/fig6-why") == "explanations"


def test_the_table_has_as_many_printed_numbers_as_the_sentence():
    claims = (
        between("distance", 0.0, 1.0, "law", null=Null(9.0, "a constant"), kind="printed number"),
        number("one", 1.0, 0.1, "law", column="distance"),
        number("two", 1.0, 0.1, "law", null=Null(9.0, "a constant"), scales=("smoke",)),
        number("two", 1.0, 0.2, "law", null=Null(9.0, "a constant"), scales=("paper",)),
    )
    entries = found(toy(claims=claims), one=1.0, two=1.0, distance=0.5)
    (row,) = [row for row in count_rows(entries) if row.kind == "printed number"]
    assert row.outcomes == {"reproduced": 2}
    assert summary(entries).startswith("Of 2 printed numbers, 2 are judged")
