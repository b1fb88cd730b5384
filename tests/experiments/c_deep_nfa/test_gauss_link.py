"""Shares of variance explained by momentum and by less weight decay."""

import pytest

from gramian.experiments.c_deep_nfa.curves import Curves
from gramian.experiments.c_deep_nfa.curves import run as curves
from gramian.experiments.c_deep_nfa.gauss_link import gained


def test_the_share_explained_by_momentum_is_a_difference_and_zero_without_training():
    """The share without momentum alone is small for networks that are not trained at all."""
    names = [f"gauss {name} λ=0.001 L={depth} explained" for name in ("gd", "gdm") for depth in (2, 5)]
    found = gained([{"numbers": dict(zip(names[:2], (0.1, 0.2), strict=True))}, {"numbers": {names[2]: 0.8}}])
    assert found == pytest.approx({"gauss gd λ=0.001 L=2: explained by momentum": 0.7})
    spec = Curves(("gd", "gdm"), (0.0, 0.0), (4, 4), (1e-3,), (2, 5), link="gauss", tail=1)
    assert set(gained([{"numbers": curves(spec, 0).numbers}]).values()) == {0.0}


def test_a_network_that_learns_with_neither_decay_has_no_difference():
    numbers = {f"gauss gdm λ={decay} L=5 explained": 0.02 for decay in ("0.001", "0.01")}
    assert gained([{"numbers": numbers}])["gauss gdm L=5: explained, less by λ=0.01"] == 0.0
