"""The page on pages says what is true."""

import doctest
from pathlib import Path


def test_the_examples_run():
    path = Path(__file__).parents[2] / "docs/report.md"
    result = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    assert result.attempted > 15
