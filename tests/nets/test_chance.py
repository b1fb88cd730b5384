"""Cosines by chance agree with Monte Carlo draws of the null models, and with untrained networks."""

import math

import pytest
import torch
from torch import nn

from gramian.core import cosine, haar, psd_power
from gramian.nets import inspect
from gramian.nets.chance import (
    Invariants,
    RandomKernel,
    random_eigenvectors,
    random_eigenvectors_of_power,
    random_kernel_cosine,
    relative_spread,
)
from gramian.nets.decompositions import Decompositions
from nets.models import full_report, seeded

RNG = torch.Generator().manual_seed(0)


def gaussian(*shape):
    return torch.randn(*shape, generator=RNG, dtype=torch.float64)


def spectrum(W):
    return torch.linalg.svdvals(W).square()


@pytest.mark.parametrize("d", [2, 5, 12])
@pytest.mark.parametrize("symmetric", [True, False])
def test_random_eigenvectors_have_the_mean_and_the_spread_of_rotated_matrices(d, symmetric):
    A = gaussian(d, d)
    A, B = A @ A.mT, gaussian(d, d) + torch.eye(d)
    B = B @ B.mT if symmetric else B
    draws = torch.tensor([cosine(A, U @ B @ U.mT) for U in (haar(d, RNG) for _ in range(4000))])
    found = random_eigenvectors([Invariants.of(A)], [Invariants.of(B)])
    assert found.mean == pytest.approx(float(draws.mean()), abs=4 * found.sd / math.sqrt(4000))
    assert found.sd == pytest.approx(float(draws.std()), rel=0.08)


def test_random_eigenvectors_of_blocks_turn_each_block():
    A, B = ([M @ M.mT for M in gaussian(2, 4, 4)] for _ in range(2))
    draws = []
    for _ in range(3000):
        turned = [U @ one @ U.mT for one, U in zip(B, (haar(4, RNG), haar(4, RNG)), strict=True)]
        draws.append(cosine(torch.stack(A), torch.stack(turned)))
    drawn = torch.tensor(draws)
    found = random_eigenvectors([Invariants.of(M) for M in A], [Invariants.of(M) for M in B])
    assert found.mean == pytest.approx(float(drawn.mean()), abs=4 * found.sd / math.sqrt(3000))
    assert found.sd == pytest.approx(float(drawn.std()), rel=0.08)


def test_matrices_of_one_direction_or_zero():
    one = Invariants.of(torch.ones(1, 1))
    assert random_eigenvectors([one], [one]).mean == 1
    assert math.isnan(random_eigenvectors([one], [Invariants.of(torch.zeros(1, 1))]).mean)


@pytest.mark.parametrize("shape", [(9, 5), (5, 9), (6, 6), (1, 4)])
@pytest.mark.parametrize("power", [0.5, 1.0])
def test_a_random_kernel_has_the_cosines_of_its_definition(shape, power):
    """``ρ(WᵀW, (WᵀQW)^s)`` with the spectrum of K in random directions, on the whole matrices."""
    m, k = shape
    W, K = gaussian(m, k), gaussian(m, 3)
    K = K @ K.mT + 0.1 * torch.eye(m)
    naive = torch.tensor([
        cosine(W.mT @ W, psd_power(W.mT @ (U @ K @ U.mT) @ W, power)) for U in (haar(m, RNG) for _ in range(600))
    ])  # fmt: skip
    drawn = torch.tensor([RandomKernel.draw([spectrum(W)], [K], seed=100 * i).cosine(power).mean for i in range(19)])
    error = float(naive.std() / math.sqrt(600) + drawn.std() / math.sqrt(19))
    assert float(drawn.mean()) == pytest.approx(float(naive.mean()), abs=4 * error + 1e-9)
    found = RandomKernel.draw([spectrum(W)], [K])
    assert found.cosine(power).sd == pytest.approx(float(naive.std()), rel=0.6, abs=1e-6)
    assert found.best().mean >= found.cosine(power).mean - 1e-9
    if power == 1:
        assert random_kernel_cosine([spectrum(W)], [K]).mean == pytest.approx(found.cosine(1.0).mean, abs=1e-9)


def test_the_spread_in_closed_form_is_that_of_the_product():
    W, K = gaussian(7, 5), gaussian(7, 7)
    K, B = K @ K.mT, W @ W.mT
    products = torch.tensor([float((B @ B * (U @ K @ U.mT)).sum()) for U in (haar(7, RNG) for _ in range(4000))])
    assert relative_spread([spectrum(W)], [K]) == pytest.approx(float(products.std() / products.mean()), rel=0.08)


@pytest.mark.parametrize("power", [0.03, 0.5, 1.0])
def test_draws_of_wide_layers_in_float32_agree_with_float64(monkeypatch, power):
    W, K = gaussian(160, 150), gaussian(160, 200)
    K = K @ K.mT
    single = RandomKernel.draw([spectrum(W)], [K])
    monkeypatch.setattr("gramian.nets.chance.WIDE", 1000)
    double = RandomKernel.draw([spectrum(W)], [K])
    # Other random frames are drawn in another precision, and wide layers hardly vary between draws.
    assert single.cosine(power).mean == pytest.approx(double.cosine(power).mean, abs=0.01)


def test_the_columns_are_the_null_models_of_their_cosines():
    report = full_report()
    for entry in report.rows:
        record = report.record(entry["layer"])
        family = Decompositions(record.sums).family("agop")
        A = torch.from_numpy(report.matrix(entry["layer"], "agop"))
        S = torch.from_numpy(report.matrix(entry["layer"], "nfm"))
        half = psd_power(A, 0.5)
        found = random_eigenvectors([Invariants.of(S)], [Invariants.of(half)])
        assert entry["nfa_half_random"] == pytest.approx(found.mean, abs=1e-7)
        assert random_eigenvectors_of_power(family, 0.5).sd == pytest.approx(found.sd, abs=1e-7)
        F = torch.from_numpy(report.matrix(entry["layer"], "fact"))
        fact = random_eigenvectors([Invariants.of(S)], [Invariants.of(F)])
        assert entry["fact_chance"] == pytest.approx(fact.mean, abs=1e-9)
        assert entry["fact_chance_sd"] == pytest.approx(fact.sd, abs=1e-9)
        chance = entry["nfa_half_chance"]
        assert entry["nfa_half_excess"] == pytest.approx((entry["nfa_half_cos"] - chance) / (1 - chance), abs=1e-6)
        assert 0 < entry["c_nfa_chance"] <= 1
        assert 0 < entry["enfa_half_chance"] < 1
    last = report.rows[-1]
    assert last["nfa_half_chance"] == pytest.approx(last["nfa_half_cos"]), "K = I: chance has the whole cosine"
    assert last["c_nfa_chance"] == pytest.approx(last["c_nfa_cos"])


def test_the_untrained_network_is_the_one_with_the_initial_weights():
    build = lambda: nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))  # noqa: E731
    model, start, X = seeded(build), seeded(build, seed=5), gaussian(30, 5)
    report, before = inspect(model, X, initial=start), inspect(start, X)
    for now, then in zip(report.rows, before.rows, strict=True):
        for name in ("nfa", "nfa_half", "nfa_depth", "nfa_best"):
            assert now[f"{name}_untrained"] == pytest.approx(then[f"{name}_cos"], abs=1e-9)
        assert math.isnan(then["nfa_untrained"])
    some = inspect(model, X, initial=start, outputs=400)
    assert some.rows[0]["nfa_half_untrained"] == pytest.approx(before.rows[0]["nfa_half_cos"], abs=0.02)
