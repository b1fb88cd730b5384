"""The document of a page: landmarks, navigation, and escaped text of all parts."""

import numpy as np

from gramian.display import Table, palette_css
from gramian.report import plot_feature_matrix
from gramian.report.web import (
    PageSection,
    facts,
    figure,
    heat_map,
    label,
    lines,
    page,
    prose,
    slider,
    table,
    tabs,
    tiles,
)
from gramian.report.web.charts import Line
from html_checks import check

EVIL = "\"><script>x</script>'&"


def test_all_text_is_escaped():
    body = "".join(
        (
            table(Table([EVIL, "b"], [[EVIL, EVIL]]), sortable=True, title=EVIL),
            facts([(EVIL, EVIL), ("nothing", None)], EVIL),
            tiles([(EVIL, EVIL)]),
            label(EVIL, "good", EVIL),
            tabs(EVIL, [(EVIL, "one"), (EVIL + "2", "two")]),
            slider(EVIL + "s", [(EVIL, "one"), (EVIL, "two")]),
            heat_map(np.eye(2), EVIL, names=[EVIL, "b"], caption=EVIL),
            lines([Line(EVIL, [0, 1], [1, 2])], EVIL, x=EVIL, y=EVIL, caption=EVIL),
            figure(plot_feature_matrix(np.eye(2), names=[EVIL, "b"]), EVIL, EVIL),
            prose(EVIL),
        )
    )
    html = page(EVIL, EVIL, [PageSection(EVIL, body)])
    checked = check(html)
    assert html.count("<script>") == 1
    assert [tag for tag, _ in checked.elements].count("script") == 1
    assert checked.text.count("<script>x</script>") > 15


def test_a_page_has_landmarks_and_omits_sections_without_a_body():
    checked = check(page("Title", "lead", [PageSection("One", "<p>1</p>", "first"), PageSection("Two", "")]))
    tags = [tag for tag, _ in checked.elements]
    for landmark in ("nav", "main", "header", "h1", "section", "footer"):
        assert tags.count(landmark) == 1
    assert "Two" not in checked.text
    assert "first" in checked.text
    assert ("html", {"lang": "en"}) in checked.elements
    assert any(found.get("class") == "skip" for _, found in checked.elements)


def test_the_palette_of_the_page_is_that_of_the_display_package():
    assert f":root{{{palette_css()}}}" in page("T", "", [])
