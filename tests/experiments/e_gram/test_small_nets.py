"""Networks of paper E: the initialisation of torch, from a generator of their own, and inputs of layers."""

import pytest
import torch

from gramian.experiments.e_gram.small_nets import layer_inputs, linear_layers, perceptron


def test_weights_and_biases_are_uniform_as_those_of_torch():
    before = torch.random.get_rng_state()
    model = perceptron((400, 300, 2), "gelu", torch.Generator().manual_seed(0))
    assert torch.equal(before, torch.random.get_rng_state())
    for layer in linear_layers(model):
        bound = layer.in_features**-0.5
        for parameter in layer.parameters():
            assert parameter.abs().max() <= bound
    weight = linear_layers(model)[0].weight
    assert weight.std().item() == pytest.approx(400**-0.5 / 3**0.5, rel=0.01)


def test_each_layer_reads_the_output_of_the_one_before(rng):
    model = perceptron((3, 5, 4, 2), "tanh", rng, bias=False, dtype=torch.float64)
    X = torch.randn(6, 3, generator=rng, dtype=torch.float64)
    inputs, output = layer_inputs(model, X)
    first, second, third = (layer.weight for layer in linear_layers(model))
    torch.testing.assert_close(inputs[2], torch.tanh(torch.tanh(X @ first.T) @ second.T))
    torch.testing.assert_close(output, inputs[2] @ third.T)
    with pytest.raises(ValueError, match="activation must be"):
        perceptron((3, 2), "sine", rng)
