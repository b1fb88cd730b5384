"""The parts of the explanations of paper D's differences: many Adams at once, and networks brought to rest."""

from itertools import pairwise

import numpy as np
import torch

from gramian.experiments.d_fact.minima import Watched, adam_many
from gramian.experiments.d_fact.settled import Settling, settle, unrest
from gramian.experiments.d_fact.training import Training, correlations, train
from gramian.theory import Separation, random_start


def test_many_adams_at_once_are_torchs_one_by_one():
    task, rng = Separation(), torch.Generator().manual_seed(0)
    starts = [random_start(rng) for _ in range(3)]
    a, W = (np.stack([start[i].numpy() for start in starts]) for i in (0, 1))
    steps, seen = adam_many(task, a, W, Watched(task.weight_decay, "fixed", 3, steps=30, moments=1))
    assert steps == [30]
    for b, start in enumerate(starts):
        own = [part.clone().requires_grad_() for part in start]
        optimizer = torch.optim.Adam(own, lr=0.01)
        for _ in range(30):
            optimizer.zero_grad()
            task.loss(*own).backward()
            optimizer.step()
        np.testing.assert_allclose(seen[0][0][b], own[0].detach(), rtol=1e-8)
        np.testing.assert_allclose(seen[0][1][b], own[1].detach(), rtol=1e-8)


def test_a_falling_rate_ends_at_rest():
    task, rng = Separation(), torch.Generator().manual_seed(0)
    a, W = (part.numpy()[None] for part in random_start(rng))
    _, seen = adam_many(task, a, W, Watched(task.weight_decay, "cosine", 1, steps=40, moments=40))
    moves = [np.abs(after[1] - before[1]).max() for before, after in pairwise(seen)]
    assert moves[-1] < 0.01 * moves[0]


def test_near_rest_fact_is_nearly_the_gram_matrix():
    training = Training("digits", 60, hidden=1, width=8, weight_decay=1e-2, epochs=20)
    trained = train(training, seed=0)
    *_, after = settle(trained, Settling(training, rounds=10, iterations=100, rest=1e-3))
    # Not to 0: a minimum may lie in a kink of the ReLUs, where there is no gradient that vanishes.
    assert unrest(after, 1e-2) < 0.1 * unrest(trained, 1e-2)
    assert correlations(after, 1e-2)["fact"][0] > 0.99 > correlations(trained, 1e-2)["fact"][0]
