"""The page about a concept shows its record, escaped, in one file."""

from dataclasses import replace

import pytest

from gramian.concepts.unembedding import NearestTokens
from gramian.report.concept import (
    ConceptRecord,
    DamagePoint,
    MethodScores,
    ReadText,
    SteeredText,
    write_concept_page,
)
from gramian.report.concept.page import concept_page
from html_checks import check

RECORD = ConceptRecord(
    "joy <b>",
    ("layers.0", "layers.1"),
    (
        MethodScores("rfm", (0.71, 0.83), (0.6, 0.7), (0.8, 0.9)),
        MethodScores("mean_difference", (0.65, float("nan"))),
    ),
    nearest=(NearestTokens("layers.1", (" good", "<i>", "\n"), (" bad",)),),
    texts=(ReadText("a <u> film", "positive", 0.9, ("a", " <u>", " film"), (0.1, -2.0, float("nan"))),),
    steered=(SteeredText("The film", -0.5, " was bad"), SteeredText("The film", 0.5, " was <s>")),
    damage=(DamagePoint(0.5, 1.3, 0.1), DamagePoint(0.0, 1.0, 0.0)),
    settings={"model": "tiny"},
)


def test_the_page_is_one_file_with_every_part(tmp_path):
    html = write_concept_page(RECORD, tmp_path / "new/joy.html").read_text(encoding="utf-8")
    found = check(html)
    for words in ("The concept joy <b>", "mean difference", "0.83", "good", "a <u> film", "was <s>", "1.3", "tiny"):
        assert words in found.text, words
    assert {"scores-by-layer", "nearest-tokens", "texts", "steering", "damage", "limits"} <= set(found.ids)
    colours = [attributes["style"] for tag, attributes in found.elements if tag == "span" and "style" in attributes]
    assert len(colours) == 2, "a token without a score has no colour"
    assert "var(--orange) 3%" in colours[0]
    assert "var(--blue) 60%" in colours[1]


def test_parts_without_content_are_left_out():
    bare = concept_page(ConceptRecord("joy", ("0",), (MethodScores("rfm", (0.7,)),)))
    found = check(bare)
    assert {"nearest-tokens", "texts", "steering", "damage"}.isdisjoint(found.ids)
    assert "correlation" in found.text or "does not show that the model uses it" in found.text


def test_bad_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        write_concept_page(RECORD, tmp_path)
    with pytest.raises(ValueError, match="'rfm' has 1 scores for 2 layers"):
        concept_page(replace(RECORD, methods=(MethodScores("rfm", (0.7,)),)))
