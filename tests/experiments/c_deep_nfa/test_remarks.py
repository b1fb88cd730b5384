"""Networks with one output, and with a head on the linear layers."""

import pytest

from gramian.experiments.c_deep_nfa.remarks import HeadFlow, ScalarOutput, head_flow, scalar_output


def test_only_a_balanced_start_stays_at_rank_one():
    numbers = scalar_output(ScalarOutput(3, 2.0, 240), 0).numbers
    assert numbers["L=3 balanced: second singular value over the first"] < 1e-10
    assert numbers["L=3 unbalanced: second singular value over the first"] > 0.3


def test_the_imbalance_below_a_head_decays_at_twice_the_decay():
    numbers = head_flow(HeadFlow(3, time=10.0, steps=200), 0).numbers
    assert numbers["L=3 rate of the balance over 2λ"] == pytest.approx(1, abs=1e-4)
    assert numbers["L=3 loss at the end over the start"] < 1
