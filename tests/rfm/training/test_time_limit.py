"""A time limit is kept: no solve begins after it, what is solved fits into it, and the number of rows is said."""

import itertools

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core.clock import Clock, Pace, TimeLimitReached
from gramian.core.rows import MemoryRows
from gramian.rfm.options import TreePartition
from gramian.rfm.training import fit as fitting
from gramian.rfm.training import parts, rounds
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.fit import plan_within
from gramian.rfm.training.parts import tree_seconds
from gramian.rfm.training.time_limit import check_solved, largest_size, solve_within
from gramian.rfm.training.train import train
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom, SolveInfo
from small_training import FakeTime, make_plan, make_rows, make_task


class Work:
    """Solves that take ``seconds(n)`` of a fake time each, and are recorded with the time at which they began."""

    def __init__(self, seconds):
        self.time, self.seconds, self.begun = FakeTime(), seconds, []

    def __call__(self, size):
        self.begun.append((size, self.time.now))
        self.time.now += self.seconds(size)
        return f"{size} rows"


def square(n):
    return float(n) ** 2


class TestSolveWithin:
    def run(self, limit, size=1000, ratio=1e-6, power=2, ready=True):
        """Solves whose time is ``ratio · n^power``, forecast by n²; the pace is known, or taken to be far too fast."""
        work, pace = Work(lambda n: ratio * n**power), Pace()
        pace.measure(1.0, ratio) if not ready else pace.measure(1e6, 1e6 * ratio)
        clock = Clock(limit, work.time)
        return work, solve_within(clock, pace, size, square, work)

    def test_without_a_limit_all_rows_are_solved_at_once(self):
        work, found = self.run(None)
        assert found == ("1000 rows", 1000)
        assert len(work.begun) == 1

    def test_with_much_time_nothing_smaller_comes_first(self):
        work, found = self.run(5.0)
        assert found[1] == 1000
        assert len(work.begun) == 1

    def test_a_smaller_part_comes_first_where_all_rows_take_much_of_the_time(self):
        work, found = self.run(2.0)
        assert found[1] == 1000
        assert next(size for size, _ in work.begun) < 1000

    @pytest.mark.parametrize("limit", [0.01, 0.1, 0.5, 0.9])
    def test_as_many_rows_as_fit_are_solved(self, limit):
        work, found = self.run(limit)
        assert 0 < found[1] < 1000
        assert work.time.now <= limit
        assert 1e-6 * found[1] ** 2 >= 0.2 * limit, "most of the time is used"

    @pytest.mark.parametrize(("limit", "power"), itertools.product([0.01, 1.0, 30.0, 1e4], [1, 2, 2.5, 3]))
    def test_no_solve_begins_after_the_limit_whatever_the_forecast(self, limit, power):
        work, _ = self.run(limit, size=10**4, power=power)
        assert all(begun < limit for _, begun in work.begun)
        sizes = [size for size, _ in work.begun]
        assert sizes == sorted(sizes)
        assert len(sizes) < 20

    def test_after_the_limit_nothing_is_solved(self):
        work, found = self.run(0.0)
        assert found is None
        assert work.begun == []

    def test_the_last_finished_part_remains_where_a_larger_one_does_not_end_in_time(self):
        work, pace = Work(lambda n: 1e-6 * n**2), Pace()
        pace.measure(1e6, 1.0)

        def solve(size):
            if size > 700:
                raise TimeLimitReached
            return work(size)

        found = solve_within(Clock(2.0, work.time), pace, 1000, square, solve)
        assert found is not None
        assert found[1] <= 700

    def test_the_measured_time_corrects_the_forecast(self):
        """The pace is three times too fast at first: the second solve knows better."""
        work, pace = Work(lambda n: 3e-6 * n**2), Pace()
        pace.measure(1e6, 1.0)
        _, size = solve_within(Clock(10.0, work.time), pace, 2000, square, work)
        assert work.time.now <= 10.0
        assert size < 2000, "all rows take 12 s"


def test_the_largest_size_is_the_last_that_fits():
    for bound in (0.0, 1.0, 3.9, 4.0, 1e9):
        expected = max(n for n in range(101) if n**2 <= bound)
        assert largest_size(100, square, bound) == expected


def test_a_result_that_the_limit_made_useless_is_none():
    def info(residual):
        return SolveInfo("cg", "stopped", 3, residual, 1.0, 0.0, "float32", 0)

    check_solved(Clock(), info(0.9))
    check_solved(Clock(0.0), info(0.01))
    for residual in (0.5, float("nan")):
        with pytest.raises(TimeLimitReached):
            check_solved(Clock(0.0), info(residual))


SOLVERS = [Direct(), ConjugateGradient(), Nystrom(centers=50), EigenPro(subsample=50)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
class TestSolvers:
    def system(self, n):
        data = make_rows(n)
        from gramian.kernels import Gaussian, KernelOperator
        from gramian.solvers import RidgeSystem

        return RidgeSystem(KernelOperator(Gaussian(2.0), data.X), data.Y, 1e-2)

    def test_nominal_times_grow_with_rows_columns_and_never_vanish(self, solver):
        times = [solver.seconds_needed(n, 10) for n in (100, 1000, 10_000)]
        assert 0 < times[0] < times[1] < times[2]
        assert solver.seconds_needed(1000, 500) > times[1]

    def test_after_the_limit_there_is_no_result_or_a_status_that_says_so(self, solver):
        time = FakeTime()
        clock = Clock(1.0, time)
        time.now = 2.0
        try:
            status = solver.solve(self.system(120), clock=clock).info.status
        except TimeLimitReached:
            return
        assert isinstance(solver, Direct), "a small factor is one call of LAPACK"
        assert status.startswith("solved")

    def test_a_limit_that_is_not_reached_changes_nothing(self, solver):
        system = self.system(120)
        plain, timed = solver.solve(system), solver.solve(system, clock=Clock(1e9))
        assert torch.equal(plain.coef, timed.coef)
        assert plain.info == timed.info


def test_conjugate_gradients_return_the_best_iterate_at_the_limit(monkeypatch):
    """The time passes with each product: the first steps are made, and no direct solve follows."""
    time = FakeTime()
    solver = ConjugateGradient(tol=1e-12, preconditioner_rank=0)
    real = ConjugateGradient._products

    def slow(self, *args):
        products = real(self, *args)
        return products._replace(narrow=time.advancing(products.narrow, 1.0))

    monkeypatch.setattr(ConjugateGradient, "_products", slow)
    monkeypatch.setattr(Direct, "solve", lambda *args, **kwargs: pytest.fail("no time for a direct solve"))
    found = solver.solve(TestSolvers().system(150), clock=Clock(5.0, time))
    assert found.info.status.startswith("stopped by the time limit after 5 steps")
    assert found.info.residual < 1


def test_a_direct_solve_that_does_not_end_in_time_leaves_the_iterate(monkeypatch):
    def late(*args, **kwargs):
        raise TimeLimitReached

    monkeypatch.setattr(Direct, "solve", late)
    solver = ConjugateGradient(tol=1e-12, max_steps=3, preconditioner_rank=0)
    with pytest.warns(UserWarning, match="solved directly instead"):
        found = solver.solve(TestSolvers().system(150), clock=Clock(1e9))
    assert found.info.status.endswith("the time limit ended the direct solve")
    assert torch.isfinite(found.coef).all()


PLANS = {
    "folds": {"n": 90},
    "splits": {"n": 90, "validation": "splits", "screen_rows": 30},
    "Nyström": {"n": 200, "solver": Nystrom(centers=40)},
    "tree": {"n": 200, "solver": TreePartition(leaf_rows=60)},
    "EigenPro": {"n": 200, "solver": EigenPro(subsample=50), "screen_rows": 40, "holdout_rows": 20},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", PLANS)
@pytest.mark.parametrize("limit", [0.5, 4.0, 12.0, 40.0])
def test_no_solve_of_a_fit_begins_after_the_limit(kind, limit, monkeypatch):
    """Each solve takes a second of a fake time: round 0 is made in any case, and the limit ends all else."""
    options = dict(PLANS[kind])
    data, task = make_rows(options.pop("n")), make_task(n_rounds=2)
    plan = make_plan(data, task, **options)
    time, begun = FakeTime(), []
    real = rounds.solve_round

    def slow(*args, **kwargs):
        begun.append(time.now)
        time.now += 1.0
        return real(*args, **kwargs)

    for module in ("rounds", "refit", "parts"):
        monkeypatch.setattr(f"gramian.rfm.training.{module}.solve_round", slow)
    trained = train(task, plan, MemoryRows(data), FitContext(Clock(limit, time)))
    assert torch.isfinite(trained.ensemble.predict(data.X)).all()
    assert all(at < limit for at in begun[1:]), begun
    assert time.now <= max(limit, 1.0) + 1.0, "at most one solve is under way when the time is up"


@pytest.mark.parametrize("validation", ["evaluation set", "none"])
def test_rounds_on_all_rows_become_a_large_fit_where_they_take_too_long(validation, monkeypatch):
    monkeypatch.setattr(fitting, "SCREEN_ROWS", 40)
    data = make_rows(100)
    evaluation = data[torch.arange(20)] if validation == "evaluation set" else None
    task = make_task(n_rounds=0, select_last=True, evaluation=evaluation)
    plan = make_plan(data, task)
    assert plan.validation == validation
    time = FakeTime()
    monkeypatch.setattr(fitting, "solve_round", time.advancing(rounds.solve_round, 1.0))

    def planned(limit):
        return plan_within(task, plan, MemoryRows(data), Clock(limit, time), Pace())

    assert planned(None) is plan
    assert planned(1e9) is plan, "there is time for all rows"
    short = planned(2.0)
    assert short.large
    assert short.screen_rows == 40
    assert short.validation == ("holdout" if validation == "none" else "evaluation set")


def test_a_short_limit_uses_a_part_of_the_rows_and_says_so(monkeypatch):
    """The tree would take longer than the limit: a part of the rows is solved exactly."""
    monkeypatch.setattr(parts, "tree_seconds", lambda *args: 1e6)
    monkeypatch.setattr(parts, "PART_ROWS", 120)
    monkeypatch.setattr("gramian.rfm.training.plan.SCREEN_ROWS", 40)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = RFMRegressor(preset="fast", n_rounds=0, solver=TreePartition(leaf_rows=80), time_limit=1000)
    with pytest.warns(UserWarning, match=r"time limit of 1000 s was too short: the model uses 120 of 300 rows"):
        model.fit(X, X[:, 0])
    assert model.fitted_rows_ == model.machine_.n == len(model.row_index_) == 120
    assert model.score(X, X[:, 0]) > 0.9
    np.testing.assert_allclose(
        model.machine_.X.double() * model.model_.preprocessing.scaler.scale + model.model_.preprocessing.scaler.center,
        X[model.row_index_],
        atol=1e-5,
    )


def test_a_tree_without_a_finished_leaf_has_the_ridge_of_the_model_that_replaces_it(monkeypatch):
    def late(*args):
        raise TimeLimitReached

    monkeypatch.setattr("gramian.rfm.training.grow_tree.grow", late)
    monkeypatch.setattr(parts, "tree_seconds", lambda *args: 0.0)
    monkeypatch.setattr("gramian.rfm.training.plan.SCREEN_ROWS", 40)
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = RFMRegressor(
        preset="fast", n_rounds=0, solver=TreePartition(leaf_rows=80), time_limit=1000, dtype="float64"
    )
    with pytest.warns(UserWarning, match=r"1 of 1 leaves fall back to a model fitted to 40 random rows"):
        model.fit(X, X[:, 0])
    machine, scaler = model.machine_, model.model_.target_scaler
    left = scaler.transform(X[model.row_index_][:, :1]) - machine.predict(machine.X).numpy()
    np.testing.assert_allclose(left, model.ridge_ * machine.coef.numpy(), atol=1e-6)
    assert model.rounds_[0].residual < 1e-3
    assert model.rounds_[0].status.startswith("stopped early, 0 of 1 leaves")


def test_a_tree_of_more_rows_takes_longer():
    times = [tree_seconds(TreePartition(), n, 10, 1) for n in (10**4, 10**5, 10**6)]
    assert times == sorted(times)
    assert times[2] < 30 * times[1], "linear in the rows, but for the bands"
    shared, own = (tree_seconds(TreePartition(features=name), 10**5, 10, 1) for name in ("shared", "leaf"))
    assert shared < own < 2 * shared, "features of their own take a solve on a part of each leaf's rows"


@pytest.mark.parametrize("estimator", [RFMRegressor, RFMClassifier])
def test_a_generous_limit_changes_nothing(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=150)
    y = y > 0 if estimator is RFMClassifier else y
    plain, limited = (estimator(preset="fast", time_limit=limit).fit(X, y) for limit in (None, 1e6))
    np.testing.assert_array_equal(plain.predict(X), limited.predict(X))
    assert plain.fitted_rows_ == limited.fitted_rows_ == 150


def test_a_threshold_without_time_keeps_all_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    with pytest.warns(UserWarning, match="the model uses all columns"):
        model = RFMRegressor(preset="fast", feature_threshold=0.05, time_limit=1e-9).fit(X, X[:, 0])
    assert model.support_.all()
