"""Parts of a section: remarks, and panels that are shown one at a time."""

from gramian.report.web import note, panels, slider, tabs


def test_a_remark_is_html():
    assert note("<b>x</b>", "bad") == '<p class="why bad"><b>x</b></p>'


def test_a_single_panel_needs_no_tabs_and_a_single_frame_no_slider():
    assert tabs("x", [("only", "<p>body</p>")]) == "<p>body</p>"
    assert "input" not in slider("x", [("only", "<p>body</p>")])


def test_few_panels_have_tabs_and_many_a_slider():
    entries = [(str(i), "<p>body</p>") for i in range(9)]
    assert 'role="tablist"' in panels("layer", entries[:8])
    assert 'type="range"' in panels("layer", entries)
    assert panels("layer", []) == ""
