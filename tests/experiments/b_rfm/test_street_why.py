"""Depth on street numbers, along training."""

from dataclasses import replace

import pytest

from gramian.experiments.b_rfm.picture_models import NetworkTraining, scores, train_network
from gramian.experiments.b_rfm.street import StreetTask, street_rows
from gramian.experiments.b_rfm.street_why import LongerTraining, longer_training

TASK = StreetTask("made-digits", 60, 40, 8, 1, 20, (1, 2), NetworkTraining(2, 16, "sgd", 1.0, 20, 4))


def test_a_look_during_training_is_the_network_trained_so_far():
    numbers = longer_training(LongerTraining(TASK, (3, 6)), seed=1).numbers
    rows, test, rng = street_rows(TASK, 1)
    short = train_network(*rows, replace(TASK.network, hidden=1, epochs=3), rng)
    assert numbers["nn/1/3"] == scores(short, *test)
    assert numbers["train/1/3"] == scores(short, rows[0], rows[1].argmax(1))


def test_the_fall_is_made_of_the_rises():
    numbers = longer_training(LongerTraining(TASK, (2, 8)), seed=0).numbers
    assert numbers["fall"] == pytest.approx(numbers["rise/1"] - numbers["rise/2"])
    assert numbers["gain/8"] == numbers["nn/2/8"] - numbers["nn/1/8"]
