"""Adam from several starts at once."""

from itertools import pairwise

import numpy as np
import torch

from gramian.experiments.d_fact.minima import Watched, adam_many
from gramian.theory import Separation, random_start


def test_adam_from_many_starts_equals_torchs_adam_from_each():
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


def test_steps_vanish_with_a_decreasing_rate():
    task, rng = Separation(), torch.Generator().manual_seed(0)
    a, W = (part.numpy()[None] for part in random_start(rng))
    _, seen = adam_many(task, a, W, Watched(task.weight_decay, "cosine", 1, steps=40, moments=40))
    moves = [np.abs(after[1] - before[1]).max() for before, after in pairwise(seen)]
    assert moves[-1] < 0.01 * moves[0]
