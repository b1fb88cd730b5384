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


def row(cos, chance, *, sd=0.01, depth=3, **others):
    return {"layer": "a", "depth": depth, "nfa_half_cos": cos, "nfa_best_cos": cos, "best_power": 0.5,
            "nfa_half_chance": chance, "nfa_half_chance_sd": sd, **others}  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (row(0.95, 0.4), "far beyond chance (cosine 0.950, by chance 0.400)"),
        (row(0.65, 0.5), "somewhat more than by chance"),
        (row(0.95, 0.94), "as it does by chance"),
        (row(0.3, 0.7), "less than by chance"),
        (row(0.9, 0.6, sd=0.2), "as it does by chance"),
        (row(0.95, 0.4, depth=1), "last layer"),
        (row(0.95, math.nan), "not known"),
        (row(0.95, 0.4, nfa_half_untrained=0.41), "With its initial weights the network has the cosine 0.410"),
    ],
)
def test_the_sentence_compares_the_agreement_with_chance(entry, words):
    assert words in describe_layer(entry)[0]


def test_a_few_layers_of_many_beyond_chance_are_not_learning():
    many = [row(0.7, 0.7) for _ in range(39)]
    assert "learned nothing yet" in describe_network([*many, row(0.95, 0.4)])[0]
    assert "In 3 of the 42 layers" in describe_network([*many, *[row(0.95, 0.4)] * 3])[0]
    assert "less than it does by chance" in describe_network([row(0.2, 0.7)])[0]
    assert "last layer (a) does not count" in describe_network([row(0.9, 0.9, depth=1)])[0]


def test_too_few_samples_are_named():
    rows = [
        {"layer": "a", "target_linearity": 1.0, "features_per_sample": 1.57},
        {"layer": "b", "target_linearity": 0.5},
    ]
    assert "up to 1.6 per sample" in describe_network(rows)[-1]
    assert "1.6 features per sample any target is linear" in describe_layer(rows[0])[0]


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
