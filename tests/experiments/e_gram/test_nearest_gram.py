"""The whitened update against brute force, and the authors' ten Newton–Schulz steps."""

import pytest
import torch

from gramian.experiments.e_gram import nearest_gram
from gramian.experiments.e_gram.nearest_gram import LayerSizes, gram_error, least_distance, ten_steps, whitened_update
from gramian.optim import nearest_with_gram, polar


def test_the_least_distance_by_all_rotations_of_the_plane(rng):
    W1, W2 = (torch.randn(2, 3, generator=rng, dtype=torch.float64) for _ in range(2))
    best = float("inf")
    for angle in torch.linspace(0, 2 * torch.pi, 20_001, dtype=torch.float64):
        c, s = angle.cos(), angle.sin()
        for Q in (torch.stack([c, -s, s, c]).reshape(2, 2), torch.stack([c, s, s, -c]).reshape(2, 2)):
            best = min(best, float((W1 - Q @ W2).norm()))
    assert least_distance(W1, W2) == pytest.approx(best, rel=1e-6)
    assert float((W1 - nearest_with_gram(W1, W2)).norm()) == pytest.approx(best, rel=1e-6)


def test_ten_steps_are_the_polar_factor_of_a_well_conditioned_matrix_only(rng):
    Q = torch.linalg.qr(torch.randn(6, 6, generator=rng, dtype=torch.float64))[0]
    near = Q @ torch.diag(torch.linspace(1, 2, 6, dtype=torch.float64))
    torch.testing.assert_close(ten_steps(near), polar(near), rtol=0, atol=1e-8)
    far = Q @ torch.diag(torch.tensor([1e-6, 1, 1, 1, 1, 1], dtype=torch.float64))
    assert float((ten_steps(far) - polar(far)).norm()) > 0.9


def test_another_matrix_with_that_gram_is_farther_and_another_gram_is_seen(rng):
    W1, W2 = nearest_gram.plain_step((5, 8), 0.1, rng)
    assert gram_error(W1, W1, W2) == pytest.approx(1)
    assert nearest_gram.nearest_of_rotations(W2, W1, 20, rng) > 1 + 1e-7
    assert nearest_gram.nearest_of_rotations(nearest_with_gram(W1, W2), W1, 20, rng) <= 1 + 1e-12
    flipped = -nearest_with_gram(W1, W2)
    assert gram_error(flipped, W1, W2) < 1e-10
    assert float((W1 - flipped).norm()) > 5 * least_distance(W1, W2)


def test_the_numbers_of_small_layers():
    numbers = whitened_update(LayerSizes(6, 12), 0).numbers
    assert numbers["gram/square"] < 1e-9
    assert numbers["nearest/wide"] == pytest.approx(1, abs=1e-6)
    assert 0.99 < numbers["rotated/square"] <= 1 + 1e-12
