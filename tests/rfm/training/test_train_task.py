"""The task of a fit: candidates, what there is to compare, and how ridges and bandwidths are tuned."""

import itertools
from dataclasses import replace

from gramian.features import Agop
from gramian.kernels import Gaussian, Laplace, Lp
from gramian.rfm.training.tuning import FixedParams, LeaveOneOutTuner
from gramian.solvers import ConjugateGradient
from small_training import make_task

ROUGH = ConjugateGradient(tol=1e-2, preconditioner_rank=20)
EXACT = ConjugateGradient(tol=1e-8, preconditioner_rank=40)
TWO = {"updates": (Agop(), Agop(diagonal=True))}


def test_candidates_are_the_pairs_of_kernels_and_updates():
    task = make_task(kernels=(Laplace(), Gaussian()), **TWO)
    assert task.pairs == list(itertools.product(task.kernels, task.updates))
    candidates = task.candidates(EXACT, ROUGH, 10**6)
    assert [(c.kernel, c.update) for c in candidates] == task.pairs
    assert {(c.solver, c.feature_solver, c.n_rounds, c.max_bytes) for c in candidates} == {(EXACT, ROUGH, 1, 10**6)}


def test_a_product_kernel_gets_the_diagonal_form_of_each_update_once():
    assert make_task(kernels=(Lp(2.0),), **TWO).pairs == [(Lp(2.0), Agop(diagonal=True))]


def test_without_rounds_updates_do_not_matter():
    assert len(make_task(n_rounds=0, **TWO).pairs) == 1


def test_there_is_something_to_compare_with_two_rounds_or_two_candidates():
    assert make_task().compares
    assert not make_task(n_rounds=0).compares
    assert not make_task(select_last=True).compares
    assert make_task(select_last=True, **TWO).compares


def test_only_a_given_ridge_grows_with_the_rows():
    assert make_task(ridge_per_row=True).ridge_grows
    assert not make_task(ridge_per_row=True, ridge=None).ridge_grows


def test_numbers_that_are_given_are_not_tuned():
    task = make_task(cautious=True)
    assert task.tuner(Laplace(2.0)) == FixedParams(1e-2)
    assert isinstance(task.tuner(Laplace()), LeaveOneOutTuner)
    assert isinstance(replace(task, ridge=None).tuner(Laplace(2.0)), LeaveOneOutTuner)
