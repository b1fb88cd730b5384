"""Keys of cells."""

import pytest

from gramian.records import hash_key


def test_the_key_does_not_depend_on_the_order_of_entries():
    assert hash_key({"a": 1, "b": {"c": 2, "d": 3}}, 16) == hash_key({"b": {"d": 3, "c": 2}, "a": 1}, 16)
    assert hash_key({"a": 1}, 16) != hash_key({"a": 2}, 16)
    assert hash_key({"a": 1}, 24).startswith(hash_key({"a": 1}, 16))


def test_floats_that_are_not_finite_need_to_json_first():
    with pytest.raises(ValueError, match="JSON compliant"):
        hash_key({"a": float("nan")}, 16)
