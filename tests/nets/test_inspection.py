"""inspect as a whole: models that it refuses, the generator, and weights at initialisation."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from gramian.nets import Monitor, inspect
from nets.models import mlp, seeded


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_model_that_draws_random_numbers_does_not_advance_the_generator():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(5, 2)

        def forward(self, x):
            return self.a(x + torch.randn_like(x))

    state = torch.get_rng_state()
    inspect(seeded(Noisy), data())
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: nn.ReLU(), "no weight matrix"),
        (lambda: nn.Sequential(nn.Linear(5, 2), nn.Flatten(0)), "first dimension must be"),
    ],
)
def test_models_that_cannot_be_measured_say_so(model, words):
    with pytest.raises(ValueError, match=words):
        inspect(seeded(model), data())


def test_non_finite_output_is_refused():
    with pytest.raises(ValueError, match="not finite in batch 0"):
        inspect(seeded(mlp), data() * float("inf"))


def test_initial_weights_of_a_network_with_batch_norm():
    """Buffers of the initial state never require gradients."""

    def build():
        return nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))

    model, start = seeded(build), seeded(build, seed=3)
    start[1].running_mean += 0.5
    report = inspect(model, data(), initial=start)
    assert report.matrix("0", "ptk_change").shape == (8, 8)
    assert Monitor(model, data()).step() is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_data_of_another_type_than_the_model_is_explained(dtype):
    with pytest.raises(ValueError, match=rf"the data is torch.float64 and the model {dtype}: convert the data"):
        inspect(seeded(mlp, dtype=dtype), data())
    with pytest.raises(ValueError, match="convert the data"):
        inspect(seeded(mlp, dtype=dtype), data().numpy())


def test_a_model_without_weights_is_explained():
    with pytest.raises(ValueError, match="on the meta device, which holds no weights"):
        inspect(nn.Linear(5, 2, device="meta"), data())


@pytest.mark.parametrize("device", ["meta", torch.device("meta"), "cuda:77", "nonsense"])
def test_a_device_that_cannot_be_used_is_refused_before_the_model_moves(device):
    model = seeded(mlp)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(ValueError, match="device="):
        inspect(model, data(), device=device)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())


class Stream(IterableDataset):
    """A dataset without a length, so that a loader over it has none either."""

    def __iter__(self):
        return iter([(row, 0) for row in data()])


@pytest.mark.parametrize("error", [TypeError, NotImplementedError])
def test_a_stream_without_a_length_is_read(error):
    class Loader:
        def __len__(self):
            raise error("no length")

        def __iter__(self):
            return iter([data()[:4], data()[4:]])

    model = seeded(mlp)
    expected = inspect(model, data()).matrix("0", "agop")
    with torch.random.fork_rng():
        for given in (Loader(), DataLoader(Stream(), batch_size=4)):
            np.testing.assert_allclose(inspect(model, given).matrix("0", "agop"), expected, rtol=1e-12)
        assert Monitor(model, DataLoader(Stream(), batch_size=4)).step() is not None
