"""Fits of the selected candidates: columns above a threshold, all rows after a part, and solves to the end."""

import importlib
import threading
from dataclasses import replace

import pytest
import torch

from gramian.core.clock import Clock
from gramian.core.pool import Serial, Threads
from gramian.core.rows import Rows
from gramian.core.selection import Member, Selection
from gramian.core.splits import RowSplit
from gramian.features import Agop
from gramian.rfm.training import refit
from gramian.rfm.training.context import Checkpoint, FitContext
from gramian.rfm.training.refit import refit_on_all_rows, solve_selected_fully, weight_growth
from gramian.rfm.training.rounds import rounds
from gramian.rfm.training.tuning import FixedParams, ReplayedParams
from gramian.solvers import ConjugateGradient, Direct
from small_training import FakeTime, Stops, make_candidate, make_plan, make_rows, make_run, make_task, naive_coef

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
POOL = importlib.import_module("gramian.core.pool")
ROUGH = ConjugateGradient(tol=1e-2, preconditioner_rank=20)
EXACT = ConjugateGradient(tol=1e-8, preconditioner_rank=40)
PART = torch.arange(60)
SPLIT = RowSplit(PART, torch.arange(60, 100))


def refits(selection, runs, data, growth=1.0, context=None, **solvers):
    """Refit members on all rows, with the direct solver or with those given."""
    plan = replace(make_plan(data, make_task()), **({"solver": Direct(), "feature_solver": Direct()} | solvers))
    return refit_on_all_rows(selection, runs, SPLIT, data, plan, growth, context or FitContext())


def selected(*members):
    return Selection(tuple(Member(run, at, 1 / len(members)) for run, at in members), [])


def slow_steps(monkeypatch, time):
    """Let each step of conjugate gradients that has a time limit take a second of a fake time."""
    real = ConjugateGradient._products

    def slow(self, *args):
        products = real(self, *args)
        limited = args[-1].limit is not None
        return products._replace(narrow=time.advancing(products.narrow, 1.0)) if limited else products

    monkeypatch.setattr(ConjugateGradient, "_products", slow)


def test_a_ridge_per_row_grows_with_the_total_weight():
    split = RowSplit(torch.arange(30), torch.arange(30, 90))
    assert weight_growth(make_rows(90), split) == 3.0
    data = make_rows(90, weighted=True)
    assert weight_growth(data, split) == pytest.approx(float(data.weights.sum() / data.weights[:30].sum()))


def test_a_ridge_per_row_grows_with_the_copies_that_the_split_left_out():
    copies = torch.tensor([1.0, 3.0, 2.0], dtype=torch.float64)
    data = replace(make_rows(3), weights=copies, copies=copies)
    split = RowSplit(torch.tensor([1, 2]), torch.tensor([0, 1]), torch.tensor([2.0, 2.0]), torch.tensor([1.0, 1.0]))
    assert weight_growth(data, split) == pytest.approx(6 / 4)


class TestAllRows:
    def test_the_rounds_are_repeated_with_the_parameters_found_on_the_part(self):
        data = make_rows(100, weighted=True)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        (found,) = refits(selected((0, 2)), [run], data, 1.5)
        expected = list(rounds(run.candidate, data, ReplayedParams(run.path, 0, 1.5)))
        assert len(found.machines) == len(found.records) == 3
        for machine, record, (same_record, same_machine) in zip(found.machines, found.records, expected, strict=True):
            assert torch.equal(machine.coef, same_machine.coef)
            assert record.ridge == same_record.ridge
        machine = found.machines[-1]
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1.5e-2), rtol=1e-6, atol=1e-8)

    def test_only_the_selected_round_is_solved_to_the_end(self):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=3))
        (found,) = refits(selected((0, 1)), [run], data, solver=EXACT, feature_solver=ROUGH)
        first, last = found.machines
        torch.testing.assert_close(last.coef, naive_coef(last, data, 1e-2), rtol=1e-5, atol=1e-5)
        assert [record.residual <= 1e-8 for record in found.records] == [False, True]
        assert not torch.allclose(first.coef, naive_coef(first, data, 1e-2), rtol=1e-6, atol=1e-6)

    def test_a_selected_round_0_is_exact_beside_a_member_that_begins_with_a_coarse_one(self):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        _, found = refits(selected((0, 2), (0, 0)), [run], data, solver=EXACT, feature_solver=ROUGH)
        (first,) = found.machines
        torch.testing.assert_close(first.coef, naive_coef(first, data, 1e-2), rtol=1e-5, atol=1e-5)

    def test_coarse_rounds_of_a_longer_path_are_not_used_after_a_crash(self, tmp_path):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=3))
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        for last in (3, 1):
            (found,) = refits(selected((0, last)), [run], data, 1.0, context, solver=EXACT, feature_solver=ROUGH)
            machine = found.machines[-1]
            torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-5, atol=1e-5)

    def test_finished_rounds_are_found_in_the_checkpoint(self, tmp_path, monkeypatch):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        (whole,) = refits(selected((0, 2)), [run], data, 1.0, FitContext(checkpoint=checkpoint))
        assert sorted(path.name for path in tmp_path.glob("*/*")) == [
            f"all-0-to-2-round-{index}.gramian" for index in range(3)
        ]
        Stops(monkeypatch, ROUNDS, "solve_round", 1, AssertionError("this round was finished before"))
        (again,) = refits(selected((0, 2)), [run], data, 1.0, FitContext(checkpoint=checkpoint))
        for one, other in zip(whole.machines, again.machines, strict=True):
            assert torch.equal(one.coef, other.coef)
            assert other.X is data.X or torch.equal(other.X, data.X)

    def test_a_refit_continues_after_the_round_that_was_finished(self, tmp_path, monkeypatch):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        (whole,) = refits(selected((0, 2)), [run], data)
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        Stops(monkeypatch, ROUNDS, "solve_round", 2, RuntimeError("power failure"))
        with pytest.raises(RuntimeError, match="power failure"):
            refits(selected((0, 2)), [run], data, 1.0, context)
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        (again,) = refits(selected((0, 2)), [run], data, 1.0, context)
        assert solves.calls == 2
        assert torch.equal(again.machines[-1].coef, whole.machines[-1].coef)

    def test_members_side_by_side_or_one_after_the_other_are_the_same(self):
        data = make_rows(100)
        runs = [make_run(data[PART]), make_run(data[PART], make_candidate(update=Agop(diagonal=True)))]
        one, other = (
            refits(selected((0, 1), (1, 1)), runs, data, 1.0, FitContext(pool=pool)) for pool in (Serial(), Threads(2))
        )
        for a, b in zip(one, other, strict=True):
            assert torch.equal(a.machines[-1].coef, b.machines[-1].coef)

    @pytest.mark.parametrize("why", ["Ctrl-C", "time limit"])
    def test_an_interrupt_falls_back_to_the_model_of_the_part(self, why, monkeypatch):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        context = FitContext(Clock(0.0)) if why == "time limit" else FitContext()
        if why == "Ctrl-C":
            Stops(monkeypatch, ROUNDS, "solve_round", 2)
        reason = {"Ctrl-C": "interrupted", "time limit": "the time limit of 0 s was too short"}[why]
        with pytest.warns(UserWarning, match=f"{reason}: the model uses 60 of 100 rows"):
            (found,) = refits(selected((0, 2)), [run], data, 1.0, context)
        assert context.interrupted
        assert found.records == ()
        assert len(found.machines) == 3
        machine, new = found.machines[-1], make_rows(20, seed=1).X
        torch.testing.assert_close(machine.predict(new), run.machines[2].predict(new))
        assert machine.n == 100
        assert not bool(machine.coef[60:].any())

    def test_the_model_of_a_part_has_the_weights_of_the_copies_in_the_part(self):
        """Of two copies of each row one is in the part: the system that was solved has weight 1 for each row."""
        copies = torch.full((100,), 2.0, dtype=torch.float64)
        data = replace(make_rows(100), weights=copies, copies=copies)
        split = RowSplit(torch.arange(100), torch.arange(100), copies / 2, copies / 2)
        run = make_run(split.fitted(data), make_candidate(n_rounds=0))
        plan = replace(make_plan(data, make_task()), solver=Direct(), feature_solver=Direct())
        with pytest.warns(UserWarning, match="the time limit of 0 s was too short: the model uses 100 of 200 rows"):
            (found,) = refit_on_all_rows(selected((0, 0)), [run], split, data, plan, None, FitContext(Clock(0.0)))
        machine = found.machines[-1]
        assert (found.n_rows, found.weight) == (100, 100.0)
        assert torch.equal(machine.weights, copies / 2)
        left = data.Y - machine.operator.matmul(machine.coef)
        torch.testing.assert_close(left, 1e-2 * machine.coef / machine.weights[:, None], rtol=1e-6, atol=1e-8)

    def test_a_round_that_the_time_limit_cut_short_is_neither_used_nor_stored(self, tmp_path, monkeypatch):
        """Its system is solved to a residual of no use: the model of the part is better, and says its rows."""
        data, time = make_rows(100), FakeTime()
        run = make_run(data[PART], make_candidate(n_rounds=1))
        context = FitContext(Clock(3.0, time), checkpoint=Checkpoint.open(tmp_path, "a fit"))
        slow_steps(monkeypatch, time)
        solver = ConjugateGradient(tol=1e-10, preconditioner_rank=0)
        with pytest.warns(UserWarning, match="the time limit of 3 s was too short: the model uses 60 of 100 rows"):
            (found,) = refits(selected((0, 1)), [run], data, 1.0, context, solver=solver, feature_solver=Direct())
        assert torch.equal(found.machines[-1].coef[:60], run.machines[1].coef)
        assert [path.name for path in tmp_path.glob("*/*")] == ["all-0-to-1-round-0.gramian"]

    def test_ctrl_c_while_members_are_fitted_in_threads_falls_back_to_the_model_of_the_part(self, monkeypatch):
        """Ctrl-C comes to the main thread, which waits for the others."""
        data = make_rows(100)
        runs = [make_run(data[PART]), make_run(data[PART], make_candidate(update=Agop(diagonal=True)))]
        go_on, completed = threading.Event(), POOL.as_completed

        def one_then_ctrl_c(futures):
            yield next(completed(futures))
            raise KeyboardInterrupt

        real = refit.rounds

        def waits(candidate, *args, **kwargs):
            if candidate.update.get_params()["diagonal"]:
                assert go_on.wait(120)
            return real(candidate, *args, **kwargs)

        monkeypatch.setattr(POOL, "as_completed", one_then_ctrl_c)
        monkeypatch.setattr(refit, "rounds", waits)
        context = FitContext(pool=Threads(2))
        try:
            with pytest.warns(UserWarning, match="interrupted: .*60 of 100 rows"):
                one, other = refits(selected((0, 1), (1, 1)), runs, data, 1.0, context)
        except KeyboardInterrupt:
            pytest.fail("the interrupt has lost what was fitted")
        finally:
            go_on.set()
        assert context.interrupted
        assert bool(one.machines[-1].coef[60:].any()), "this member was finished"
        assert not bool(other.machines[-1].coef[60:].any())


class TestSelectedFully:
    def test_the_selected_round_is_exact_and_the_others_stay_coarse(self):
        data = make_rows(150)
        run = make_run(data, make_candidate(n_rounds=3, solver=ROUGH, feature_solver=ROUGH))
        (full,) = solve_selected_fully(selected((0, 1)), [run], data, EXACT, FitContext())
        assert [record.residual <= 1e-8 for record in full.records] == [False, True, False, False]
        torch.testing.assert_close(
            full.machines[1].coef, naive_coef(full.machines[1], data, 1e-2), rtol=1e-5, atol=1e-5
        )
        assert full.machines[2] is run.machines[2]
        assert full.candidate.solver == EXACT

    def test_ctrl_c_keeps_the_round_as_it_is(self, monkeypatch):
        data = make_rows(150)
        run = make_run(data, make_candidate(n_rounds=2, solver=ROUGH, feature_solver=ROUGH))
        Stops(monkeypatch, refit, "solve_fully", 1)
        context = FitContext()
        with pytest.warns(UserWarning, match=r"interrupted: the model has a relative residual of 0\.0"):
            (same,) = solve_selected_fully(selected((0, 2)), [run], data, EXACT, context)
        assert same is run
        assert context.interrupted

    def test_the_time_limit_keeps_the_round_as_it_is_and_says_its_residual(self, monkeypatch):
        data, time = make_rows(150), FakeTime()
        run = make_run(data, make_candidate(n_rounds=2, solver=ROUGH, feature_solver=ROUGH))
        slow_steps(monkeypatch, time)
        context = FitContext(Clock(3.0, time))
        with pytest.warns(
            UserWarning, match=r"time limit of 3 s was too short: the model has a relative residual of 0"
        ):
            (same,) = solve_selected_fully(
                selected((0, 2)), [run], data, replace(EXACT, preconditioner_rank=0), context
            )
        assert same is run
        assert context.interrupted


def test_refits_on_weighted_rows_use_all_weights():
    data = make_rows(100, weighted=True)
    heavy = Rows(data.X, data.Y, 7 * data.weights)
    run = make_run(data[PART], make_candidate(n_rounds=0), FixedParams(1e-2))
    one, other = (
        refits(selected((0, 0)), [run], rows, growth)[0].machines[0] for rows, growth in ((data, 1.0), (heavy, 7.0))
    )
    torch.testing.assert_close(one.coef, other.coef, rtol=1e-6, atol=1e-8)
