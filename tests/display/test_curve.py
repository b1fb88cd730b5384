"""Curves as text and SVG."""

import numpy as np

from gramian.display import curve_svg, dot_line


def test_the_dot_moves_from_left_to_right_and_the_band_is_around_it():
    lines = [dot_line(value, value - 1, value + 1, -1.0, 5.0) for value in range(5)]
    places = [line.index("●") for line in lines]
    assert places == sorted(places)
    assert len({len(line) for line in lines}) == 1
    assert all(line.strip().startswith("·") and line.strip().endswith("·") for line in lines)
    assert " " not in "".join(lines)  # a plain space could be removed or broken


def test_a_constant_curve_is_drawn():
    assert dot_line(2.0, 2.0, 2.0, 2.0, 2.0).strip() == "●"
    flat = np.full(3, 2.0)
    assert "nan" not in curve_svg(np.arange(3.0), flat, flat, flat, "x", "y")


def test_the_drawing_has_the_points_of_the_curve_and_escapes_names():
    x = np.linspace(0, 1, 7)
    drawn = curve_svg(x, x**2, x**2 - 1, x**2 + 1, "a < b", "y")
    assert drawn.split('<polyline points="')[1].split('"')[0].count(",") == 7
    assert "a &lt; b" in drawn
    assert "a < b" not in drawn
