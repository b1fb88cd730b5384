"""The choice of a solver, and the forecast of memory against the memory that a process really takes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gramian.core import parse_bytes
from gramian.core.memory_forecast import MemoryForecast
from gramian.rfm.options import TreePartition
from gramian.rfm.training import solver_choice
from gramian.rfm.training.solver_choice import (
    choose_part_solvers,
    choose_solver,
    choose_streamed_solver,
    fit_forecast,
    forecast,
    leaf_solver,
    streamed_forecast,
)
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom

SCRIPT = """
import os, sys, warnings
import numpy as np, torch
from pathlib import Path
from gramian import RFMRegressor
from gramian.kernels import Laplace
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom

warnings.simplefilter("ignore")
torch.set_num_threads(1)

def peak():
    status = Path('/proc/self/status').read_text()  # ru_maxrss would be that of the test process where it is larger
    return int(status.split('VmHWM:')[1].split()[0]) * 1024

def model(solver):
    numbers = dict(kernel=Laplace(3.0), ridge=0.1, n_rounds=1, update="agop", dtype="float32", max_memory="4GB")
    return RFMRegressor(solver=solver, **numbers)

for solver in ("direct", "cg", "nystrom", "eigenpro"):
    X = np.random.default_rng(0).normal(size=(600, 10))
    model(solver).fit(X, X[:, 0])  # code and libraries are loaded now
for solver, n, d in {cases}:
    sys.stdout.flush()
    if os.fork() == 0:  # a process of its own has a peak of its own
        X = np.random.default_rng(0).normal(size=(n, d))
        before = peak()
        model(solver).fit(X, X[:, 0])
        print(peak() - before, flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""
CASES = {
    "small": [
        (Direct(), 4500, 10),
        (ConjugateGradient(preconditioner_rank=500), 6500, 10),
        (Nystrom(centers=1800), 4000, 10),
        (Nystrom(centers=100), 3000, 400),
        (EigenPro(epochs=1, subsample=1200), 4000, 10),
    ],
    "large": [
        (Direct(), 7000, 10),
        (ConjugateGradient(preconditioner_rank=700), 9000, 10),
        (Nystrom(centers=2500), 6000, 10),
        (Nystrom(centers=100), 4000, 400),
        (EigenPro(epochs=1, subsample=1500), 6000, 10),
    ],
}


@pytest.fixture(scope="module", params=["small", pytest.param("large", marks=pytest.mark.slow)])
def measured(request):
    """Solver, rows, columns and bytes at the peak of each fit, measured in processes of their own."""
    cases = CASES[request.param]
    command = [sys.executable, "-c", SCRIPT.format(cases=cases)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=environment)
    peaks = [int(line) for line in done.stdout.split()]
    return [(*case, peak) for case, peak in zip(cases, peaks, strict=True)]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a process's own peak")
@pytest.mark.parametrize("case", range(len(CASES["small"])), ids=lambda case: str(CASES["small"][case][0]))
def test_the_forecast_is_near_the_measured_peak(measured, case):
    solver, n, d, peak = measured[case]
    expected = fit_forecast(solver, n, torch.float32, parse_bytes("4GB"), d).peak
    assert 0.5 * expected < peak < 1.15 * expected + parse_bytes("30MB")


def test_less_memory_means_another_solver_and_then_a_refusal():
    chosen = [choose_solver(60_000, torch.float32, parse_bytes(size), 20, 3) for size in ("20GB", "6GB", "1GB")]
    assert [type(one.solver) for one in chosen] == [ConjugateGradient, TreePartition, TreePartition]
    assert [one.forced for one in chosen] == [False, True, True]
    assert "more than 6.0 GB" in chosen[1].why
    for one, size in zip(chosen, ("20GB", "6GB", "1GB"), strict=True):
        assert fit_forecast(one.solver, 60_000, torch.float32, parse_bytes(size), 20, 3).peak <= parse_bytes(size)
    with pytest.raises(ValueError, match=r"60000 rows need at least .* and max_memory is 30.0 MB: raise max_memory"):
        choose_solver(60_000, torch.float32, parse_bytes("30MB"), 20, 3)


def test_the_reason_names_the_budget_and_the_memory_that_would_be_needed():
    assert choose_solver(1000, torch.float64, 10**9).why.endswith("of 1.0 GB")
    without_matrix = choose_solver(1200, torch.float32, parse_bytes("14MB"), 10, 1)
    assert without_matrix.why.startswith("conjugate gradients: a direct solve needs ")
    assert without_matrix.forced
    assert not without_matrix.solver.store_matrix


def test_conjugate_gradients_are_chosen_where_they_are_faster():
    assert isinstance(choose_solver(4000, torch.float32, 10**10).solver, Direct)
    chosen = choose_solver(20_000, torch.float32, 10**10)
    assert not chosen.forced
    assert isinstance(chosen.solver, ConjugateGradient)
    assert chosen.solver.tol == Direct().tol  # the same residual by another way
    assert "faster" in chosen.why
    assert "conjugate" not in chosen.why  # which would be a warning: nothing is lost here
    # Without memory for half a matrix, the choice is a question of memory, and the reason says so.
    assert "needs 1.7 GB" in choose_solver(20_000, torch.float32, 10**9).why


def test_a_choice_forced_by_memory_gives_its_reason():
    assert isinstance(choose_solver(1000, torch.float32, 10**9).solver, Direct)
    chosen = choose_solver(25_000, torch.float32, 10**9)
    assert chosen.forced
    assert isinstance(chosen.solver, ConjugateGradient)
    assert "needs 2.6 GB" in chosen.why
    assert isinstance(choose_solver(50_000, torch.float32, 10**9).solver, TreePartition)
    with pytest.raises(ValueError, match="raise max_memory"):
        choose_solver(10_000_000, torch.float32, 10**6)


def test_nystrom_regression_is_used_where_not_even_a_tree_fits(monkeypatch):
    monkeypatch.setattr(solver_choice, "_NO_MATRIX_ROWS", 1000)
    chosen = choose_solver(1900, torch.float32, parse_bytes("26MB"), 5, 1)
    assert chosen.solver == Nystrom(centers=500)
    assert chosen.why.startswith("Nyström regression on 500 centers: a kernel matrix needs ")


def test_conjugate_gradients_without_a_matrix_are_the_last_resort(monkeypatch):
    """Slow, but where neither a tree nor centres fit, the exact solver without its matrix may."""
    monkeypatch.setattr(solver_choice, "_NO_MATRIX_ROWS", 10)
    monkeypatch.setattr(solver_choice, "_LEAF_ROWS", ())
    monkeypatch.setattr(solver_choice, "_CENTERS", ())
    chosen = choose_solver(1200, torch.float32, parse_bytes("14MB"), 10, 1)
    assert isinstance(chosen.solver, ConjugateGradient)
    assert chosen.forced


def test_an_automatic_choice_has_a_coarser_solver_for_rounds_that_only_learn_features():
    chosen = choose_solver(10_000, torch.float32, 10**10)
    assert chosen.feature_solver.tol > chosen.solver.tol
    assert chosen.feature_solver.preconditioner_rank == chosen.solver.preconditioner_rank // 2
    small = choose_solver(1000, torch.float32, 10**10)
    assert small.feature_solver == small.solver == Direct()


def test_parts_of_a_large_fit_are_solved_exactly():
    final, feature = choose_part_solvers(1000, torch.float32, 10**9, 5, 1)
    assert final == feature == Direct()
    # Where a tree would be selected, a part is solved like a leaf.
    assert choose_part_solvers(40_000, torch.float32, 10**9, 5, 1)[0] == leaf_solver(40_000)


def test_leaves_are_solved_directly_up_to_4000_rows():
    assert leaf_solver(4000) == Direct()
    assert isinstance(leaf_solver(4001), ConjugateGradient)
    assert leaf_solver(4001).tol == Direct().tol


def test_a_streamed_table_gets_as_many_centres_as_fit():
    few, many = (choose_streamed_solver(10**6, torch.float32, budget, 50, 1).solver for budget in (10**9, 10**10))
    assert few.centers < many.centers == 10_000
    assert choose_streamed_solver(900, torch.float32, 10**9).solver.centers == 900
    with pytest.raises(ValueError, match=r"though read in blocks, need at least .* and max_memory is 1.0 MB"):
        choose_streamed_solver(10**6, torch.float32, 10**6, 50, 1)


def test_twice_the_rows_need_more_than_twice_the_memory():
    needs = [forecast(Direct(), n, 10, 1, torch.float32).peak for n in (2000, 4000, 8000)]
    assert needs[2] > 3 * needs[1] > 6 * needs[0]


def test_the_peak_is_that_of_reading_or_of_the_fit():
    assert MemoryForecast(reading=10, rows=1, solver=2, features=3, tiles=1).peak == 10
    assert MemoryForecast(reading=5, rows=1, solver=2, features=3, tiles=1).peak == 7


def test_leaves_that_are_solved_at_the_same_time_are_counted():
    one, four = (
        forecast(TreePartition(leaf_rows=2000, workers=workers), 50_000, 5, 1, torch.float32).solver
        for workers in (1, 4)
    )
    leaf = Direct().bytes_needed(2000, torch.float32)
    assert four - one == 3 * leaf
    # One leaf of all rows is solved alone.
    alone, crowd = (forecast(TreePartition(workers=workers), 500, 5, 1, torch.float32).peak for workers in (1, 4))
    assert alone == crowd


def test_the_forecast_of_a_stream_does_not_grow_with_its_rows():
    million, few = (streamed_forecast(Nystrom(), n, torch.float32, 10**10, 50).peak for n in (10**6, 40_000))
    assert million == few
