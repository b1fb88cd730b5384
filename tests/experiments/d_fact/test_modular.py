"""The share of a matrix that is circulant."""

import math

import pytest
import torch

from gramian.experiments.d_fact import modular


def test_the_circulant_share_of_random_and_of_circulant_matrices():
    rng = torch.Generator().manual_seed(0)
    p = 31
    noise = torch.randn(p, p, generator=rng, dtype=torch.float64)
    assert modular.circulant_share(noise) == pytest.approx(1 / p, abs=0.03)
    first = torch.randn(p, generator=rng, dtype=torch.float64)
    i = torch.arange(p)
    circulant = first[(i[:, None] - i) % p]
    assert modular.circulant_share(circulant) == pytest.approx(1)
    assert modular.circulant_share(circulant.flip(1)) < 0.2


@pytest.mark.parametrize(
    ("accuracy", "circulant", "delay", "cosine"),
    [(1.0, 0.95, 5.0, 0.2), (0.3, 0.95, -math.inf, 0.2), (1.0, 0.1, 5.0, 1.0)],
)
def test_delays_and_features_count_only_where_something_was_learned(accuracy, circulant, delay, cosine):
    numbers = {"same-features": 0.2}
    for name in ("nfa", "fact"):
        numbers |= {f"accuracy/{name}": accuracy, f"circulant/{name}": circulant, f"delay/{name}": 5.0}
    found = modular.of_learned_features([{"numbers": numbers}])
    assert found == {"delay/nfa/learned": delay, "delay/fact/learned": delay, "same-features/circulant": cosine}
