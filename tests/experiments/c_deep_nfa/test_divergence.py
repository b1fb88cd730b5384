"""Shares of targets that diverge: none at a tiny rate, all at a huge one."""

import pytest

from gramian.experiments.c_deep_nfa.divergence import Divergence, divergence, less_at_lower_rate


@pytest.mark.parametrize(("rate", "share"), [(1e-9, 0.0), (10.0, 1.0)])
def test_the_rate_decides_at_its_extremes(rate, share):
    found = divergence(Divergence(3, (rate,), steps=40, targets=3, rows=64), 0).numbers
    assert list(found.values()) == [share]


def test_no_step_at_all_is_no_effect_of_the_rate():
    spec = {"depth": 4, "rates": [1e-3, 3e-4]}
    still = {f"L=4 rate={rate:g}: share that diverges": 0.0 for rate in spec["rates"]}
    (found,) = less_at_lower_rate([{"spec": spec, "numbers": still}]).values()
    assert found == 0.0
