"""Held-out rows, the comparison of runs on them, and the selection of one round or several."""

import importlib
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.pool import Serial, Threads
from gramian.core.rows import Rows
from gramian.features import Agop
from gramian.kernels import Gaussian
from gramian.rfm.training import validation
from gramian.rfm.training.context import Checkpoint, FitContext, FitObserver
from gramian.rfm.training.rounds import RoundPredictions, rounds
from gramian.rfm.training.tuning import FixedParams, ReplayedParams
from gramian.rfm.training.validation import (
    FoldTask,
    Member,
    average_predictions,
    compare_runs,
    cross_validate,
    draw_folds,
    draw_split,
    predict_rounds,
    run_fold,
    screen,
    select,
    squared_errors,
)
from small_training import Stops, make_candidate, make_rows, make_run

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
POOL = importlib.import_module("gramian.core.pool")
DIAGONAL = Agop(diagonal=True)


def fixed(kernel):
    return FixedParams(1e-2)


class TestFolds:
    @pytest.mark.parametrize("folds", [3, 5])
    def test_fifths_of_the_rows_are_held_out_in_turn(self, folds):
        drawn = list(draw_folds(53, folds, seed=0))
        assert len(drawn) == folds
        held_out = torch.cat([out for _, out in drawn])
        assert len(held_out.unique()) == len(held_out)
        assert all(len(out) in (10, 11) for _, out in drawn)
        for train, out in drawn:
            assert torch.equal(torch.cat([train, out]).sort().values, torch.arange(53))

    def test_every_fold_has_its_share_of_each_label(self):
        strata = np.repeat([0, 1, 2], [100, 45, 5])
        for _, out in draw_folds(150, 5, seed=1, strata=strata):
            assert np.bincount(strata[out.numpy()]).tolist() == [20, 9, 1]

    def test_folds_depend_on_the_seed_only(self):
        one, same, other = (next(draw_folds(40, 5, seed))[1] for seed in (0, 0, 1))
        assert torch.equal(one, same)
        assert not torch.equal(one, other)

    def test_a_split_has_no_row_twice_and_is_drawn_at_random(self):
        train, out = draw_split(1000, 300, 200, seed=0)
        assert (len(train), len(out)) == (300, 200)
        assert len(torch.cat([train, out]).unique()) == 500
        assert float(train.double().mean()) == pytest.approx(500, abs=60), "not the first rows"
        assert torch.equal(train, train.sort().values)


def naive_select(errors, weights, last=False, most=1):
    """The rule of the docstring, in numpy."""
    share = weights / weights.sum()

    def good(error, best):
        gap = error - best
        mean = share @ gap
        return mean <= np.sqrt(max((share @ (gap - mean) ** 2) * (share**2).sum(), 0))

    proposed = []
    for run, table in enumerate(errors):
        scores = table @ share
        best = scores.argmin()
        at = len(table) - 1 if last else min(t for t in range(len(table)) if good(table[t], table[best]))
        proposed.append((scores[at], at, run))
    proposed.sort()
    _, at, run = proposed[0]
    selected = [entry for entry in proposed if good(errors[entry[2]][entry[1]], errors[run][at])]
    if most == 1:
        selected = [min(selected, key=lambda entry: entry[0] if last else (entry[1], entry[0]))]
    return [(run, at) for _, at, run in selected[:most]]


class TestSelection:
    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize(("last", "most"), [(False, 1), (False, 3), (True, 1), (True, 3)])
    def test_it_is_the_rule_of_one_standard_error(self, seed, last, most):
        rng = np.random.default_rng(seed)
        level = rng.uniform(0.5, 1.5, size=30)
        errors = [level * rng.uniform(0.8, 1.2, size=(rounds, 30)) for rounds in (4, 4, 2)]
        weights = rng.uniform(0.5, 2, size=30)
        found = select([torch.from_numpy(e) for e in errors], torch.from_numpy(weights), last=last, most=most)
        assert [(m.run, m.round) for m in found.members] == naive_select(errors, weights, last, most)
        assert sum(m.share for m in found.members) == pytest.approx(1)
        np.testing.assert_allclose(found.scores[0], errors[0] @ weights / weights.sum())

    def test_the_earliest_round_as_good_as_the_best_is_selected(self):
        noise = 0.3 * torch.rand(1, 50, generator=torch.Generator().manual_seed(0))
        errors = torch.tensor([[2.0], [1.001], [1.0]]) + noise * torch.tensor([[1.0], [0.5], [1.0]])
        assert select([errors], torch.ones(50)).members == (Member(0, 1, 1.0),)
        assert select([errors], torch.ones(50), last=True).members == (Member(0, 2, 1.0),)

    def test_of_two_equal_candidates_the_one_with_fewer_rounds_is_selected(self):
        fast = torch.tensor([[1.0, 1.0], [1.0, 1.0]])
        slow = torch.tensor([[9.0, 9.0], [1.0, 1.0]])
        assert select([slow, fast], torch.ones(2)).members == (Member(1, 0, 1.0),)


class TestComparison:
    def test_errors_are_those_of_predictions_for_held_out_rows(self):
        data, holdout = make_rows(40), make_rows(20, seed=1, weighted=True)
        run = make_run(data)
        comparison = compare_runs([run], data, holdout, [])
        for t, machine in enumerate(run.machines):
            expected = (machine.predict(holdout.X) - holdout.Y).square().mean(dim=1)
            torch.testing.assert_close(comparison.errors[0][t], expected)
        assert torch.equal(comparison.weights, holdout.weights)
        assert compare_runs([run], data, None, []) is None

    def test_errors_of_several_outputs_are_averaged(self):
        outputs = torch.tensor([[[1.0, 3.0]]])
        errors, weights = squared_errors([RoundPredictions(torch.tensor([1]), outputs)], torch.zeros(2, 2), None)
        assert errors.tolist() == [[5.0]]
        assert weights.tolist() == [1.0]

    def test_predictions_of_members_are_averaged_with_their_shares(self):
        data, holdout = make_rows(40), make_rows(10, seed=1)
        runs = [make_run(data), make_run(data, make_candidate(kernel=Gaussian(2.0)))]
        comparison = compare_runs(runs, data, holdout, [])
        selection = validation.Selection((Member(0, 1, 0.25), Member(1, 0, 0.75)), [])
        rows, outputs = average_predictions(selection, comparison, torch.arange(10))
        one, other = (predict_rounds(run, holdout.X).outputs for run in runs)
        torch.testing.assert_close(outputs, 0.25 * one[1] + 0.75 * other[0])
        assert torch.equal(rows, torch.arange(10))


class TestScreening:
    def test_runs_of_all_candidates_share_round_0_of_their_kernel(self, monkeypatch):
        data = make_rows(40)
        solves = Stops(monkeypatch, validation, "rounds")
        candidates = [make_candidate(), make_candidate(update=DIAGONAL), make_candidate(kernel=Gaussian(2.0))]
        runs, go_on = screen(candidates, fixed, data, FitContext(), 1.0)
        assert go_on
        assert solves.calls == 3
        assert runs[0].machines[0] is runs[1].machines[0]
        assert runs[0].machines[0] is not runs[2].machines[0]
        for run, candidate in zip(runs, candidates, strict=True):
            alone = make_run(data, candidate)
            assert all(torch.equal(a.coef, b.coef) for a, b in zip(run.machines, alone.machines, strict=True))
            assert len(run.path) == len(run.records) == 2

    @pytest.mark.parametrize("at", [2, 3])
    def test_ctrl_c_ends_the_screening_with_what_is_finished(self, at, monkeypatch):
        Stops(monkeypatch, ROUNDS, "next_metric", at)
        context = FitContext()
        candidates = [make_candidate(n_rounds=3), make_candidate(n_rounds=3, update=DIAGONAL)]
        with pytest.warns(UserWarning, match=rf"interrupted after {at - 1} of 4 rounds of candidate 1: no further"):
            runs, go_on = screen(candidates, fixed, make_rows(30), context, 1.0)
        assert not go_on
        assert context.interrupted
        assert [len(run.records) for run in runs] == [at - 1]

    def test_before_the_first_round_there_is_nothing_to_keep(self, monkeypatch):
        Stops(monkeypatch, ROUNDS, "next_metric", 1)
        with pytest.raises(KeyboardInterrupt):
            screen([make_candidate()], fixed, make_rows(30), FitContext(), 1.0)

    def test_the_time_limit_ends_the_screening_and_the_comparison_goes_on(self):
        context = FitContext(Clock(1e-9))
        candidates = [make_candidate(), make_candidate(update=DIAGONAL)]
        with pytest.warns(
            UserWarning, match=r"time_limit=1e-09: 1 of 2 candidates were screened, the last one up to round 0"
        ):
            runs, go_on = screen(candidates, fixed, make_rows(30), context, 0.5)
        assert go_on
        assert context.interrupted
        assert [len(run.records) for run in runs] == [1]

    def test_an_observer_may_ask_to_stop(self):
        class Stop(FitObserver):
            def after_round(self, candidate, steps):
                return len(steps) == 2

        context = FitContext(observer=Stop())
        runs, go_on = screen([make_candidate(n_rounds=5)] * 2, fixed, make_rows(30), context, 1.0)
        assert go_on
        assert not context.interrupted
        assert [len(run.records) for run in runs] == [2]


class TestCrossValidation:
    def folds(self, data):
        return list(draw_folds(len(data), 5, seed=0))

    def validate(self, runs, data, context=None, **options):
        options = {"per_row_ridge": False, "with_machines": False} | options
        return cross_validate(runs, data, self.folds(data), context or FitContext(), **options)

    def test_each_fold_is_a_fit_without_its_rows(self):
        data = make_rows(50, weighted=True)
        run = make_run(data)
        found = self.validate([run], data)
        for (train, out), ((predictions, machines),) in zip(self.folds(data), found, strict=True):
            assert machines == ()
            assert torch.equal(predictions.rows, out)
            tuner = ReplayedParams(run.path, run.candidate.seed)
            alone = [machine.predict(data.X[out]) for _, machine in rounds(run.candidate, data[train], tuner)]
            torch.testing.assert_close(predictions.outputs, torch.stack(alone))

    def test_a_ridge_per_row_shrinks_with_the_rows_of_a_fold(self):
        data = make_rows(50)
        run = make_run(data, make_candidate(n_rounds=0), FixedParams(1e-3, per_row=True))
        (((predictions, _),), *_) = self.validate([run], data, per_row_ridge=True)
        train, out = self.folds(data)[0]
        alone = make_run(data[train], make_candidate(n_rounds=0), FixedParams(1e-3, per_row=True))
        torch.testing.assert_close(predictions.outputs[0], alone.machines[0].predict(data.X[out]))

    def test_machines_of_the_folds_have_coefficient_0_at_held_out_rows(self):
        data = make_rows(50)
        found = self.validate([make_run(data)], data, with_machines=True)
        for (train, out), ((predictions, machines),) in zip(self.folds(data), found, strict=True):
            for machine, outputs in zip(machines, predictions.outputs, strict=True):
                assert machine.X is data.X
                assert not bool(machine.coef[out].any())
                assert int((machine.coef == 0).all(dim=1).sum()) == len(data) - len(train)
                torch.testing.assert_close(machine.predict(data.X[out]), outputs)

    @pytest.mark.parametrize("workers", [2, 3])
    def test_threads_change_no_bit(self, workers):
        data = make_rows(50)
        runs = [make_run(data), make_run(data, make_candidate(update=DIAGONAL))]
        one = self.validate(runs, data, FitContext(pool=Serial()))
        many = self.validate(runs, data, FitContext(pool=Threads(workers)))
        for a, b in zip(one, many, strict=True):
            assert all(torch.equal(p.outputs, q.outputs) for (p, _), (q, _) in zip(a, b, strict=True))

    def test_a_run_that_stops_early_on_a_fold_repeats_its_last_round(self):
        data = make_rows(50)
        run = make_run(data)
        constant = Rows(data.X, torch.zeros_like(data.Y))
        task = FoldTask([(run.candidate, run.path)], constant, False, False)
        ((predictions, _),) = run_fold(task, self.folds(data)[0])
        assert predictions.outputs.shape[0] == 2
        assert not bool(predictions.outputs.any())

    def test_finished_folds_count_after_ctrl_c_with_threads_too(self, monkeypatch):
        """Results arrive in any order: the fold with row 0 never ends, and Ctrl-C comes after the other four."""
        data = make_rows(50)
        real, completed = validation.run_fold, POOL.as_completed

        def fold(task, part):
            while 0 in part[1]:
                time.sleep(0.01)
                task.after_round()  # raises once the fit is interrupted
            return real(task, part)

        def four_then_ctrl_c(futures):
            for number, future in enumerate(completed(futures), 1):
                yield future
                if number == 4:
                    raise KeyboardInterrupt

        monkeypatch.setattr(validation, "run_fold", fold)
        monkeypatch.setattr(POOL, "as_completed", four_then_ctrl_c)
        context = FitContext(pool=Threads(2))
        with pytest.warns(UserWarning, match="interrupted: the round is selected on 4 of 5 folds"):
            found = self.validate([make_run(data)], data, context)
        assert len(found) == 4
        assert context.interrupted

    def test_ctrl_c_before_the_first_fold_is_finished(self, monkeypatch):
        Stops(monkeypatch, validation, "run_fold", 1)
        data = make_rows(50)
        with pytest.warns(UserWarning, match="interrupted: no fold is finished, so the last round is selected"):
            assert self.validate([make_run(data)], data) == []

    def test_the_time_limit_is_checked_after_each_fold(self):
        data = make_rows(50)
        context = FitContext(Clock(1e-9))
        with pytest.warns(UserWarning, match="time_limit=1e-09: the round is selected on 1 of 5 folds"):
            assert len(self.validate([make_run(data)], data, context)) == 1

    def test_every_round_of_every_fold_is_counted(self):
        class Count(FitObserver):
            rounds = 0

            def after_fold_round(self):
                self.rounds += 1

        data, observer = make_rows(50), Count()
        self.validate([make_run(data)], data, FitContext(observer=observer))
        assert observer.rounds == 5 * 2

    def test_finished_folds_are_stored_and_found_again(self, tmp_path, monkeypatch):
        data = make_rows(50)
        run = make_run(data)
        whole = self.validate([run], data, with_machines=True)
        Stops(monkeypatch, validation, "run_fold", 4, RuntimeError("power failure"))
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        with pytest.raises(RuntimeError, match="power failure"):
            self.validate([run], data, context, with_machines=True)
        repeated = Stops(monkeypatch, validation, "run_fold")
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        again = self.validate([run], data, context, with_machines=True)
        assert repeated.calls == 2
        for ((p, ms),), ((q, ns),) in zip(whole, again, strict=True):
            assert torch.equal(p.outputs, q.outputs)
            assert all(torch.equal(m.coef, n.coef) for m, n in zip(ms, ns, strict=True))
            assert all(m.X is data.X or torch.equal(m.X, data.X) for m in ns)

    def test_folds_of_runs_that_were_ended_early_are_not_stored(self, tmp_path):
        data = make_rows(50)
        run = make_run(data)
        short = replace(run, candidate=replace(run.candidate, n_rounds=3))
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        self.validate([short], data, context)
        assert not list(tmp_path.glob("*/*"))


def test_cancelled_folds_end_in_their_next_round():
    with pytest.raises(TimeLimitReached):
        FitContext(folds_cancelled=True).fold_round()
