"""Targets on the command line."""

import pytest

from gramian.cli.target import read_target

pd = pytest.importorskip("pandas")


def test_numbers_with_a_few_words_are_no_classes():
    with pytest.raises(ValueError, match=r"75% of the target 'y' are numbers.*--missing '\?'"):
        read_target(pd.Series(["1", "2", "?", "4"], name="y"))
    assert read_target(pd.Series(["1", "b", "c", "d"], name="y"))[1].tolist() == ["1", "b", "c", "d"]
