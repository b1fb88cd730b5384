"""Moments of gradients that a pool sums: the same as those of the machine itself."""

from dataclasses import dataclass

import pytest
import torch

from gramian.core.pool import Serial, Threads
from gramian.features import Agop, Fact
from gramian.kernels import KernelOperator, Laplace
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training import pooled_moments
from gramian.rfm.training.pooled_moments import PooledMachine
from gramian.rfm.training.rounds import next_metric
from small_training import make_candidate


@dataclass(frozen=True)
class Backwards(Serial):
    """A pool whose last part is finished first."""

    remote: bool = True

    def run(self, function, shared, items):
        yield from reversed(list(super().run(function, shared, items)))


@pytest.fixture
def machine(rng, request):
    X = torch.randn(200, 3, generator=rng, dtype=torch.float64)
    coef = torch.randn(200, 2, generator=rng, dtype=torch.float64)
    weights = torch.rand(200, generator=rng, dtype=torch.float64) if request.param else None
    return KernelMachine(KernelOperator(Laplace(2.0), X), coef, weights)


BOTH = pytest.mark.parametrize("machine", [False, True], indirect=True, ids=["", "weights"])


@BOTH
@pytest.mark.parametrize("some_rows", [False, True])
def test_moments_are_those_of_the_machine(machine, some_rows, rng, monkeypatch):
    monkeypatch.setattr(pooled_moments, "_MIN_ROWS", 30)
    rows = torch.randperm(200, generator=rng)[:90] if some_rows else None
    for one, other in zip(machine.moments(rows), PooledMachine(machine, Threads(2)).moments(rows), strict=True):
        torch.testing.assert_close(torch.as_tensor(one), torch.as_tensor(other), rtol=1e-10, atol=1e-12)


@BOTH
def test_the_order_in_which_parts_are_finished_changes_no_bit(machine, monkeypatch):
    monkeypatch.setattr(pooled_moments, "_MIN_ROWS", 30)
    for one, other in zip(*(PooledMachine(machine, pool).moments() for pool in (Serial(), Backwards())), strict=True):
        assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))


@pytest.mark.parametrize("machine", [False], indirect=True)
def test_few_rows_are_summed_here(machine):
    class Forbidden(Serial):
        def run(self, *args):
            raise AssertionError("the transfer costs more than the sum")

    pooled = PooledMachine(machine, Forbidden())
    assert torch.equal(pooled.moments()[0], machine.moments()[0])
    assert torch.equal(pooled.fact(), machine.fact())
    assert torch.equal(pooled.matrix(), machine.matrix())
    assert pooled.n == 200


@BOTH
@pytest.mark.parametrize("update", [Agop(), Agop(max_rows=120), Fact()], ids=str)
def test_the_next_metric_is_the_same_with_a_pool_in_other_processes(machine, update, monkeypatch):
    monkeypatch.setattr(pooled_moments, "_MIN_ROWS", 30)
    candidate = make_candidate(update=update)
    here, there = (next_metric(candidate, machine, 0, pool) for pool in (None, Backwards()))
    torch.testing.assert_close(here.matrix(), there.matrix(), rtol=1e-9, atol=1e-12)
