"""The plan: what it decides at every size, that it keeps to the budget, and that a fit does what its plan says."""

import itertools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core.rows import Rows
from gramian.kernels import Laplace
from gramian.rfm.options import TreePartition
from gramian.rfm.training import train as pipeline
from gramian.rfm.training.plan import (
    FIVE_FOLD_ROWS,
    HOLDOUT_ROWS,
    IN_MEMORY_ROWS,
    MIN_FOLD_ROWS,
    ONE_THREAD_ROWS,
    SCREEN_ROWS,
    SPLIT_HOLDOUT_ROWS,
    SPLIT_ROWS,
    SPLIT_SHARE,
    Plan,
    streams,
    threads_for,
)
from gramian.rfm.training.solver_choice import AGOP_ROWS, LARGE_ROWS, PART_ROWS
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom, Solver

SIZES = (
    5,
    9,
    10,
    60,
    600,
    601,
    1000,
    2000,
    2001,
    2002,
    4000,
    4001,
    10_000,
    30_000,
    30_001,
    49_000,
    100_000,
    10**6,
    10**7,
)
SHAPES = list(itertools.product((1, 20, 500), (1, 10)))
BUDGETS = (10**7, 10**8, 10**9, 10**10, 10**12)
STAGES = ("none", "folds", "splits", "holdout")
"""Ways to compare candidates, in the order in which they are used as n grows."""
REFITS = ("none", "all rows", "growing parts")


def plan_or_none(n, d, outputs, budget, **options):
    try:
        return Plan.for_size(n, d, outputs, budget, **options)
    except ValueError as error:
        if "raise max_memory" in str(error):
            return None
        raise


@pytest.mark.parametrize(("d", "outputs"), SHAPES)
@pytest.mark.parametrize("budget", BUDGETS)
def test_plans_over_all_sizes_are_as_documented(d, outputs, budget):
    found = [plan_or_none(n, d, outputs, budget) for n in SIZES]
    plans = [plan for plan in found if plan is not None]
    assert plans, "five rows fit into every budget"
    assert None not in found[: len(plans)], "where n rows fit, fewer rows fit too"
    for plan in plans:
        n = plan.n
        assert plan.memory.peak <= budget
        assert plan.max_bytes == budget
        assert 0 < plan.part_bytes <= budget
        uses_all_rows = isinstance(plan.solver, Solver) and plan.solver.n_centers(n) == n
        large = n > LARGE_ROWS or not uses_all_rows
        assert plan.large == large
        if large:
            assert (plan.validation, plan.refit) == ("holdout", "growing parts")
            assert plan.holdout_rows == min(HOLDOUT_ROWS, n // 10)
            assert plan.screen_rows == min(SCREEN_ROWS, n - plan.holdout_rows)
        elif n >= MIN_FOLD_ROWS:
            assert plan.refit == "all rows"
            few = n <= FIVE_FOLD_ROWS
            assert plan.validation == ("folds" if few else "splits")
            assert plan.screen_rows == (n * 4 // 5 if few else min(SPLIT_ROWS, int(SPLIT_SHARE * n)))
            assert plan.holdout_rows == min(SPLIT_HOLDOUT_ROWS, n - plan.screen_rows)
            assert plan.n_splits == (5 if few else 3)
        else:
            assert (plan.validation, plan.refit) == ("none", "none"), "all rows are used, and nothing is compared"
            assert plan.screen_rows == plan.holdout_rows == 0
        assert bool(plan.n_splits) == (plan.validation in ("folds", "splits"))
        assert plan.screen_rows + plan.holdout_rows <= n
        assert plan.agop_rows == (AGOP_ROWS if n > 2 * AGOP_ROWS else None)
        assert plan.why
    stages = [STAGES.index(plan.validation) for plan in plans]
    refits = [REFITS.index(plan.refit) for plan in plans]
    assert stages == sorted(stages)
    assert refits == sorted(refits)


@pytest.mark.parametrize(("d", "outputs"), SHAPES)
def test_with_enough_memory_every_solve_is_exact_up_to_the_large_sizes(d, outputs):
    for n in (size for size in SIZES if size <= LARGE_ROWS):
        plan = Plan.for_size(n, d, outputs, 10**13)
        assert isinstance(plan.solver, Direct if n <= 4000 else ConjugateGradient)
        assert not plan.forced
        assert plan.final_solver is plan.solver


@pytest.mark.parametrize(("d", "outputs"), SHAPES)
@pytest.mark.parametrize("n", [1000, 10_000, 100_000])
def test_more_memory_never_forces_a_solver(n, d, outputs):
    found = [plan_or_none(n, d, outputs, budget) for budget in BUDGETS]
    fits = [plan is not None for plan in found]
    assert fits == sorted(fits)
    forced = [plan.forced for plan in found if plan is not None]
    assert forced == sorted(forced, reverse=True)


@pytest.mark.parametrize("n", [5, 1000, 5000, 50_000])
def test_an_evaluation_set_replaces_folds_splits_and_holdout(n):
    plan = Plan.for_size(n, 5, 1, 10**12, evaluation_set=True)
    assert plan.validation == "evaluation set"
    assert plan.n_splits == plan.holdout_rows == 0
    assert plan.refit == ("growing parts" if n > LARGE_ROWS else "none")
    assert plan.screen_rows == (SCREEN_ROWS if n > LARGE_ROWS else 0)


@pytest.mark.parametrize("n", [5, 1000, 5000])
def test_nothing_is_compared_where_there_is_one_round_of_one_candidate(n):
    plan = Plan.for_size(n, 5, 1, 10**12, compare=False)
    assert (plan.validation, plan.n_splits, plan.screen_rows, plan.refit) == ("none", 0, 0, "none")
    # A large fit measures the error of its final model anyway.
    assert Plan.for_size(50_000, 5, 1, 10**12, compare=False).validation == "holdout"


@pytest.mark.parametrize("solver", [Nystrom(centers=100), TreePartition(leaf_rows=500)], ids=str)
def test_a_solver_with_few_centres_or_leaves_makes_a_large_fit_of_few_rows(solver):
    plan = Plan.for_size(1500, 5, 1, 10**9, solver=solver)
    assert plan.large
    assert plan.solver == plan.feature_solver == solver
    assert plan.why == "given"
    assert (plan.screen_rows, plan.holdout_rows) == (1350, 150)


def test_a_tree_of_one_leaf_is_the_exact_solver():
    for n, expected in ((300, Direct), (6000, ConjugateGradient)):
        plan = Plan.for_size(n, 5, 1, 10**9, solver=TreePartition(leaf_rows=8000))
        assert isinstance(plan.solver, expected)
        assert plan.solver == plan.feature_solver
        assert not plan.large


@pytest.mark.parametrize("n", [1500, 40_000, 10**6])
def test_a_streamed_fit_never_holds_all_rows(n):
    plan = Plan.for_size(n, 5, 1, 10**9, streamed=True)
    assert plan.large
    assert isinstance(plan.solver, Nystrom)
    assert plan.solver.n_centers(n) <= n // 2
    assert plan.memory.peak <= 10**9
    assert plan.memory.reading == 0


def test_a_solver_that_needs_all_rows_of_a_stream_in_memory_is_refused():
    match = r"solver=Direct.* takes all 1500 rows into memory, .* MB, and max_memory is 1.0 MB: use solver=.nystrom"
    with pytest.raises(ValueError, match=match):
        Plan.for_size(1500, 4, 1, 10**6, solver=Direct(), streamed=True)
    assert Plan.for_size(1500, 4, 1, 10**9, solver=EigenPro(), streamed=True).large
    with pytest.raises(
        ValueError, match=r"1500 rows, though read in blocks, need at least .* MB, and max_memory is 1.0"
    ):
        Plan.for_size(1500, 4, 1, 10**6, streamed=True)


def test_growing_parts_are_a_geometric_sequence():
    plan = Plan.for_size(100_000, 5, 1, 10**9)
    assert plan.growing_parts(0, 90_000) == []
    assert plan.growing_parts(1, 90_000) == [PART_ROWS]
    sizes = plan.growing_parts(5, 90_000)
    assert sizes[0] == SCREEN_ROWS
    assert sizes[-1] == PART_ROWS
    ratios = [b / a for a, b in itertools.pairwise(sizes)]
    assert min(ratios) > 1
    assert max(ratios) == pytest.approx(min(ratios), rel=1e-3)
    assert plan.growing_parts(3, 600) == [600, 600, 600]


def test_parts_that_are_solved_at_the_same_time_share_the_budget():
    plan = Plan.for_size(50_000, 5, 1, 10**9, solver=TreePartition(leaf_rows=3000))
    rows = torch.zeros(3000, 5)
    data = Rows(rows, torch.zeros(3000, 1, dtype=torch.float64))
    alone, _ = plan.part_solvers(data)
    assert isinstance(alone, Direct)
    crowded, _ = replace(plan, part_bytes=8 * 10**7).part_solvers(data, at_once=2)
    assert isinstance(crowded, ConjugateGradient)
    assert not crowded.store_matrix


def test_screening_solves_coarsely_only_where_the_selected_round_is_solved_again():
    plan = Plan.for_size(10_000, 5, 1, 10**10, evaluation_set=True)
    data = Rows(torch.zeros(100, 5), torch.zeros(100, 1, dtype=torch.float64))
    assert plan.screen_solvers(data, coarse=False) == (plan.solver, plan.feature_solver)
    assert plan.screen_solvers(data, coarse=True) == (plan.feature_solver, plan.feature_solver)
    assert plan.feature_solver.tol > plan.solver.tol


def test_splits_are_solved_as_their_number_of_rows_asks_for():
    plan = Plan.for_size(10_000, 5, 1, 10**10)
    data = Rows(torch.zeros(1600, 5), torch.zeros(1600, 1, dtype=torch.float64))
    assert isinstance(plan.solver, ConjugateGradient)
    assert all(isinstance(solver, Direct) for solver in plan.screen_solvers(data, coarse=False))


def test_models_that_are_compared_are_in_the_forecast():
    """Their coefficients, and predictions of held-out rows: 100 outputs of dozens of models are as large as a solve."""
    alone, both = (Plan.for_size(3000, 20, 100, 10**10, models=models) for models in (0, 25))
    held = 25 * 100 * 8 * (alone.screen_rows + alone.n_splits * alone.holdout_rows)
    assert both.memory.peak == alone.memory.peak + held
    assert held > alone.memory.solver


def test_the_time_for_the_screening_leaves_time_for_what_follows():
    for n in (1000, 10_000, 100_000):
        plan = Plan.for_size(n, 5, 1, 10**12)
        assert 0 < plan.screen_time_share < plan.split_time_share < 1, "splits and the refit come after it"
    assert Plan.for_size(1000, 5, 1, 10**12, evaluation_set=True).screen_time_share == 0.6


def test_a_table_outside_memory_is_streamed_where_it_does_not_fit_or_is_on_a_cluster():
    bytes_needed = 4 * 8 * 40_000 * 11
    assert not streams(40_000, 10, bytes_needed, elsewhere=False)
    assert streams(40_000, 10, bytes_needed - 1, elsewhere=False)
    assert streams(40_000, 10, 10**12, elsewhere=True)
    assert not streams(IN_MEMORY_ROWS, 10, 1, elsewhere=True)


@pytest.mark.parametrize(
    ("n", "n_threads", "n_jobs", "expected"),
    [
        (ONE_THREAD_ROWS, None, None, 1),
        (ONE_THREAD_ROWS + 1, None, None, None),
        (ONE_THREAD_ROWS + 1, None, 2, 1),
        (ONE_THREAD_ROWS + 1, None, 1, None),
        (100, 4, 2, 4),
    ],
)
def test_small_fits_and_parallel_folds_use_one_thread(n, n_threads, n_jobs, expected):
    assert threads_for(n, n_threads, n_jobs) == expected


def test_a_plan_is_frozen_and_is_displayed_in_words():
    plan = Plan.for_size(50_000, 5, 2, 10**9)
    with pytest.raises(FrozenInstanceError):
        plan.n = 3
    words = str(plan)
    for part in ("50,000 × 5, 2 outputs", "4,000 random rows", "5,000 rows held out of the whole fit", plan.why):
        assert part in words
    assert "<table" in plan._repr_html_()
    assert "5 folds of a fifth of the rows" in str(Plan.for_size(100, 5, 1, 10**9))
    assert "not at all" in str(Plan.for_size(5, 5, 1, 10**9))


class Watch:
    """Records how the stages of a fit are called."""

    def __init__(self, monkeypatch):
        self.screened, self.held_out, self.solvers = [], [], []
        screen, compare_on_splits = pipeline.screen, pipeline.compare_on_splits

        def watched_screen(candidates, tuner, data, *rest):
            self.screened.append(len(data))
            self.solvers.append(candidates[0].solver)
            return screen(candidates, tuner, data, *rest)

        def watched_splits(runs, data, splits, *rest, **options):
            self.held_out.append([len(split.held_out) for split in splits])
            return compare_on_splits(runs, data, splits, *rest, **options)

        monkeypatch.setattr(pipeline, "screen", watched_screen)
        monkeypatch.setattr(pipeline, "compare_on_splits", watched_splits)


OPTIONS = {"kernel": Laplace(2.0), "update": "agop", "n_rounds": 1, "ridge": 1e-2}


def table(n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, X[:, 0] * X[:, 1]


@pytest.mark.parametrize("estimator", [RFMRegressor, RFMClassifier])
def test_a_small_fit_does_what_its_plan_says(estimator, monkeypatch):
    X, y = table(60)
    y = y > 0 if estimator is RFMClassifier else y
    watch = Watch(monkeypatch)
    model = estimator(**OPTIONS).fit(X, y)
    plan = model.plan_
    expected = Plan.for_size(60, 3, 1, plan.max_bytes, dtype=torch.float64, compare=True, candidates=1, models=2)
    assert plan == expected, "the plan of a fit is the plan of its size"
    assert (watch.screened, watch.solvers) == ([plan.screen_rows], [plan.solver])
    assert watch.held_out == [[12] * plan.n_splits]
    assert (plan.screen_rows, plan.holdout_rows) == (48, 12)
    assert model.machine_.n == 60, "the selected model is fitted to all rows"
    assert model.model_.holdout.source == "folds"
    assert len(model.model_.holdout.targets) == 60


def test_a_fit_that_screens_on_a_part_does_what_its_plan_says(monkeypatch):
    """The plan of more than 600 rows, on 120: the numbers of the plan and nothing else decide what is done."""
    monkeypatch.setattr("gramian.rfm.training.plan.SPLIT_ROWS", 40)
    monkeypatch.setattr("gramian.rfm.training.plan.SPLIT_HOLDOUT_ROWS", 30)
    monkeypatch.setattr("gramian.rfm.training.plan.FIVE_FOLD_ROWS", 100)
    watch = Watch(monkeypatch)
    X, y = table(120)
    model = RFMRegressor(**OPTIONS).fit(X, y)
    plan = model.plan_
    assert (plan.validation, plan.refit) == ("splits", "all rows")
    assert watch.screened == [plan.screen_rows] == [40]
    assert watch.held_out == [[plan.holdout_rows] * plan.n_splits] == [[30] * 3]
    assert len(model.model_.holdout.targets) == 90
    assert model.model_.holdout.source == "splits"
    assert model.machine_.n == 120


def test_a_large_fit_does_what_its_plan_says(monkeypatch):
    watch = Watch(monkeypatch)
    X, y = table(300)
    model = RFMRegressor(solver=Nystrom(centers=40), **OPTIONS).fit(X, y)
    plan = model.plan_
    assert plan.large
    assert plan.solver == Nystrom(centers=40)
    assert watch.screened == [plan.screen_rows] == [270]
    assert len(model.model_.holdout.targets) == plan.holdout_rows == 30
    assert model.machine_.n == 40
    assert "40 centers for 270 rows" in model.rounds_[model.best_round_].status


def test_an_evaluation_set_is_in_the_plan():
    X, y = table(90)
    model = RFMRegressor(**OPTIONS).fit(X[:60], y[:60], eval_set=(X[60:], y[60:]))
    assert model.plan_.validation == model.model_.holdout.source == "evaluation set"
    assert RFMRegressor(**OPTIONS | {"n_rounds": 0}).fit(X, y).plan_.validation == "none"


def test_rounds_are_compared_where_the_table_has_enough_rows_however_many_are_distinct():
    assert Plan.for_size(4, 1, 1, 10**9).validation == "none"
    assert Plan.for_size(4, 1, 1, 10**9, table_rows=400).validation == "folds"
    X = np.arange(40.0)[:, None] % 2
    assert RFMRegressor(**OPTIONS).fit(X, X[:, 0]).plan_.validation == "folds"


@pytest.mark.parametrize(
    ("by", "words"),
    [("groups", "folds of whole groups"), ("time", "later than the rows fitted to"), ("", "folds of a fifth")],
)
def test_the_plan_names_the_condition_on_splits(by, words):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    given = {by: np.arange(60) // 6} if by else {}
    model = RFMRegressor(kernel="laplace", update="agop", n_rounds=1).fit(rows, rows[:, 0], **given)
    facts = dict(model.plan_.facts())
    assert words in facts["compared on"]
    assert ("random rows" in facts["candidates screened on"]) == (not by)


@pytest.mark.parametrize(("by", "words"), [("groups", "up to 3 times"), ("time", "up to 3 times"), ("", "3 times")])
def test_the_plan_promises_no_more_splits_than_groups_or_times_allow(by, words):
    plan = replace(Plan.for_size(700, 2, 1, 10**9), split_by=by)
    assert plan.validation == "splits"
    assert dict(plan.facts())["compared on"].endswith(f"rows{', whole groups' if by == 'groups' else ''}, {words}")
