"""The registry of types that may be in a file."""

import pytest

from gramian.files import register
from model_files import Leaf


def test_a_name_belongs_to_one_type(known):
    other = type("Leaf", (), {})
    with pytest.raises(ValueError, match=r"'tests.Leaf' is already the name of Leaf"):
        register("tests", other)
    register("tests", Leaf)
