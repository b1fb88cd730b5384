"""Theorem 3.2 by gradient flow."""

import pytest

from gramian.experiments.c_deep_nfa.theorems import Flow, decayed_flow


def test_the_fitted_rates_are_those_of_the_theorem():
    numbers = decayed_flow(Flow(2, 0.2, 20.0, 480), 1).numbers
    assert numbers["L=2 rate of the balance over 2λ"] == pytest.approx(1, abs=1e-4)
    assert numbers["L=2 rate of the AGOP over 2λ"] == pytest.approx(1, abs=0.1)
