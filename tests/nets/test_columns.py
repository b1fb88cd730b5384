"""Columns and their groups."""

import pytest

from gramian.nets.columns import COLUMNS, GROUPS, LAYER, choose_columns, columns


def test_every_column_is_in_one_group_and_has_a_description():
    names = [*LAYER, *(name for group in GROUPS.values() for name in group)]
    assert names == list(COLUMNS)
    assert len(set(names)) == len(names)
    assert all(columns().values())


def test_columns_are_chosen_in_their_own_order():
    assert choose_columns(None) == list(columns())
    assert choose_columns(["top_share", "nfa_cos"]) == [*LAYER, "nfa_cos", "top_share"]
    assert choose_columns("centered") == [*LAYER, *GROUPS["centered"]]
    with pytest.raises(ValueError, match="did you mean spectrum"):
        choose_columns("spektrum")
    with pytest.raises(ValueError, match="the groups are nfa, chance"):
        choose_columns(["qqqqqq"])
