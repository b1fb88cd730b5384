"""Paper D: the data set that separates FACT from the AGOP."""

import re
from functools import cache
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from gramian.core import cosine
from gramian.theory import (
    Separation,
    minimise,
    minimum_norm_cost,
    minimum_norm_network,
    quadratic_form,
    random_start,
    separation_by_decay,
)

F64 = torch.float64


def cost(a, W):
    return float(a.square().sum() + W.square().sum())


def test_population_is_the_papers():
    task = Separation(tau=0.3, p=0.2)
    x, p, y = task.inputs(), task.probabilities(), task.targets()
    assert p.sum().item() == pytest.approx(1.0)
    assert sorted(map(tuple, x[:81].tolist())) == sorted(
        (float(i), float(j), float(k), float(l))
        for i in range(3) for j in range(3) for k in range(3) for l in range(3)
    )  # fmt: skip
    assert x[81].tolist() == [1, 1, 0, 0]
    assert p[81].item() == pytest.approx(0.8)
    assert_close(y, torch.einsum("ni,ij,nj->n", x, task.target_form(), x))


def test_loss_and_matrices_equal_their_autograd_twins():
    """FACT by its definition: the population mean of −∇ₓℓ xᵀ / λ, one point at a time."""
    task = Separation(tau=0.3, p=0.2, weight_decay=0.1)
    rng = torch.Generator().manual_seed(6)
    a, W = torch.randn(5, generator=rng, dtype=F64), torch.randn(5, 4, generator=rng, dtype=F64)
    total, A, F = 0.0, torch.zeros(4, 4, dtype=F64), torch.zeros(4, 4, dtype=F64)
    for x, p, y in zip(task.inputs(), task.probabilities(), task.targets(), strict=True):
        x = x.clone().requires_grad_()
        f = a @ (W @ x).square()
        (g,) = torch.autograd.grad(f, x, retain_graph=True)
        (v,) = torch.autograd.grad((f - y) ** 2, x)
        total += float(p * (f.detach() - y) ** 2)
        A += p * torch.outer(g, g)
        F -= p * torch.outer(v, x.detach()) / 0.1
    M = task.feature_matrices(a, W)
    assert float(task.loss(a, W)) == pytest.approx(total + 0.05 * cost(a, W), rel=1e-12)
    assert_close(M["agop"], A)
    assert_close(M["fact"], F)
    assert_close(M["nfm"], W.mT @ W)


def start(seed):
    return random_start(torch.Generator().manual_seed(seed))


@cache
def minimum(weight_decay, seed):
    """The network trained from a random start, once for all tests."""
    return minimise(Separation(weight_decay=weight_decay), start(seed))


@pytest.fixture(scope="module")
def separated():
    task = Separation()
    return task, [minimum(task.weight_decay, seed) for seed in (0, 1)]


def test_fact_holds_and_the_agop_is_uncorrelated(separated):
    """Paper D, Theorem 3.4: FACT ≥ 0.99, AGOP < 0.1."""
    task, runs = separated
    for run in runs:
        assert run.residual < 1e-4
        M = task.feature_matrices(run.a, run.W)
        assert cosine(M["fact"], M["nfm"]) > 0.9999
        assert cosine(M["agop"], M["nfm"]) < 0.1


def test_trained_network_is_the_minimum_norm_network_of_its_function(separated):
    """Two routes to one matrix: L-BFGS on 50 weights, and the closed form applied to the learned function."""
    _, runs = separated
    for run in runs:
        Q = quadratic_form(run.a, run.W)
        _, W = minimum_norm_network(Q)
        assert_close(run.W.mT @ run.W, W.mT @ W, atol=1e-5, rtol=0)
        assert cost(run.a, run.W) == pytest.approx(minimum_norm_cost(Q), rel=1e-6)
        # Stationarity of one neuron alone says ‖w‖² = 2a².
        assert_close(run.W.square().sum(1), 2 * run.a.square(), atol=1e-5, rtol=0)


def test_different_starts_reach_the_same_minimum(separated):
    task, runs = separated
    assert runs[0].loss == pytest.approx(runs[1].loss, rel=1e-9)
    zero = task.loss(torch.zeros(1, dtype=F64), torch.zeros(1, 4, dtype=F64))
    assert runs[0].loss < 0.01 * float(zero)


def test_as_printed_the_minimiser_is_one_neuron_and_the_agop_agrees():
    """Fig. 4's τ = 0.02, p = λ = 1e-5: one vector rules both, even starting from the target itself."""
    task = Separation(weight_decay=1e-5)
    assert (task.tau, task.p) == (0.02, 1e-5)
    target = minimum_norm_network(task.target_form(), width=10)
    runs = [minimum(1e-5, 0), minimum(1e-5, 1), minimise(task, target)]
    for run in runs:
        assert run.residual < 1e-4
        M = task.feature_matrices(run.a, run.W)
        assert torch.linalg.matrix_rank(quadratic_form(run.a, run.W), atol=1e-6) == 1
        assert cosine(M["fact"], M["nfm"]) > 0.9999
        assert cosine(M["agop"], M["nfm"]) > 0.9999
        assert run.loss == pytest.approx(runs[0].loss, rel=1e-9)


def table_of_the_page():
    """λ → (FACT, AGOP, √AGOP, rank) as docs/theory.md shows them."""
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text()
    table = page.split("| rank of the minimiser |")[1].split("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if re.match(r"\| \d", line)]
    return {float(cells[0].split()[0]): [float(cell) for cell in cells[1:]] for cells in rows}


def check_table(decays, starts):
    shown = table_of_the_page()
    for row in separation_by_decay(decays, torch.Generator().manual_seed(0), starts=starts):
        assert [row.fact, row.agop, row.agop_half, row.rank] == pytest.approx(shown[row.weight_decay], abs=6e-4)


def test_the_page_shows_the_printed_and_the_default_decay():
    assert Separation().weight_decay == 1e-6
    check_table([1e-5, 1e-6], starts=1)


@pytest.mark.slow
def test_the_page_shows_every_decay():
    check_table(list(table_of_the_page()), starts=5)


def test_the_separated_network_is_no_better_minimum_at_the_printed_decay(separated):
    """At λ = 1e-5 the separated network costs more than the single neuron."""
    _, runs = separated
    task = Separation(weight_decay=1e-5)
    one_neuron = minimum(1e-5, 0).loss
    assert float(task.loss(runs[0].a, runs[0].W)) > 1.2 * one_neuron
