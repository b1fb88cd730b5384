"""Numbers over data sets of Fig. 4."""

import pytest

from gramian.datasets import uci_names
from gramian.experiments.b_rfm import fig4
from gramian.experiments.uci_sets import UCI_SETS


def record(name, rows, decrease, round=1):
    numbers = {"round": round, "decrease": decrease, "rows": rows, "columns": 5.0 - rows}
    return {"spec": {"name": name}, "numbers": numbers | dict.fromkeys(("rfm", "laplace", "ntk"), 80.0)}


def test_rank_correlations_and_the_count_of_round_0():
    numbers = fig4.over_sets([record("a", 1.0, 0.0, 0), record("b", 2.0, 5.0), record("c", 3.0, 50.0)])
    assert numbers["correlation with rows"] == pytest.approx(1)
    assert numbers["correlation with columns"] == pytest.approx(-1)
    assert numbers["round 0"] == 1
    assert not any(key.startswith(("all/", "90/")) for key in numbers)


def test_averages_need_every_set_of_their_list():
    records = [record(name, float(i), float(-i)) for i, name in enumerate(UCI_SETS)]
    assert fig4.over_sets(records)["all/rfm"] == pytest.approx(80)
    assert "all/rfm" not in fig4.over_sets(records[:-1])
    assert "90/rfm" in fig4.over_sets(records[:-14])
    assert "90/rfm" not in fig4.over_sets(records[1:])


def test_the_ninety_are_those_of_the_data():
    try:
        small = uci_names(small=True)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert set(small) == fig4._NINETY
