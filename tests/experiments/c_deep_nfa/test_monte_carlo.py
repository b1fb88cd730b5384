"""Corrected and printed formulas of paper C by Monte Carlo."""

import pytest

from gramian.experiments.c_deep_nfa.monte_carlo import Draws, counterexamples, initialisation


def test_corrected_formulas_agree_with_the_measurement_and_printed_ones_do_not():
    start = initialisation(Draws(300), 0).numbers
    assert start["ratio of the squared Gram norms, corrected"] == pytest.approx(1, abs=0.02)
    assert abs(start["ratio of the squared Gram norms, printed"] - 1) > 0.3
    example = counterexamples(Draws(20_000), 0).numbers
    assert example["example 1: E[(∂f/∂x₁)²]"] == pytest.approx(0.5, abs=0.02)
    assert example["example 1: E[(∂f/∂x₁)²], indicator as printed"] == 0
