"""The style sheet: every colour it uses is in the palette."""

import re

from gramian.display import PALETTE, palette_css, style_sheet


def test_every_colour_of_the_rules_is_in_the_palette():
    used = set(re.findall(r"var\(--([\w-]+)\)", style_sheet()))
    assert used
    assert used <= set(PALETTE)


def test_the_rules_name_no_colour_themselves():
    assert not re.findall(r"#[0-9a-f]{3,6}", style_sheet().replace(palette_css(), ""))


def test_ink_and_background_differ_in_both_themes():
    for theme in (0, 1):
        assert PALETTE["ink"][theme] != PALETTE["card"][theme]
