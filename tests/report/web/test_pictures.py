"""Pictures of a page: figures of matplotlib and heat maps."""

import numpy as np
import pytest

from gramian.report import plot_feature_matrix, plot_importances
from gramian.report.web import PageSection, drawn, figure, heat_map, page
from html_checks import check


def test_figures_have_the_colours_of_the_theme_and_unique_ids():
    class Model:
        feature_importances_ = np.array([0.7, 0.3])

    drawn = figure(plot_importances(Model()), "bars") + figure(
        plot_feature_matrix(np.arange(81.0).reshape(9, 9)), "a map"
    )
    html = page("T", "", [PageSection("S", drawn)])
    check(html)
    assert "var(--blue)" in drawn
    assert "#000000" not in drawn
    assert "DejaVu" not in drawn
    assert figure(plot_importances(Model()), "bars") in drawn  # independent of time and of earlier drawings


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
def test_a_drawing_with_other_elements_becomes_an_image(part):
    html = drawn(f"<svg><g/>{part}</svg>", "from elsewhere")
    assert html.startswith('<figure><img alt="from elsewhere" src="data:image/svg+xml;base64,')
    assert part not in html
    assert drawn("<svg/onload=x><g/></svg>", "x").startswith("<figure><img")
    assert drawn("<svg><g/></svg>", "plain").startswith('<figure class="plot"><svg role="img"')
    # text that another parser could read as an element is escaped
    html = drawn("<svg><text><![CDATA[<img/src=x/onerror=x>]]></text></svg>", "x")
    assert "<img" not in html
    assert "&lt;img" in html


def test_colours_are_replaced_in_attributes_and_not_in_text():
    svg = '<svg><text id="a" style="fill: #000000">"#000000" id="a" url(#a)</text><g clip-path="url(#b)" id="b"/></svg>'
    html = drawn(svg, "x")
    assert '<text style="fill: currentColor">"#000000" id="a" url(#a)</text>' in html
    ids = [found["id"] for _, found in check(html).elements if "id" in found]
    assert len(ids) == 1
    assert f"url(#{ids[0]})" in html


def test_a_heat_map_has_names_only_if_they_can_be_read():
    names = [f"column{i}" for i in range(60)]
    assert "column59" not in heat_map(np.eye(60), "many", names=names)
    assert "column9" in heat_map(np.eye(10), "few", names=names[:10])
    assert "nan" not in heat_map(np.full((2, 2), np.nan), "nothing known")
    assert "−1 " in heat_map(np.zeros((2, 2)), "zero")
    assert "> <i" not in heat_map(np.ones((2, 3)), "amounts", colours="inferno")
    wide = heat_map(np.ones((1, 3)), "a line", names=["a"], columns=["b", "c", "d"])
    assert all(f">{name}<" in wide for name in "abcd")
