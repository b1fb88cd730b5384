"""Columns kept with and without a mark."""

import torch

from gramian.experiments.b_rfm.machines import learn
from gramian.experiments.b_rfm.picture_data import tensors, two_classes
from gramian.experiments.b_rfm.tickets_why import MarkSizes, mark_sizes


def test_size_0_is_the_pictures_themselves_and_a_mark_changes_what_is_kept():
    found = mark_sizes(MarkSizes("made", 20, 16, (0, 4)), seed=3)
    rng = torch.Generator().manual_seed(3)
    X, Y, _ = tensors(two_classes("made", "train", (0, 9), (20, 20), rng, 16), (0, 9))
    *_, machine = learn(X, Y, 1e-3, 1)
    diagonal = machine.metric.diagonal()
    above = diagonal - diagonal.min() > 0.05 * (diagonal.max() - diagonal.min())
    assert found.numbers["kept/0"] == float(above.double().mean())
    assert found.arrays["share"] == [0, 16 / 256]
    assert found.numbers["ratio/4"] == found.numbers["kept/4"] / (16 / 256) != found.numbers["kept/0"] * 16
    assert "ratio/0" not in found.numbers
