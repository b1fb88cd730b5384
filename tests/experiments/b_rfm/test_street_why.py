"""Depth on street numbers, along training."""

from dataclasses import replace

import pytest

from gramian.experiments import papers
from gramian.experiments.b_rfm.picture_models import NetworkTraining, scores, train_network
from gramian.experiments.b_rfm.street import StreetTask, street_rows
from gramian.experiments.b_rfm.street_why import LongerTraining, LowerRates, longer_training, lower_rates

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


def test_rates_share_start_and_batches():
    one, two = (lower_rates(LowerRates(TASK, rates), seed=1).numbers for rates in ((0.3, 1.0), (1.0, 0.3)))
    assert one == two
    assert one["best gain"] == max(one["nn/2/0.3"], one["nn/2/1"]) - max(one["nn/1/0.3"], one["nn/1/1"])


def test_a_constant_does_not_pass_as_a_network_that_depth_does_not_help():
    for id, field in (("b/fig11-why", "epochs"), ("b/fig11-rate-why", "rates")):
        experiment = papers.find(id)
        spec = experiment.specs["small"][0]
        tried = getattr(spec, field)
        constant = {f"nn/{depth}/{x:g}": 0.113 for depth in spec.task.depths for x in tried}
        (claim,) = (claim for claim in experiment.claims if claim.key.endswith("/learned"))
        record = {"spec": {"task": {"depths": spec.task.depths}, field: tried}}
        (found,) = experiment.derive([{**record, "numbers": constant}]).values()
        assert not claim.admits(found)
        learned = dict.fromkeys(constant, 0.5)
        assert claim.admits(experiment.derive([{**record, "numbers": learned}])[claim.key])
