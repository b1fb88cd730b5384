"""Sentences about the numbers of a report."""

import math

import pytest

from gramian.nets.columns import COLUMNS
from gramian.report.network.sentences import describe_layer, describe_network
from report.plot_cases import monitor


def test_every_measured_quantity_has_a_sentence():
    words = " ".join(describe_layer(monitor().report.rows[0]))
    for part in ("AGOP^½", "FACT", "effective rank", "linear fit"):
        assert part in words


def test_without_measurements_there_are_no_sentences():
    assert describe_layer(dict.fromkeys(COLUMNS, math.nan)) == []
    assert describe_network([{"layer": "0"}]) == []


@pytest.mark.parametrize(("value", "words"), [(0.95, "agrees closely"), (0.6, "in part"), (0.1, "hardly agree")])
def test_the_sentence_states_the_degree_of_agreement(value, words):
    assert words in describe_layer({"nfa_half_cos": value, "nfa_best_cos": value, "best_power": 0.5})[0]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.01, "has converged"), (0.3, "close to convergence"), (0.99, "has not converged"), (4e3, "4,000 times")],
)
def test_the_sentence_states_the_degree_of_convergence(value, words):
    assert words in describe_layer({"fact_residual": value, "fact_cos": 0.5})[0]


def test_sentences_about_the_network_count_its_layers():
    rows = [
        {"layer": "a", "fact_residual": 0.01, "target_linearity": 0.2},
        {"layer": "b", "fact_residual": 0.4, "target_linearity": 0.9},
    ]
    first, second = describe_network(rows)
    assert "In 1 of 2 layers, FACT" in first
    assert "layer b has the largest difference, 40% of its norm" in first
    assert "20% of the target at layer a and 90% at layer b" in second
