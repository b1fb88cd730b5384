"""One step on one sample: the actual shift in the letters of the proof."""

import torch

from gramian.experiments.e_gram import virtual_updates
from gramian.experiments.e_gram.virtual_updates import LIPSCHITZ, SampleSteps


def test_the_state_moves_along_its_slope_times_the_virtual_update():
    """z⁺ = z + ‖x‖² φ′(z) · virtual, so that h⁺ = φ(z⁺)."""
    actual, virtual, z = virtual_updates.move("tanh", SampleSteps(5), 0.3, 0.8, torch.Generator().manual_seed(0))
    slope = 1 - torch.tanh(z).square()
    torch.testing.assert_close(actual, torch.tanh(z + 0.64 * slope * virtual) - torch.tanh(z))


def test_the_constants_bound_the_slopes_and_are_nearly_attained():
    z = torch.linspace(-6, 6, 100_001, dtype=torch.float64)
    for name, constant in LIPSCHITZ.items():
        points = z.clone().requires_grad_()
        value = virtual_updates.ACTIVATIONS[name]()(points).sum()
        largest = float(torch.autograd.grad(value, points)[0].max())
        assert constant - 1e-4 < largest <= constant
