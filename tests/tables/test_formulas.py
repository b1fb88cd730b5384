"""Text that a spreadsheet would run as a formula."""

import pytest

from gramian.tables.formulas import escape_formula


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(1)", "\t=1", "\r=1", "\n=1", "- none"])
def test_text_like_a_formula_has_an_apostrophe_before_it(text):
    assert escape_formula(text) == "'" + text


@pytest.mark.parametrize("cell", ["", "a=1", "-1.5", "+3e5", "-inf", " =1", 0, -1.5, None, True])
def test_numbers_and_other_text_are_unchanged(cell):
    assert escape_formula(cell) is cell
