"""Tables of a page: regions that scroll, and cells with values by which they are sorted."""

from gramian.display import Table
from gramian.report.web import code_cell, facts, label_cell, number_cell, table
from html_checks import check


def test_a_long_table_scrolls_and_can_have_the_focus():
    assert 'class="gramian-result tall" tabindex="0"' in table(Table(["a"], [["x"]] * 26))
    assert 'class="gramian-result scroll" tabindex="0"' in table(Table(["a"], [["x"]] * 25))


def test_a_region_is_named_by_its_title_or_its_headings():
    data = Table(["a", "", "b"], [["x", "", "1"]])
    assert 'aria-label="a, b"' in table(data)
    assert 'aria-label="Scores"' in table(data, title="Scores")
    assert 'aria-label="facts"' in facts([("a", 1)])


def test_numbers_are_sorted_by_their_values_and_missing_ones_have_none():
    html = table(Table(["a", "b"], [["x", number_cell(0.123456)], ["y", number_cell(float("nan"))]]), sortable=True)
    cells = [found.get("data-value") for tag, found in check(html).elements if tag == "td"]
    assert cells == ["0.123456", None]
    assert "0.1235" in html
    assert "–" in html


def test_code_and_labels_are_escaped_once():
    html = table(Table(["a", "b"], [[code_cell("a < b"), label_cell("c < d", "good")]]))
    assert "<code>a &lt; b</code>" in html
    assert '<span class="tag good">c &lt; d</span>' in html


def test_unknown_facts_are_shown_as_unknown():
    assert check(facts([("authors", None), ("licence", "MIT")])).text == "authors unknown licence MIT"


def test_long_names_break_after_underscores_and_not_within_words():
    html = table(Table(["column", "n"], [["city_of_<b>/a.b", "1"], ["plain name", "2"], ["1.5", "3"]]))
    assert "city_<wbr>of_&lt;b&gt;/<wbr>a.<wbr>b" in html
    assert "plain name" in html
