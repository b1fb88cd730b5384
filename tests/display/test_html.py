"""Sections as HTML: well formed, escaped, accessible, with one style sheet."""

from gramian.display import Bar, Cell, Column, Section, Table, table_html, to_html
from html_checks import check

TABLE = Table(
    [Column("layer", "left"), Column("NFA", group="cosines", hint='"1" is high'), Column("rank", group="ranks")],
    [["<b>", Cell("0.5", "good", 0.5), Cell("-2", "bad")], ["y", "1", Bar(-1.0, -1.0, 1.0, ends=(-2.0, 0.0))]],
)
HTML = to_html([Section("a < b", TABLE, "one\ntwo"), Section("", Table(["", ""], [["rows", "60"]]))])


def test_the_fragment_is_well_formed_and_says_everything():
    page = check(HTML)
    for words in ("a < b", "cosines", "ranks", "layer", "NFA", "rank", "<b>", "0.5", "−2", "one two", "rows", "60"):
        assert words in page.text
    assert [a["scope"] for tag, a in page.elements if tag == "th"] == ["colgroup"] * 2 + ["col"] * 3 + ["row"] * 3


def test_text_of_the_user_is_escaped():
    assert "<b>" not in HTML
    assert '<th scope="row">&lt;b&gt;</th>' in HTML
    assert 'title="&quot;1&quot; is high"' in HTML


def test_a_fill_is_drawn_behind_the_number_and_replaces_the_tone():
    assert '<td class="start" style="background-image:linear-gradient(90deg,' in HTML
    assert " 50%,transparent 50%)" in HTML
    assert '<td class="start bad">−2</td>' in HTML


def test_bars_are_hidden_from_screen_readers_and_keep_their_whiskers_on_the_axis():
    assert '<div class="bar" aria-hidden="true"><i class="down" style="left:0.0%;width:50.0%"></i>' in HTML
    assert '<b style="left:0.0%;width:50.0%"></b>' in HTML


def test_a_table_of_facts_has_no_head():
    assert HTML.count("<thead>") == 1
    assert '<tr><th scope="row">rows</th><td>60</td></tr>' in HTML


def test_there_is_one_style_sheet_and_it_stays_inside_the_element():
    assert HTML.count("<style>") == 1
    rules = HTML[HTML.index("<style>") + 7 : HTML.index("</style>")].strip().split("}")[:-1]
    for rule in rules:
        assert all(selector.strip().startswith(".gramian-result") for selector in rule.split("{")[0].split(","))


def test_headings_of_a_sortable_table_are_buttons_and_cells_have_their_values():
    table = Table(["name", "", "value"], [["x", Bar(1.0, 0.0, 1.0), Cell("2 ± 1", sort=2.0)]])
    html = table_html(table, title="T", sortable=True, class_="plain", id="t")
    assert html.startswith('<table class="plain sortable" id="t"><caption>T</caption>')
    assert html.count('<button type="button">') == 2
    assert '<td data-value="2.0">2 ± 1</td>' in html
    assert "<button" not in table_html(table)


def test_markup_replaces_the_text_of_a_cell():
    assert '<td><a href="#x">x</a></td>' in table_html(Table(["", ""], [["", Cell("x", markup='<a href="#x">x</a>')]]))


def test_bars_stay_on_their_axis():
    html = table_html(Table(["", "", ""], [["", Bar(0.5, 0.0, 1.0, (-3.0, 7.0)), Bar(float("nan"), 0.0, 0.0)]]))
    assert "left:0.0%;width:50.0%" in html
    assert "left:0.0%;width:100.0%" in html
    assert "left:0.0%;width:0.0%" in html
