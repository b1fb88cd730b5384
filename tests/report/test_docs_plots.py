"""docs/plots.md names every figure."""

import re
from pathlib import Path

from gramian import report

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"


def test_the_tables_name_every_figure():
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert {name for name in report.__all__ if name.startswith("plot_")} <= named
