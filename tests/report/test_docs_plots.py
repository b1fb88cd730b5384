"""docs/plots.md runs, and names every display and every function that draws."""

import doctest
import re
from pathlib import Path

import torch

from gramian import report

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"


def test_the_examples_run():
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with torch.random.fork_rng():
        result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert result.failed == 0
    assert result.attempted > 15


def test_the_tables_are_complete():
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert {name for name in report.__all__ if name.endswith("Display") or name.startswith("plot_")} <= named
