"""Shares of targets that diverge: none at a tiny rate, all at a huge one."""

import pytest

from gramian.experiments.c_deep_nfa.divergence import Divergence, divergence


@pytest.mark.parametrize(("rate", "share"), [(1e-9, 0.0), (10.0, 1.0)])
def test_the_rate_decides_at_its_extremes(rate, share):
    found = divergence(Divergence(3, (rate,), steps=40, targets=3, rows=64), 0).numbers
    assert list(found.values()) == [share]
