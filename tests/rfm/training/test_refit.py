"""Fits of the selected candidates: columns above a threshold, all rows after a part, and solves to the end."""

import importlib

import pytest
import torch

from gramian.core.clock import Clock
from gramian.core.rows import Rows
from gramian.features import Agop
from gramian.rfm.training import refit
from gramian.rfm.training.context import Checkpoint, FitContext
from gramian.rfm.training.refit import refit_on_all_rows, select_columns, solve_selected_fully, weight_growth
from gramian.rfm.training.rounds import rounds
from gramian.rfm.training.tuning import FixedParams, ReplayedParams
from gramian.rfm.training.validation import Member, Selection
from gramian.solvers import ConjugateGradient
from small_training import Stops, make_candidate, make_rows, make_run, naive_coef

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
ROUGH = ConjugateGradient(tol=1e-2, preconditioner_rank=20)
EXACT = ConjugateGradient(tol=1e-8, preconditioner_rank=40)
PART = torch.arange(60)


def selected(*members):
    return Selection(tuple(Member(run, at, 1 / len(members)) for run, at in members), [])


class TestColumns:
    def test_columns_above_the_threshold_of_the_scaled_diagonal_are_selected(self):
        M = torch.diag(torch.tensor([1.0, 1.5, 3.0]))
        assert select_columns(M, 0.2).tolist() == [False, True, True]
        assert select_columns(M, 0.25).tolist() == [False, False, True]

    def test_equal_columns_are_all_selected(self):
        assert bool(select_columns(torch.eye(3), 0.5).all())

    def test_a_threshold_that_leaves_no_column_is_refused(self):
        with pytest.raises(ValueError, match=r"feature_threshold=1\.0 leaves no column: lower it"):
            select_columns(torch.diag(torch.tensor([0.0, 1.0])), 1.0)


def test_a_ridge_per_row_grows_with_the_total_weight():
    assert weight_growth(make_rows(90), torch.arange(30)) == 3.0
    data = make_rows(90, weighted=True)
    assert weight_growth(data, torch.arange(30)) == pytest.approx(float(data.weights.sum() / data.weights[:30].sum()))


class TestAllRows:
    def test_the_rounds_are_repeated_with_the_parameters_found_on_the_part(self):
        data = make_rows(100, weighted=True)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        (machine,) = refit_on_all_rows(selected((0, 2)), [run], PART, data, 1.5, FitContext())
        *_, (_, expected) = rounds(run.candidate, data, ReplayedParams(run.path, 0, 1.5))
        assert torch.equal(machine.coef, expected.coef)
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1.5e-2), rtol=1e-6, atol=1e-8)

    def test_only_the_selected_round_is_solved_to_the_end(self):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=3, solver=EXACT, feature_solver=ROUGH))
        (machine,) = refit_on_all_rows(selected((0, 1)), [run], PART, data, 1.0, FitContext())
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-5, atol=1e-5)

    def test_members_with_one_kernel_share_round_0(self, monkeypatch):
        data = make_rows(100)
        runs = [make_run(data[PART]), make_run(data[PART], make_candidate(update=Agop(diagonal=True)))]
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        refit_on_all_rows(selected((0, 1), (1, 1)), runs, PART, data, 1.0, FitContext())
        assert solves.calls == 3

    def test_a_coarse_round_0_of_another_member_is_not_used_where_round_0_is_selected(self):
        data = make_rows(100)
        candidate = make_candidate(n_rounds=2, solver=EXACT, feature_solver=ROUGH)
        run = make_run(data[PART], candidate)
        _, first = refit_on_all_rows(selected((0, 2), (0, 0)), [run], PART, data, 1.0, FitContext())
        torch.testing.assert_close(first.coef, naive_coef(first, data, 1e-2), rtol=1e-5, atol=1e-5)

    def test_coarse_rounds_of_a_longer_path_are_not_used_after_a_crash(self, tmp_path):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=3, solver=EXACT, feature_solver=ROUGH))
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        for last in (3, 1):
            (machine,) = refit_on_all_rows(selected((0, last)), [run], PART, data, 1.0, context)
            torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-5, atol=1e-5)

    def test_finished_rounds_are_found_in_the_checkpoint(self, tmp_path, monkeypatch):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        (whole,) = refit_on_all_rows(selected((0, 2)), [run], PART, data, 1.0, FitContext(checkpoint=checkpoint))
        assert sorted(path.name for path in tmp_path.glob("*/*")) == [
            f"all-0-to-2-round-{index}.gramian" for index in range(3)
        ]
        Stops(monkeypatch, ROUNDS, "solve_round", 1, AssertionError("this round was finished before"))
        (again,) = refit_on_all_rows(selected((0, 2)), [run], PART, data, 1.0, FitContext(checkpoint=checkpoint))
        assert torch.equal(whole.coef, again.coef)
        assert again.X is data.X or torch.equal(again.X, data.X)

    @pytest.mark.parametrize("why", ["Ctrl-C", "time limit"])
    def test_an_interrupt_falls_back_to_the_model_of_the_part(self, why, monkeypatch):
        data = make_rows(100)
        run = make_run(data[PART], make_candidate(n_rounds=2))
        context = FitContext(Clock(0.0)) if why == "time limit" else FitContext()
        if why == "Ctrl-C":
            Stops(monkeypatch, ROUNDS, "solve_round", 2)
        reason = {"Ctrl-C": "interrupted", "time limit": "time_limit=0"}[why]
        with pytest.warns(UserWarning, match=f"{reason}: the model is fitted to 60 of 100 rows"):
            (machine,) = refit_on_all_rows(selected((0, 2)), [run], PART, data, 1.0, context)
        assert context.interrupted
        new = make_rows(20, seed=1).X
        torch.testing.assert_close(machine.predict(new), run.machines[2].predict(new))
        assert machine.n == 100
        assert not bool(machine.coef[60:].any())


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


def test_refits_on_weighted_rows_use_all_weights():
    data = make_rows(100, weighted=True)
    heavy = Rows(data.X, data.Y, 7 * data.weights)
    run = make_run(data[PART], make_candidate(n_rounds=0), FixedParams(1e-2))
    one, other = (
        refit_on_all_rows(selected((0, 0)), [run], PART, rows, growth, FitContext())[0]
        for rows, growth in ((data, 1.0), (heavy, 7.0))
    )
    torch.testing.assert_close(one.coef, other.coef, rtol=1e-6, atol=1e-8)
