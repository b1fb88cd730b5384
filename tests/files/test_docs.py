"""The examples of the document on saving run as they stand."""

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(ROOT / "docs/saving.md"), module_relative=False, optionflags=flags)
    assert result.attempted > 10
    assert result.failed == 0
