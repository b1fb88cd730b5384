"""Data that is read several times gives the same samples each time, or an error or a warning says that it does not."""

import math

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, TensorDataset

from gramian.nets import InspectOptions, inspect
from gramian.nets.batches import Batch
from gramian.nets.reading import Totals
from nets.models import mlp, seeded

X = torch.randn(60, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
Y = torch.arange(60) % 3
ONE_AT_A_TIME = InspectOptions(layers_at_a_time=1)


class Watched(TensorDataset):
    """The samples, and the numbers of those that were read."""

    def __init__(self):
        super().__init__(X, Y)
        self.read = []

    def __getitem__(self, index):
        self.read.append(index)
        return super().__getitem__(index)


def generator():
    return torch.Generator().manual_seed(7)


def by_sampler(data):
    return DataLoader(data, batch_size=10, sampler=RandomSampler(data, generator=generator()))


def by_batch_sampler(data):
    return DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data, generator=generator()), 10, False))


LOADERS = {
    "torch's generator": lambda data: DataLoader(data, batch_size=10, shuffle=True),
    "its own generator": lambda data: DataLoader(data, batch_size=10, shuffle=True, generator=generator()),
    "that of its sampler": by_sampler,
    "that of its batch sampler": by_batch_sampler,
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_shuffled_loader_has_the_same_samples_in_every_part(name):
    """With 20 of 60 samples, the rows of one table would otherwise be of different ones."""
    model, how = seeded(mlp), {"loss": "cross_entropy", "weight_decay": 0.1, "max_samples": 20}
    with torch.random.fork_rng():
        torch.manual_seed(5)
        whole = inspect(model, LOADERS[name](Watched()), **how)
        torch.manual_seed(5)
        parts = inspect(model, LOADERS[name](Watched()), **how, options=ONE_AT_A_TIME)
    assert parts.settings == whole.settings
    for one, two in zip(parts.rows, whole.rows, strict=True):
        for column in ("nfa_half_cos", "fact_cos", "nc1", "nc4"):
            assert one[column] == pytest.approx(two[column], abs=1e-12, nan_ok=True), column


@pytest.mark.parametrize("name", LOADERS)
def test_nc4_has_the_samples_of_the_class_means(name):
    data = Watched()
    with torch.random.fork_rng():
        report = inspect(seeded(mlp), LOADERS[name](data), max_samples=20)
    assert len(data.read) == 40
    assert data.read[:20] == data.read[20:]
    assert not math.isnan(report.rows[0]["nc4"])


def test_generators_of_a_loader_are_left_as_they_were():
    own = generator()
    inspect(seeded(mlp), DataLoader(Watched(), batch_size=10, shuffle=True, generator=own))
    assert torch.equal(own.get_state(), generator().get_state())


class Changing(Dataset):
    """Other samples at each reading, by a generator that is not torch's."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def __len__(self):
        return 60

    def __getitem__(self, index):
        other = int(self.rng.integers(60))
        return X[other], Y[other]


class Once:
    """Not an iterator, although it can be read once only."""

    def __init__(self):
        self.batches = iter([(X[:30], Y[:30]), (X[30:], Y[30:])])

    def __iter__(self):
        return self.batches


@pytest.mark.parametrize("build", [lambda: DataLoader(Changing(), batch_size=10), Once])
def test_other_samples_are_noticed(build):
    with torch.random.fork_rng(), pytest.warns(UserWarning, match="other samples when it was read again for NC4"):
        report = inspect(seeded(mlp), build())
    assert math.isnan(report.rows[0]["nc4"])
    assert not math.isnan(report.rows[0]["nc1"])
    with torch.random.fork_rng(), pytest.raises(ValueError, match=r"layers_at_a_time .* gave other samples"):
        inspect(seeded(mlp), build(), options=ONE_AT_A_TIME)


def test_samples_in_another_order_are_the_same(recwarn):
    class Reordered:
        times = 0

        def __iter__(self):
            self.times += 1
            order = torch.randperm(60, generator=torch.Generator().manual_seed(self.times))
            return zip(X[order].split(10), Y[order].split(10), strict=True)

    model = seeded(mlp)
    found, expected = inspect(model, Reordered()), inspect(model, (X, Y))
    assert [row["nc4"] for row in found.rows] == [row["nc4"] for row in expected.rows]
    assert not [one for one in recwarn if "other samples" in str(one.message)]


def test_totals_of_any_tensor():
    def totals(*tensors):
        found = Totals()
        found.add(Batch(tensors, {}, None, 2))
        return found

    odd = torch.tensor([math.nan, math.inf])
    assert totals(odd).agree(totals(odd))
    assert totals(torch.tensor([1j, 2])).agree(totals(torch.tensor([2, 1j])))
    assert not totals(torch.tensor([1.0, -1.0])).agree(totals(torch.tensor([1.0, 1.0])))
    assert not totals(torch.tensor([1, 2])).agree(totals(torch.tensor([1, 3])))
    assert totals(torch.eye(2).to_sparse()).agree(totals(torch.eye(2).to_sparse()))


def test_a_mask_of_the_least_number_is_the_same_each_time():
    """Its sums are infinite."""
    mask = torch.full((60, 4), torch.finfo(torch.float64).min, dtype=torch.float64)

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(5, 3)

        def forward(self, x, mask):
            return self.a(x) + 0 * mask.clamp(min=-1).sum(1, keepdim=True)

    report = inspect(seeded(Masked), (X, mask, Y), batch_size=20)
    assert not math.isnan(report.rows[0]["nc4"])


def test_a_loader_whose_workers_stay_has_the_same_samples_each_time():
    """Its first iterator draws one number more than the later ones."""
    loader = DataLoader(
        TensorDataset(X, Y), batch_size=16, shuffle=True, drop_last=True, num_workers=1, persistent_workers=True
    )
    with torch.random.fork_rng():
        report = inspect(seeded(mlp), loader)
    assert not math.isnan(report.rows[0]["nc4"])


def test_totals_look_at_few_entries_of_a_picture():
    picture, other = torch.zeros(2, 3, 64, 64), torch.zeros(2, 3, 64, 64)
    other[1] += 1
    one, two = Totals(), Totals()
    one.add(Batch((picture,), {}, None, 2))
    two.add(Batch((other,), {}, None, 2))
    assert one.entries == two.entries == picture.numel()
    assert not one.agree(two)
    assert two.total <= 2 * 256
