"""Charts of lines."""

import re
from itertools import pairwise

import pytest

from gramian.report.web import PageSection, lines, page
from gramian.report.web.charts import Line
from html_checks import check


@pytest.mark.parametrize("values", [[3.0], [float("nan")], [], [-1e300, 1e300], [5.0, 5.0]])
def test_charts_of_few_or_infinite_points_are_well_formed(values):
    check(page("T", "", [PageSection("S", lines([Line("a", range(len(values)), values)], "odd", x="x", y="y"))]))


def test_a_diagonal_has_the_range_of_its_points():
    def ticks(values):
        chart = check(lines([Line("", values, values)], "x", x="x", y="y", diagonal=True))
        return [float(found) for found in chart.texts if found.replace(".", "").isdigit()]

    assert max(ticks([0.1, 0.9])) == 1
    assert 0.38 < min(ticks([0.40, 0.42])) < max(ticks([0.40, 0.42])) < 0.44


def texts(chart):
    """The texts of a chart with their positions and anchors."""
    found = []
    for part in re.findall(r"<text([^>]*)>([^<]*)</text>", chart):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', part[0]))
        if "transform" not in attributes:
            found.append((part[1], float(attributes["x"]), attributes["text-anchor"]))
    return found


@pytest.mark.parametrize("most", [1.2e6, 5e8, 3.0, 0.004, 2019.0])
def test_every_tick_is_whole_and_thousands_are_separated(most):
    values = [most * share for share in (0.1, 0.4, 1.0)]
    chart = lines([Line("", values, values)], "x", x="true value", y="prediction")
    spans = []
    for words, x, anchor in texts(chart):
        width = 6.1 * len(words)
        left = {"middle": x - width / 2, "end": x - width}[anchor]
        assert left >= 0, words
        assert left + width <= 461, words
        if words[:1].isdigit() and anchor == "middle":
            spans.append((left, left + width))
        assert not re.search(r"\d{4,}", words.split(".")[0]), "no four digits without a separator"
    assert len(spans) >= 2
    for (_, end), (begin, _) in pairwise(sorted(spans)):
        assert end < begin, "ticks do not overlap"


def test_ticks_have_the_same_decimals_and_are_different():
    chart = lines([Line("", [0.0, 1.0], [1234.5, 1236.5])], "x", x="a", y="b")
    ticks = [words for words, _, anchor in texts(chart) if anchor == "end"]
    assert len(set(ticks)) == len(ticks)
    assert len({len(tick.partition(".")[2]) for tick in ticks}) == 1


def test_clouds_have_no_lines_and_curves_no_dots():
    cloud = lines([Line("", [0, 1], [0, 1], joined=False)], "x", x="a", y="b")
    assert (cloud.count("<circle"), cloud.count('class="run"')) == (2, 0)
    curve = lines([Line("", [0, 1], [0, 1], marked=False)], "x", x="a", y="b", shares=True, level=0.3)
    assert (curve.count("<circle"), curve.count('class="run"'), curve.count('class="ideal"')) == (0, 1, 1)


def test_a_format_of_the_x_axis_and_names_that_are_too_long():
    chart = lines([Line("", [1990, 2020], [0, 1])], "x", x="y" * 200, y="b", x_form=lambda value: f"{value:.0f}")
    assert "2000" in [words for words, _, _ in texts(chart)]
    assert "…" in chart
