"""The stops of a training: each is measured once, and the last is the end."""

import pytest

from gramian.experiments.d_fact.table2_order import Stops, stops
from gramian.experiments.d_fact.training import ImageTraining, correlations, train


def test_the_last_stop_is_the_trained_network():
    training = ImageTraining("digits", 96, hidden=1, width=16, weight_decay=1e-3, epochs=10)
    numbers = stops(Stops(training, (0.5, 0.8, 1.0)), 3).numbers
    end = {name: values[0] for name, values in correlations(train(training, 3), 1e-3).items()}
    assert numbers["1: fact"] == pytest.approx(end["fact"])
    lesser = min(end["agop_half"], end["enfa_half"])
    assert numbers["1: FACT minus the lesser root"] == pytest.approx(end["fact"] - lesser)
    assert {key.partition(":")[0] for key in numbers if ":" in key} == {"0.5", "0.8", "1"}
