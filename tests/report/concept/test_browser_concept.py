"""The page about a concept in a browser: its width, and one prompt at a time."""

import pytest

from gramian.report.concept import ConceptRecord, DamagePoint, MethodScores, ReadText, SteeredText, write_concept_page


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    layers = tuple(f"model.layers.{i}" for i in range(30))
    record = ConceptRecord(
        "sentiment",
        layers,
        tuple(MethodScores(name, tuple(0.5 + i / 90 for i in range(30))) for name in ("rfm", "mean_difference")),
        texts=(ReadText("one long text", "1", 0.5, tuple(" word" for _ in range(60)), (0.5,) * 60),),
        steered=tuple(SteeredText(p, s, " and so on" * 12) for p in ("The film", "We") for s in (-0.1, 0.1)),
        damage=tuple(DamagePoint(s, 1 + s * s, 0.1) for s in (-0.1, 0.0, 0.1)),
    )
    return write_concept_page(record, tmp_path_factory.mktemp("concept") / "page.html")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_is_as_wide_as_the_screen(open_page, path, theme, width):
    page = open_page(path, theme, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    panels = page.locator("#steering [role=tabpanel]")
    assert [panel.is_visible() for panel in panels.all()] == [True, False]
