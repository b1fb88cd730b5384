"""Every option of every update, against the formula spelled out."""

import itertools

import pytest
import torch

from gramian.core import psd_power
from gramian.features import BY_NAME, Agop, Fact, agop
from gramian.features.updates import rescale
from gramian.kernels import Gaussian, KernelOperator, as_metric
from gramian.rfm import KernelMachine


@pytest.fixture
def machine(rng):
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    B = draw(4, 4)
    return KernelMachine(KernelOperator(Gaussian(2.0), draw(30, 4), as_metric(B @ B.T / 4)), draw(30, 2))


SCALES = ["max", "mean", "trace", None]


@pytest.mark.parametrize(
    ("power", "center", "scale", "diagonal"),
    list(itertools.product([1.0, 0.5], [False, True], SCALES, [False, True])),
)
def test_agop_update_is_the_formula_for_every_option(machine, rng, power, center, scale, diagonal):
    M = Agop(power=power, center=center, scale=scale, diagonal=diagonal)(machine, rng)
    A = agop(machine.gradient(machine.X), center=center)
    expected = A.diagonal() ** power if diagonal else psd_power(A, power)
    entries = torch.diag(expected) if diagonal else expected
    divisor = {"max": entries.max(), "mean": entries.diagonal().mean(), "trace": entries.trace(), None: 1.0}[scale]
    torch.testing.assert_close(M, expected / divisor, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("geometric", "scale", "diagonal"), list(itertools.product([False, True], SCALES, [False, True]))
)
def test_fact_update_is_the_formula_for_every_option(machine, rng, geometric, scale, diagonal):
    M = Fact(geometric=geometric, scale=scale, diagonal=diagonal)(machine, rng)
    F, old = machine.fact(), machine.matrix()
    if diagonal:
        f = F.diagonal().abs()
        expected = torch.sqrt(f * old.diagonal()) if geometric else f
    else:
        FM = F @ old if geometric else F
        expected = psd_power(FM @ FM.T, 0.25 if geometric else 0.5)
    torch.testing.assert_close(M, rescale(expected, scale), rtol=1e-8, atol=1e-10)


def test_max_rows_are_a_seeded_random_choice_and_not_the_first_rows(machine):
    some = lambda seed: Agop(max_rows=10, scale=None)(machine, torch.Generator().manual_seed(seed))  # noqa: E731
    assert torch.equal(some(1), some(1))
    assert not torch.allclose(some(1), some(2))
    first = agop(machine.gradient(machine.X)[:10])
    assert not torch.allclose(some(1), first)
    rows = torch.randperm(30, generator=torch.Generator().manual_seed(1))[:10]
    torch.testing.assert_close(some(1), agop(machine.gradient(machine.X)[rows]))
    everything = Agop(max_rows=100)(machine, torch.Generator())
    torch.testing.assert_close(everything, Agop()(machine, torch.Generator()))


@pytest.mark.parametrize("update", BY_NAME.values(), ids=list(BY_NAME))
def test_every_named_update_is_positive_semidefinite(machine, rng, update):
    M = update(machine, rng)
    eigenvalues = M if M.ndim == 1 else torch.linalg.eigvalsh(M)
    assert float(eigenvalues.min()) > -1e-12
    assert float((M if M.ndim == 1 else M.diagonal()).max()) == pytest.approx(1.0)


@pytest.mark.parametrize("make", [lambda: Agop(power=0.0), lambda: Agop(scale="sum"), lambda: Agop(max_rows=0)])
def test_bad_options_are_refused_by_name(make):
    with pytest.raises(ValueError, match=r"power|scale|max_rows"):
        make()
