"""The parts of a page: escaping, tables, pictures that follow the theme, parts that are reachable by keyboard."""

import os

import numpy as np
import pytest

from gramian.core.atomic import atomic_write
from gramian.report import plot_feature_matrix, plot_importances
from gramian.report.web import (
    Section,
    bar,
    drawn,
    facts,
    figure,
    heat_map,
    label,
    lines,
    note,
    number,
    page,
    prose,
    row,
    slider,
    span,
    table,
    tabs,
    tiles,
)
from gramian.report.web.charts import Line
from html_checks import check

EVIL = "\"><script>x</script>'&"


def test_texts_are_escaped_wherever_they_come_in():
    body = "".join(
        (
            table([EVIL, "b"], [row(EVIL, number(EVIL))], sort=True, title=EVIL),
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
    html = page(EVIL, EVIL, [Section(EVIL, body)])
    checked = check(html)
    assert html.count("<script>") == 1
    assert [tag for tag, _ in checked.elements].count("script") == 1
    assert checked.text.count("<script>x</script>") > 15


def test_landmarks_and_a_section_without_a_body():
    checked = check(page("Title", "lead", [Section("One", "<p>1</p>", "first"), Section("Two", "")]))
    tags = [tag for tag, _ in checked.elements]
    for landmark in ("nav", "main", "header", "h1", "section", "footer"):
        assert tags.count(landmark) == 1
    assert "Two" not in checked.text
    assert "first" in checked.text
    assert ("html", {"lang": "en"}) in checked.elements
    assert any(found.get("class") == "skip" for _, found in checked.elements)


def test_figures_follow_the_theme_and_share_no_ids():
    class Model:
        feature_importances_ = np.array([0.7, 0.3])

    drawn = figure(plot_importances(Model()), "bars") + figure(
        plot_feature_matrix(np.arange(81.0).reshape(9, 9)), "a map"
    )
    html = page("T", "", [Section("S", drawn)])
    check(html)
    assert "var(--blue)" in drawn
    assert "#000000" not in drawn
    assert "DejaVu" not in drawn
    assert figure(plot_importances(Model()), "bars") in drawn  # nothing depends on time or on what was drawn before


@pytest.mark.parametrize(
    "part",
    [
        "<script>x</script>",
        '<g onload="x"/>',
        "<g/onload=x>",
        '<g\nONLOAD="x"/>',
        "<SCRIPT >",
        '<a href="javascript:x"/>',
        '<foreignObject><img src="x" onerror="x"/></foreignObject>',
        "<text><![CDATA[<img/src=x/onerror=x>]]><b/></text>",
        '<use href="http://x/y.svg#z"/>',
        '<image href="data:image/svg+xml;base64,AA"/>',
        '<g style="fill: url(http://x)"/>',
        '<g style="fill: u\\72l(http://x)"/>',
        "<g style=\"cursor: image-set('x' 1x)\"/>",
        '<animate attributeName="href" to="javascript:x"/>',
    ],
)
def test_a_drawing_from_elsewhere_runs_nothing(part):
    html = drawn(f"<svg><g/>{part}</svg>", "from elsewhere")
    assert html.startswith('<figure><img alt="from elsewhere" src="data:image/svg+xml;base64,')
    assert part not in html
    assert drawn("<svg/onload=x><g/></svg>", "x").startswith("<figure><img")
    assert drawn("<svg><g/></svg>", "plain").startswith('<figure class="plot"><svg role="img"')
    # what is text to this reader and could be an element to another is written anew, as text
    html = drawn("<svg><text><![CDATA[<img/src=x/onerror=x>]]></text></svg>", "x")
    assert "<img" not in html
    assert "&lt;img" in html


def test_only_the_drawing_takes_the_colours_of_the_page_not_its_words():
    svg = '<svg><text id="a" style="fill: #000000">"#000000" id="a" url(#a)</text><g clip-path="url(#b)" id="b"/></svg>'
    html = drawn(svg, "x")
    assert '<text style="fill: currentColor">"#000000" id="a" url(#a)</text>' in html
    ids = [found["id"] for _, found in check(html).elements if "id" in found]
    assert len(ids) == 1
    assert f"url(#{ids[0]})" in html


def test_a_heat_map_writes_names_only_where_they_can_be_read():
    names = [f"column{i}" for i in range(60)]
    assert "column59" not in heat_map(np.eye(60), "many", names=names)
    assert "column9" in heat_map(np.eye(10), "few", names=names[:10])
    assert "nan" not in heat_map(np.full((2, 2), np.nan), "nothing known")
    assert "−1 " in heat_map(np.zeros((2, 2)), "zero")
    assert "> <i" not in heat_map(np.ones((2, 3)), "amounts", colours="inferno")
    wide = heat_map(np.ones((1, 3)), "a line", names=["a"], columns=["b", "c", "d"])
    assert all(f">{name}<" in wide for name in "abcd")


def test_a_bar_with_an_interval_stays_on_its_axis():
    html = bar(0.5, 0.0, 1.0, (-3.0, 7.0))
    assert "left:0.0%;width:50.0%" in html
    assert "left:0.0%;width:100.0%" in html
    assert "left:0.0%;width:0.0%" in bar(float("nan"), 0.0, 0.0)


def test_a_single_panel_needs_no_tabs_and_a_single_frame_no_slider():
    assert tabs("x", [("only", "<p>body</p>")]) == "<p>body</p>"
    assert "input" not in slider("x", [("only", "<p>body</p>")])


@pytest.mark.parametrize("values", [[3.0], [float("nan")], [], [-1e300, 1e300], [5.0, 5.0]])
def test_charts_of_few_or_odd_points(values):
    check(page("T", "", [Section("S", lines([Line("a", range(len(values)), values)], "odd", x="x", y="y"))]))


def test_a_diagonal_has_the_range_of_its_points():
    def ticks(values):
        chart = check(lines([Line("", values, values)], "x", x="x", y="y", diagonal=True))
        return [float(found) for found in chart.texts if found.replace(".", "").isdigit()]

    assert max(ticks([0.1, 0.9])) == 1
    assert 0.38 < min(ticks([0.40, 0.42])) < max(ticks([0.40, 0.42])) < 0.44


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.91, 0.93567, "0.910 … 0.936"),
        (-5.0, 5.0, "−5 … 5"),
        (1.0, 1.0, "1"),
        (float("nan"), float("nan"), "nan … nan"),
    ],
)
def test_intervals_as_text(low, high, text):
    assert span(low, high) == text


def test_a_remark_is_html_and_a_long_table_scrolls():
    assert note("<b>x</b>", "bad") == '<p class="why bad"><b>x</b></p>'
    assert 'class="tall" tabindex="0"' in table(["a"], [row("x")] * 26)
    assert 'class="scroll" tabindex="0"' in table(["a"], [row("x")] * 25)


@pytest.mark.skipif(os.name != "posix", reason="permissions by umask")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_who_may_read_a_page_is_for_the_umask_to_say(tmp_path, umask):
    before = os.umask(umask)
    try:
        atomic_write(tmp_path / "page.html", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "new" / "page.html"
    atomic_write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        atomic_write(path, "\ud800")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]
