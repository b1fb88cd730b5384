"""Adam on the separation task."""

import pytest
import torch

from gramian.experiments.d_fact.separation import adam
from gramian.theory import Separation, minimise, random_start


def test_adam_and_lbfgs_reach_the_same_loss():
    task = Separation(weight_decay=1e-5)
    start = random_start(torch.Generator().manual_seed(0))
    slow, fast = adam(task, start, 12_000), minimise(task, start)
    assert slow.loss == pytest.approx(fast.loss, rel=0.03)
