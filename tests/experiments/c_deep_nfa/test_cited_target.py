"""The target of the cited code: its draws, one noise for all sizes, and the distance from the print."""

import math

import numpy as np
import pytest
from scipy.stats import ortho_group

from gramian.experiments.c_deep_nfa.cited_target import CitedTarget, cited_data, cited_target
from gramian.experiments.c_deep_nfa.columns import cell_name
from gramian.experiments.c_deep_nfa.printed_tables import PRINTED
from gramian.experiments.c_deep_nfa.setting import DECAYS, NOISES


def test_rows_are_the_first_ones_of_the_draw_and_uniform():
    X, _ = cited_data(2, noises=(0.0,), rows=400)
    drawn = np.random.RandomState(1).rand(20 * 2**18)
    assert X[:, 0].numpy() == pytest.approx(drawn[:400] - 0.5)
    assert X[:, 3].numpy() == pytest.approx(drawn[3 * 2**18 : 3 * 2**18 + 400] - 0.5)
    assert float(X.abs().max()) <= 0.5
    assert float(X.var()) == pytest.approx(1 / 12, rel=0.05)


@pytest.mark.parametrize("rank", [2, 20])
def test_values_are_those_of_a_naive_target_and_noises_differ_in_size_only(rank):
    X, Y = cited_data(rank, noises=(0.0, 1.0, 2.0), rows=50)
    rng = np.random.RandomState(42)
    U, sigma, V = (
        ortho_group.rvs(21, random_state=rng),
        rng.uniform(0, 100, rank),
        ortho_group.rvs(20, random_state=rng),
    )
    a, b = rng.normal(size=21), rng.uniform(-0.5, 0.5, 21)
    A = sum(sigma[k] * np.outer(U[:, k], V[:, k]) for k in range(rank))
    for x, y in zip(X.double().numpy(), Y[0, :, 0].tolist(), strict=True):
        assert y == pytest.approx(sum(a[j] * max(A[j] @ x + b[j], 0.0) for j in range(21)), rel=1e-4, abs=1e-4)
    noise = (Y[1] - Y[0])[:, 0]
    assert noise.numpy() == pytest.approx(rng.normal(size=50), abs=1e-4)
    assert (Y[2] - Y[0])[:, 0].numpy() == pytest.approx(2 * noise.numpy(), abs=1e-4)


@pytest.mark.parametrize(("rank", "optimiser", "rows"), [(2, "gd", 64), (20, "gdm", 64)])
def test_the_distance_is_that_of_the_cells_with_a_number_in_print(rank, optimiser, rows):
    spec = CitedTarget(rank, optimiser, depth=5, epochs=12, tail=2, rows=rows)
    numbers = cited_target(spec, seed=0).numbers
    name = f"rank {rank}, {optimiser}, L=5"
    cells = [(decay, noise) for decay in DECAYS for noise in NOISES]
    pairs = [
        (numbers[f"rank {rank}, {cell_name(optimiser, 5, *cell)}"], PRINTED[rank][optimiser, 5, *cell])
        for cell in cells
    ]
    kept = [abs(ours - paper) for ours, paper in pairs if not math.isnan(paper)]
    assert len(kept) == (8 if rank == 2 else 3)
    assert numbers[f"{name}: mean distance"] == pytest.approx(np.mean(kept))
    assert numbers.get(f"{name}: share of the printed nan that diverge") == (None if rank == 2 else 0.0)


def test_the_share_that_diverges_is_of_the_cells_that_are_nan_in_print(monkeypatch):
    lost = [(0.0, 1e-5), (0.0, 1e-2), (1.0, 1e-5)]  # noise and decay: two of five nan in print, one of three numbers
    assert [math.isnan(PRINTED[20]["gdm", 5, decay, noise]) for noise, decay in lost] == [True, False, True]

    def diverge(training, X, Y, start):
        return [math.nan if net in lost else 0.9 for net in training.nets]

    monkeypatch.setattr("gramian.experiments.c_deep_nfa.cited_target.train_on", diverge)
    numbers = cited_target(CitedTarget(20, "gdm", rows=8), seed=0).numbers
    assert numbers["rank 20, gdm, L=5: share of the printed nan that diverge"] == pytest.approx(2 / 5)
    assert math.isnan(numbers["rank 20, gdm, L=5: mean distance"])
