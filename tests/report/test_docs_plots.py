"""docs/plots.md names every display and every function that draws."""

import re
from pathlib import Path

from gramian import report

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"


def test_the_tables_are_complete():
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert {name for name in report.__all__ if name.endswith("Display") or name.startswith("plot_")} <= named
