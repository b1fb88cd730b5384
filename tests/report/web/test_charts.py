"""Charts of lines."""

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
