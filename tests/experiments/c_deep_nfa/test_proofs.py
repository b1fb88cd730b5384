"""Lemma A.2 and (3.9): the products of the proof, the corrected bound, and the printed one with a counterexample."""

import pytest
import torch

from gramian.experiments.c_deep_nfa.proofs import (
    MatrixPairs,
    ProofFlow,
    ScalarChain,
    bounded_flow,
    hoelder,
    partial_products,
    unbalanced_start,
)
from gramian.theory import linear_agop


def test_the_products_lead_from_the_power_of_the_first_gram_matrix_to_the_agop():
    weights = unbalanced_start((3, 5, 4, 2), torch.Generator().manual_seed(0))
    D = partial_products(weights)
    assert len(D) == 3
    torch.testing.assert_close(D[0], (weights[0].mT @ weights[0]).matrix_power(3))
    torch.testing.assert_close(D[-1], linear_agop(weights))


def test_a_chain_of_scalars_breaks_the_printed_bound_and_not_the_corrected_one():
    spec = ScalarChain()
    numbers = bounded_flow(spec, 0).numbers
    # By hand: D₄ − D₃ = r⁶ (w² − r²), C_F² = 3r² + w².
    r, w = spec.size, spec.size - spec.gap
    square = 3 * r**2 + w**2
    assert numbers["chain: step over the printed bound"] == pytest.approx(r**6 / (2 * square))
    assert numbers["chain: step over the printed bound"] > 1 > numbers["chain: step over its bound"]


def test_without_weight_decay_both_bounds_are_exceeded():
    strong = bounded_flow(ProofFlow(2, 10.0, 1.2, 300), 1).numbers
    assert strong["L=2 λ=10: norm over its bound"] < 1 < strong["L=2 λ=10 without decay: norm over its bound"]
    weak = bounded_flow(ProofFlow(2, steps=600), 1).numbers
    assert weak["L=2 λ=1: step over its bound"] < 1 < weak["L=2 λ=1 without decay: step over its bound"]


@pytest.mark.parametrize("depth", [2, 5])
def test_the_inequality_is_tight_and_needs_its_constant(depth):
    numbers = hoelder(MatrixPairs(6, depth, 60), 0).numbers
    assert numbers[f"L={depth} equality"] == pytest.approx(1)
    constant = 6 ** ((depth - 1) / (2 * depth))
    assert numbers[f"L={depth} largest ratio"] <= 1 < numbers[f"L={depth} largest ratio"] * constant
