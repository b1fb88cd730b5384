"""Rows held by the workers of a cluster: the results of rows in memory."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from gramian.core.rows import MemoryRows, Rows, RowSource
from gramian.distributed import Cluster, ClusterRows


@dataclass(frozen=True)
class NormalEquations:
    """Normal equations of a block, like the functions of a solver: with data of its own, and an argument."""

    shift: torch.Tensor

    def __call__(self, block, factor):
        X = block.X.double() - self.shift
        weights = torch.ones(len(block), dtype=torch.float64) if block.weights is None else block.weights
        return X.mT @ (weights[:, None] * block.Y) * factor, torch.tensor(len(block))


def positions(block):
    return torch.arange(block.start, block.start + len(block))


@pytest.fixture
def rows(rng):
    n = 9000
    return Rows(
        torch.randn(n, 5, generator=rng),
        torch.randn(n, 2, generator=rng, dtype=torch.float64),
        torch.rand(n, generator=rng, dtype=torch.float64),
    )


def test_rows_on_workers_are_a_source_like_rows_in_memory(client, rows):
    here, there = MemoryRows(rows), Cluster(client).source(rows)
    assert isinstance(there, RowSource)
    assert (there.n_rows, there.n_columns, there.n_outputs, there.dtype) == (9000, 5, 2, torch.float32)
    function = NormalEquations(torch.ones(5, dtype=torch.float64))
    for factor in (1.0, 3.0):
        expected, count = here.reduce(function, factor)
        found, counted = there.reduce(function, factor)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-9)
        assert int(counted) == int(count) == 9000
    assert torch.equal(there.reduce(function, 2.0)[0], there.reduce(function, 2.0)[0]), "the same bits each time"
    assert torch.equal(there.map(positions), torch.arange(9000))


@pytest.mark.parametrize("indices", [[8999, 0, 4000, 4000], [5], list(range(100))])
def test_rows_are_taken_in_the_requested_order(client, rows, indices):
    taken = Cluster(client).source(rows).take(torch.tensor(indices))
    assert torch.equal(taken.X, rows.X[indices])
    assert torch.equal(taken.Y, rows.Y[indices])
    assert torch.equal(taken.weights, rows.weights[indices])


def block_or_error(i):
    if i == 1:
        raise ValueError("this block cannot be read")
    return Rows(torch.full((10, 2), float(i)), torch.zeros(10, 1, dtype=torch.float64))


@dataclass(frozen=True)
class ErrorOrWait:
    """Raise for the first block; for another, wait until there is a file, and then make another file."""

    folder: Path

    def __call__(self, block):
        if block.X[0, 0] == 0:
            raise ValueError("this task fails")
        deadline = time.monotonic() + 60
        while not (self.folder / "go on").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        (self.folder / "ended").touch()
        return block.X[:, 0]


def source_of(client, numbers):
    workers = list(client.scheduler_info()["workers"])
    blocks = [
        client.submit(block_or_error, i, pure=False, workers=[workers[place % 2]]) for place, i in enumerate(numbers)
    ]
    return ClusterRows.of(blocks, block_or_error(0), [10] * len(blocks), Cluster(client).held)


def test_the_error_of_a_block_is_raised(client):
    """It has no worker that holds it; a source that waits for one would wait for ever."""
    with pytest.raises(ValueError, match="this block cannot be read"):
        source_of(client, [0, 1, 2]).load()


def test_the_error_of_a_task_is_raised_while_others_are_running(client, tmp_path):
    with pytest.raises(ValueError, match="this task fails"):
        source_of(client, [0, 2]).map(ErrorOrWait(tmp_path))
    assert not (tmp_path / "ended").exists()
    (tmp_path / "go on").touch()


def test_all_rows_can_be_loaded(client, rows):
    loaded = Cluster(client).source(rows).load()
    assert torch.equal(loaded.X, rows.X)
    assert torch.equal(loaded.weights, rows.weights)
