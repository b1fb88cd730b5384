"""Diagonals of a network's feature matrix along training."""

import pytest
import torch

from gramian.core import pearson
from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_models import NetworkTraining, bias_free, train_network
from gramian.experiments.b_rfm.shared_features import PairTasks, on_sphere
from gramian.experiments.b_rfm.shared_features_why import LongerPair, longer_pair
from gramian.features import Agop

TASK = PairTasks("made", ((0, 4),), 20, 10, 8, 50, NetworkTraining(width=16, epochs=4))


def test_correlations_are_those_of_a_shorter_training_and_of_its_distance_from_the_start():
    numbers = longer_pair(LongerPair(TASK, (4, 9)), seed=2).numbers
    rng = torch.Generator().manual_seed(2)
    X, Y, _ = on_sphere(TASK, (0, 4), "train", rng)
    *_, machine = learn(X, Y, 1e-3, 1, Agop(scale=None, max_rows=50))
    state = rng.get_state()
    W = next(train_network(X, Y, TASK.network, rng).parameters()).detach().double()
    rng.set_state(state)
    start = next(bias_free((X.shape[1], 16, 16, 2), rng).parameters()).detach().double()
    M = machine.matrix().double().diagonal()
    assert numbers["diagonal/4"] == pytest.approx(pearson((W.mT @ W).diagonal(), M), abs=1e-6)
    assert numbers["moved/4"] == pytest.approx(pearson((W - start).square().sum(0), M), abs=1e-6)
    assert numbers["rise"] == numbers["diagonal/9"] - numbers["diagonal/4"]
    assert numbers["moved/beyond"] == numbers["moved/4"] - numbers["diagonal/4"]
    assert numbers["change/9"] > numbers["change/4"] > 0
