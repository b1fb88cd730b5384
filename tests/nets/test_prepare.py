"""Samples as tensors: the model's precision, targets in the shape of the output, and the loss that suits them."""

import numpy as np
import pytest
import torch
from torch import nn

from gramian.nets.prepare import infer_loss, input_tensor, model_dtype, target_tensor, try_outputs
from nets.models import seeded


def test_inputs_get_the_precision_of_the_model_and_tokens_stay_whole():
    X = np.arange(6).reshape(2, 3)
    assert input_tensor(seeded(lambda: nn.Linear(3, 1).double()), X).dtype == torch.float64
    assert input_tensor(nn.ReLU(), X).dtype == torch.float32 == model_dtype(nn.ReLU())
    tokens = seeded(lambda: nn.Sequential(nn.Embedding(7, 2), nn.Linear(2, 1)))
    assert input_tensor(tokens, X).dtype == torch.int64
    assert input_tensor(tokens, X.astype(float)).dtype == torch.float64, "seeded models have double precision"


def test_samples_of_another_shape_are_refused_and_the_training_mode_comes_back():
    model = seeded(lambda: nn.Sequential(nn.Linear(3, 2), nn.Dropout())).float()
    model[0].eval()
    assert try_outputs(model, torch.zeros(2, 3)).shape == (2, 2)
    with pytest.raises(ValueError, match=r"does not take samples of shape \(4,\) \(torch.float32\)"):
        try_outputs(model, torch.zeros(2, 4))
    assert (model.training, model[0].training, model[1].training) == (True, False, True)


@pytest.mark.parametrize(
    ("y", "outputs", "loss"),
    [
        (torch.tensor([0, 2, 1]), (3, 3), "cross_entropy"),
        (torch.tensor([0, 1, 1]), (3, 1), "mse"),  # one output has no second class
        (torch.tensor([0.5, 2.0, 1.0]), (3, 1), "mse"),
        (torch.tensor([-1, 1, 1]), (3, 1), "mse"),
        (torch.zeros(3, 2, 2), (3, 4), "mse"),
    ],
)
def test_the_loss_follows_from_targets_and_outputs(y, outputs, loss):
    assert infer_loss(y, torch.zeros(outputs)) == loss


def test_targets_that_fit_no_loss_are_refused():
    with pytest.raises(ValueError, match="fit neither mse nor cross_entropy"):
        infer_loss(torch.tensor([0, 5]), torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"loss mse: targets of shape \(2,\)"):
        target_tensor(torch.zeros(3, 2), torch.zeros(3, 1), "mse", torch.float32)
    with pytest.raises(ValueError, match="needs whole numbers"):
        target_tensor(torch.zeros(3), torch.zeros(3, 2), "cross_entropy", torch.float32)


def test_targets_get_the_shape_and_type_that_the_loss_takes():
    shaped = target_tensor(torch.arange(3), torch.zeros(3, 1), "mse", torch.float64)
    assert (shaped.shape, shaped.dtype) == ((3, 1), torch.float64)
    assert target_tensor(torch.arange(3).int(), torch.zeros(3, 3), "cross_entropy", torch.float32).dtype == torch.int64
    probabilities = torch.full((3, 2), 0.5, dtype=torch.float64)
    assert target_tensor(probabilities, torch.zeros(3, 2), "cross_entropy", torch.float32).dtype == torch.float32
    assert target_tensor(torch.zeros(3), torch.zeros(3, 1), "user:loss", torch.float32).shape == (3,)


def test_a_trial_leaves_the_samples_as_they_were():
    X = torch.ones(4, 3)
    try_outputs(nn.ReLU(inplace=True), X.neg_()[:2])
    assert torch.equal(X, -torch.ones(4, 3))
