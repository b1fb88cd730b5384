"""Targets as rows beside features: labels and values, of samples and of positions."""

import pytest
import torch

from gramian.nets.batches import Batch
from gramian.nets.forward_pass import LayerFeatures
from gramian.nets.targets import MAX_TARGETS, read_targets


def read(y, output, **more):
    return read_targets(Batch((), more.pop("kwargs", {}), y, len(output), **more), output)


def test_labels_and_values_of_samples():
    found = read(torch.tensor([0, 2]), torch.zeros(2, 3))
    assert found.classes == 3
    assert found.kept is None
    assert found.values.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert read(torch.tensor([0.5, 2]), torch.zeros(2, 1)).values.shape == (2, 1)
    assert read(torch.zeros(2, 3), torch.zeros(2, 3)).values.shape == (2, 3)


def test_targets_that_are_not_read():
    assert read(None, torch.zeros(2, 3)) is None
    assert read(torch.zeros(3), torch.zeros(2, 3)) is None
    assert read(torch.tensor([0, 5]), torch.zeros(2, 3)) is None
    assert read(torch.zeros(2, MAX_TARGETS + 1), torch.zeros(2, 3)) is None
    assert read(torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 4, MAX_TARGETS + 1)) is None
    assert read(torch.full((2, 4), 7), torch.zeros(2, 4, 3)) is None


def test_positions_that_do_not_count():
    y = torch.tensor([[0, 1, 2], [2, -100, 1]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    output = torch.eye(3).repeat(2, 1, 1)
    found = read(y, output, mask=mask)
    assert found.kept.tolist() == [[True, True, False], [True, False, True]]
    assert found.values.argmax(1).tolist() == [0, 1, 2, 1]
    assert found.predicted.tolist() == [0, 1, 0, 2]
    H = torch.arange(6.0).reshape(2, 3, 1)
    pair = found.rows_of(LayerFeatures(H.mean(1), H.mean(1), (H, 2 * H)))
    assert pair[0].flatten().tolist() == [0, 1, 3, 5]
    assert pair[1].flatten().tolist() == [0, 2, 6, 10]
    assert found.rows_of(LayerFeatures(H.mean(1), H.mean(1))) is None


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 2)])
def test_values_of_positions(shape):
    assert read(torch.zeros(shape), torch.zeros(2, 3, 2)).values.shape == (6, 1 if len(shape) == 2 else 2)


def test_outputs_without_positions_have_targets_of_samples():
    assert read(torch.zeros(2, 3), torch.zeros(2, 3)).kept is None


def test_labels_of_minus_100_leave_their_samples_out():
    output = torch.eye(3)
    found = read(torch.tensor([0, -100, 1]), output)
    assert found.kept.tolist() == [True, False, True]
    assert found.values.argmax(1).tolist() == [0, 1]
    assert found.predicted.tolist() == [0, 2]
    H = torch.arange(3.0)[:, None]
    pair = found.rows_of(LayerFeatures(H, 2 * H))
    assert pair[0].flatten().tolist() == [0, 2]
    assert pair[1].flatten().tolist() == [0, 4]
    assert read(torch.full((3,), -100), output).values.shape == (0, 3)
    assert read(torch.tensor([0, -100, 3]), output) is None
