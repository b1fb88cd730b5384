"""Runs on held-out rows: screening side by side, and the same runs on further splits."""

import importlib
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.pool import Serial, Threads
from gramian.core.rows import Rows
from gramian.core.selection import RunComparison
from gramian.core.splits import draw_splits
from gramian.features import Agop
from gramian.kernels import Gaussian, Laplace, Lp
from gramian.rfm.machine import KernelMachine
from gramian.rfm.training import validation
from gramian.rfm.training.context import Checkpoint, FitContext, FitObserver
from gramian.rfm.training.rounds import rounds
from gramian.rfm.training.tuning import FixedParams, LeaveOneOutTuner, RecordingTuner, ReplayedParams
from gramian.rfm.training.validation import (
    ComparedRuns,
    SplitTask,
    compare_on_splits,
    predict_rounds,
    repeat_on_splits,
    run_split,
    screen,
)
from small_training import Stops, make_candidate, make_rows, make_run

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
POOL = importlib.import_module("gramian.core.pool")
DIAGONAL = Agop(diagonal=True)


def fixed(kernel):
    return FixedParams(1e-2)


class TestComparison:
    def test_errors_are_those_of_predictions_for_held_out_rows(self):
        data, holdout = make_rows(40), make_rows(20, seed=1, weighted=True)
        run = make_run(data)
        comparison = RunComparison.of([[predict_rounds(run, holdout)]], holdout.Y)
        for t, machine in enumerate(run.machines):
            expected = (machine.predict(holdout.X) - holdout.Y).square().mean(dim=1)
            torch.testing.assert_close(comparison.errors[0][t], expected)
        assert torch.equal(comparison.weights[0], holdout.weights)
        assert comparison.selectable == (0,)

    def test_predictions_of_several_splits_are_put_together(self):
        data = make_rows(30, weighted=True)
        parts = [torch.arange(10), torch.arange(10, 30)]
        run = make_run(make_rows(40, seed=1))
        whole = RunComparison.of([[predict_rounds(run, data)]], data.Y)
        cut = RunComparison.of([[predict_rounds(run, data[part], part) for part in parts]], data.Y)
        torch.testing.assert_close(cut.errors[0], whole.errors[0])
        assert torch.equal(cut.weights[0], whole.weights[0])


def same_runs(one, other):
    """Two lists of runs are the same to the last bit."""
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert str(a.path) == str(b.path)  # an error that was not computed is NaN, which is not equal to itself
        assert [r.index for r in a.records] == [r.index for r in b.records]
        assert all(torch.equal(m.coef, k.coef) for m, k in zip(a.machines, b.machines, strict=True))


class Silent(FitObserver):
    """Counts rounds of the screening."""

    rounds = 0

    def after_round(self, candidate, steps):
        self.rounds += 1
        return False


FOUR = [
    make_candidate(n_rounds=3),
    make_candidate(n_rounds=3, update=DIAGONAL),
    make_candidate(n_rounds=3, kernel=Gaussian(2.0)),
    make_candidate(n_rounds=3, kernel=Gaussian(2.0), update=DIAGONAL),
]


class TestScreening:
    def test_runs_of_all_candidates_share_round_0_of_their_kernel(self, monkeypatch):
        data = make_rows(40)
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        candidates = [make_candidate(), make_candidate(update=DIAGONAL), make_candidate(kernel=Gaussian(2.0))]
        runs = screen(candidates, fixed, data, FitContext(), 1.0)
        assert solves.calls == 5
        assert runs[0].machines[0] is runs[1].machines[0]
        assert runs[0].machines[0] is not runs[2].machines[0]
        for run, candidate in zip(runs, candidates, strict=True):
            alone = make_run(data, candidate)
            assert all(torch.equal(a.coef, b.coef) for a, b in zip(run.machines, alone.machines, strict=True))
            assert len(run.path) == len(run.records) == 2

    def test_ridges_and_bandwidths_are_found_as_for_one_candidate_alone(self):
        data = make_rows(60, noise=0.3)
        candidates = [replace(one, kernel=type(one.kernel)()) for one in FOUR]
        runs = screen(candidates, lambda kernel: LeaveOneOutTuner(None, 0), data, FitContext(), 1.0)
        same_runs(runs, [make_run(data, one, LeaveOneOutTuner(None, 0)) for one in candidates])

    @pytest.mark.parametrize("workers", [2, 4])
    @pytest.mark.parametrize("tuned", [False, True])
    def test_side_by_side_or_one_after_the_other_makes_no_difference(self, workers, tuned):
        data, held_out = make_rows(60, noise=0.3), make_rows(30, seed=1)
        candidates = [replace(one, kernel=type(one.kernel)()) for one in FOUR] if tuned else FOUR
        tuner = (lambda kernel: LeaveOneOutTuner(None, 0)) if tuned else fixed
        one, many = (
            screen(candidates, tuner, data, FitContext(pool=pool), 1.0, held_out)
            for pool in (Serial(), Threads(workers))
        )
        same_runs(one, many)

    def test_an_observer_that_wants_rounds_in_order_is_told_from_this_thread(self):
        class InOrder(Silent):
            in_order = True
            seen = []  # noqa: RUF012

            def after_round(self, candidate, steps):
                self.seen.append((candidate.kernel, len(steps), threading.current_thread() is threading.main_thread()))
                return False

        observer = InOrder()
        screen(FOUR, fixed, make_rows(40), FitContext(pool=Threads(2), observer=observer), 1.0)
        assert len(observer.seen) == 16
        assert all(here for *_, here in observer.seen)

    def test_a_candidate_ends_with_the_first_round_that_is_worse_by_a_standard_error_on_held_out_rows(self):
        data, held_out = make_rows(60, noise=1.0), make_rows(60, seed=1, noise=1.0)
        candidates = [replace(one, n_rounds=8) for one in FOUR]
        whole = screen(candidates, fixed, data, FitContext(), 1.0)
        ended = screen(candidates, fixed, data, FitContext(), 1.0, held_out)
        for run, all_rounds in zip(ended, whole, strict=True):
            assert len(all_rounds.records) == 9
            errors = np.stack(
                [(machine.predict(held_out.X) - held_out.Y).square().mean(1).numpy() for machine in all_rounds.machines]
            )
            gaps = np.diff(errors, axis=0)
            worse = [t + 1 for t, gap in enumerate(gaps) if gap.mean() > gap.std() / np.sqrt(len(gap))]
            assert len(run.records) == (worse[0] + 1 if worse else 9)
            assert all(torch.equal(a.coef, b.coef) for a, b in zip(run.machines, all_rounds.machines, strict=False))
        assert min(len(run.records) for run in ended) < 9

    @pytest.mark.parametrize("after", [1, 3, 6, 9])
    def test_a_screening_continues_where_it_was_ended(self, after, tmp_path, monkeypatch):
        """Power fails after so many rounds; what is stored is found, and no bit is different."""
        data, held_out = make_rows(60, noise=1.0), make_rows(60, seed=1, noise=1.0)
        tuner = lambda kernel: LeaveOneOutTuner(1e-2, 0)  # noqa: E731
        candidates = [replace(one, kernel=type(one.kernel)(), n_rounds=5) for one in FOUR]
        whole = screen(candidates, tuner, data, FitContext(), 1.0, held_out)
        total = sum(len(run.records) for run in whole)
        assert total > after
        Stops(monkeypatch, ROUNDS, "solve_round", after + 1, RuntimeError("power failure"))
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        with pytest.raises(RuntimeError, match="power failure"):
            screen(candidates, tuner, data, context, 1.0, held_out)
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        again = screen(candidates, tuner, data, context, 1.0, held_out)
        same_runs(again, whole)
        assert solves.calls <= total - 2 - after, "round 0 is shared by two and two"

    def test_a_finished_screening_is_found_whole(self, tmp_path, monkeypatch):
        """Candidates that had ended early stay as long as they were."""
        data, held_out = make_rows(60, noise=1.0), make_rows(60, seed=1, noise=1.0)
        candidates = [replace(one, n_rounds=8) for one in FOUR]
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        whole = screen(candidates, fixed, data, FitContext(checkpoint=checkpoint), 1.0, held_out)
        Stops(monkeypatch, ROUNDS, "solve_round", 1, AssertionError("this round was finished before"))
        same_runs(screen(candidates, fixed, data, FitContext(checkpoint=checkpoint), 1.0, held_out), whole)

    @pytest.mark.parametrize("at", [2, 3, 5])
    def test_ctrl_c_ends_the_screening_with_what_is_finished(self, at, monkeypatch):
        Stops(monkeypatch, ROUNDS, "solve_round", at)
        context = FitContext()
        candidates = [make_candidate(n_rounds=3), make_candidate(n_rounds=3, update=DIAGONAL)]
        # Round 0 is solved once and counts for both.
        done = at if at > 1 else 1
        with pytest.warns(UserWarning, match=rf"interrupted: {done} of 8 rounds of 2 candidates were screened"):
            runs = screen(candidates, fixed, make_rows(30), context, 1.0)
        assert context.interrupted
        assert [len(run.records) for run in runs] == [min(4, at - 1), max(1, at - 4)]

    def test_ctrl_c_reaches_candidates_in_other_threads(self, monkeypatch):
        """Ctrl-C comes to the main thread while others work: finished rounds count, and the others are ended."""
        completed, begun = POOL.as_completed, threading.Event()
        calls = iter(range(100))

        def ctrl_c(futures):
            if next(calls) == 0:  # round 0 of the kernels
                yield from completed(futures)
                return
            assert begun.wait(120)
            raise KeyboardInterrupt

        class Tell(FitObserver):
            def after_round(self, candidate, steps):
                if len(steps) == 2:
                    begun.set()
                return False

        monkeypatch.setattr(POOL, "as_completed", ctrl_c)
        context = FitContext(pool=Threads(2), observer=Tell())
        candidates = [replace(one, n_rounds=3000) for one in FOUR]
        with pytest.warns(UserWarning, match="interrupted: .* of 12004 rounds of 4 candidates were screened"):
            runs = screen(candidates, fixed, make_rows(30), context, 1.0)
        assert context.interrupted
        assert len(runs) == 4
        assert max(len(run.records) for run in runs) < 3001
        assert all(len(run.path) == len(run.records) == len(run.machines) for run in runs)

    def test_before_the_first_round_there_is_nothing_to_keep(self, monkeypatch):
        Stops(monkeypatch, ROUNDS, "solve_round", 1)
        with pytest.raises(KeyboardInterrupt):
            screen([make_candidate()], fixed, make_rows(30), FitContext(), 1.0)

    def test_the_time_limit_ends_the_screening_with_what_is_finished(self):
        context = FitContext(Clock(1e-9))
        candidates = [make_candidate(), make_candidate(update=DIAGONAL)]
        with pytest.warns(
            UserWarning, match=r"time limit of 1e-09 s was too short: 1 of 4 rounds of 2 candidates were screened"
        ):
            runs = screen(candidates, fixed, make_rows(30), context, 0.5)
        assert context.interrupted
        assert [len(run.records) for run in runs] == [1]

    def test_an_observer_may_ask_to_stop(self):
        class Stop(FitObserver):
            in_order = True

            def after_round(self, candidate, steps):
                return len(steps) == 2

        context = FitContext(observer=Stop())
        candidates = [make_candidate(n_rounds=5), make_candidate(n_rounds=5, update=DIAGONAL)]
        runs = screen(candidates, fixed, make_rows(30), context, 1.0)
        assert not context.interrupted
        assert [len(run.records) for run in runs] == [2, 1]

    def test_every_round_is_counted_once(self):
        observer = Silent()
        screen(FOUR, fixed, make_rows(40), FitContext(observer=observer), 1.0)
        assert observer.rounds == 16


class TestSplits:
    def splits(self, data):
        return list(draw_splits(len(data), 5, seed=0))

    def repeat(self, runs, data, context=None, share=1.0, splits=None, **options):
        options = {"per_row_ridge": False, "with_machines": False} | options
        splits = self.splits(data) if splits is None else splits
        return repeat_on_splits(runs, data, splits, context or FitContext(), share, **options)

    def test_each_split_is_a_fit_without_its_held_out_rows(self):
        data = make_rows(50, weighted=True)
        run = make_run(data)
        found = self.repeat([run], data)
        for split, ((predictions, machines),) in zip(self.splits(data), found, strict=True):
            out = split.held_out
            assert machines == ()
            assert torch.equal(predictions.rows, out)
            assert torch.equal(predictions.weights, data.weights[out])
            tuner = ReplayedParams(run.path, run.candidate.seed)
            alone = [machine.predict(data.X[out]) for _, machine in rounds(run.candidate, data[split.train], tuner)]
            torch.testing.assert_close(predictions.outputs, torch.stack(alone))

    def test_runs_with_one_kernel_share_round_0(self, monkeypatch):
        data = make_rows(50)
        runs = [make_run(data, candidate) for candidate in FOUR]
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        found = self.repeat(runs, data, splits=self.splits(data)[:1])
        assert solves.calls == 2 * 7
        for run, (predictions, _) in zip(runs, found[0], strict=True):
            ((alone, _),) = self.repeat([run], data, splits=self.splits(data)[:1])[0]
            assert torch.equal(predictions.outputs, alone.outputs)

    def test_copies_of_a_row_are_fitted_and_held_out_as_in_the_table_of_copies(self):
        """Merged rows and the table with all its copies have the same predictions for held-out rows."""
        data = make_rows(30)
        counts = torch.arange(30) % 4 + 1
        merged = Rows(data.X, data.Y, counts.double(), copies=counts.double())
        owner = torch.repeat_interleave(torch.arange(30), counts)
        run = make_run(merged)
        splits = list(draw_splits(30, 5, seed=2, copies=counts.numpy()))
        whole = list(draw_splits(len(owner), 5, seed=2))
        task = SplitTask([(run.candidate, run.path)], merged, False, False)
        for split, unmerged in zip(splits, whole, strict=True):
            ((predictions, _),) = run_split(task, split)
            assert torch.equal(predictions.weights, split.held_out_copies)
            train = owner[unmerged.train]
            *_, (_, machine) = rounds(run.candidate, data[train], ReplayedParams(run.path, 0))
            expected = machine.predict(data.X[split.held_out])
            torch.testing.assert_close(predictions.outputs[-1], expected, rtol=1e-5, atol=1e-6)

    def test_a_ridge_per_row_shrinks_with_the_rows_of_a_split(self):
        data = make_rows(50)
        run = make_run(data, make_candidate(n_rounds=0), FixedParams(1e-3, per_row=True))
        (((predictions, _),), *_) = self.repeat([run], data, per_row_ridge=True)
        split = self.splits(data)[0]
        alone = make_run(data[split.train], make_candidate(n_rounds=0), FixedParams(1e-3, per_row=True))
        torch.testing.assert_close(predictions.outputs[0], alone.machines[0].predict(data.X[split.held_out]))

    def test_machines_of_the_splits_have_coefficient_0_at_held_out_rows(self):
        data = make_rows(50)
        found = self.repeat([make_run(data)], data, with_machines=True)
        for split, ((predictions, machines),) in zip(self.splits(data), found, strict=True):
            for machine, outputs in zip(machines, predictions.outputs, strict=True):
                assert machine.X is data.X
                assert not bool(machine.coef[split.held_out].any())
                assert int((machine.coef == 0).all(dim=1).sum()) == len(data) - len(split.train)
                torch.testing.assert_close(machine.predict(data.X[split.held_out]), outputs)

    @pytest.mark.parametrize("workers", [2, 3])
    def test_threads_change_no_bit(self, workers):
        data = make_rows(50)
        runs = [make_run(data), make_run(data, make_candidate(update=DIAGONAL))]
        one = self.repeat(runs, data, FitContext(pool=Serial()))
        many = self.repeat(runs, data, FitContext(pool=Threads(workers)))
        for a, b in zip(one, many, strict=True):
            assert all(torch.equal(p.outputs, q.outputs) for (p, _), (q, _) in zip(a, b, strict=True))

    def test_a_run_that_stops_early_on_a_split_repeats_its_last_round(self):
        data = make_rows(50)
        run = make_run(data)
        constant = Rows(data.X, torch.zeros_like(data.Y))
        task = SplitTask([(run.candidate, run.path)], constant, False, False)
        ((predictions, _),) = run_split(task, self.splits(data)[0])
        assert predictions.outputs.shape[0] == 2
        assert not bool(predictions.outputs.any())

    def test_finished_splits_count_after_ctrl_c_with_threads_too(self, monkeypatch):
        """Results arrive in any order: the split that holds out row 0 never ends, and Ctrl-C comes after the others."""
        data = make_rows(50)
        real, completed = validation.run_split, POOL.as_completed

        def endless(task, split):
            while 0 in split.held_out:
                time.sleep(0.01)
                task.after_round()  # raises once the fit is interrupted
            return real(task, split)

        def four_then_ctrl_c(futures):
            for number, future in enumerate(completed(futures), 1):
                yield future
                if number == 4:
                    raise KeyboardInterrupt

        monkeypatch.setattr(validation, "run_split", endless)
        monkeypatch.setattr(POOL, "as_completed", four_then_ctrl_c)
        context = FitContext(pool=Threads(2))
        with pytest.warns(UserWarning, match="interrupted: candidates are compared on 5 of 6 splits"):
            found = self.repeat([make_run(data)], data, context)
        assert len(found) == 4
        assert context.interrupted

    def test_ctrl_c_before_the_first_split_is_finished(self, monkeypatch):
        Stops(monkeypatch, validation, "run_split", 1)
        data = make_rows(50)
        with pytest.warns(UserWarning, match="interrupted: candidates are compared on 1 of 6 splits"):
            assert self.repeat([make_run(data)], data) == []

    def test_no_split_begins_after_the_time_limit(self, monkeypatch):
        begun = Stops(monkeypatch, validation, "run_split")
        data = make_rows(50)
        context = FitContext(Clock(1e-9))
        with pytest.warns(
            UserWarning, match="time limit of 1e-09 s was too short: candidates are compared on 1 of 6 splits"
        ):
            assert self.repeat([make_run(data)], data, context) == []
        assert begun.calls == 0

    def test_every_round_of_every_split_is_counted(self):
        class Count(FitObserver):
            rounds = 0

            def after_split_round(self):
                self.rounds += 1

        data, observer = make_rows(50), Count()
        self.repeat([make_run(data)], data, FitContext(observer=observer))
        assert observer.rounds == 5 * 2

    def test_finished_splits_are_stored_and_found_again(self, tmp_path, monkeypatch):
        data = make_rows(50)
        run = make_run(data)
        whole = self.repeat([run], data, with_machines=True)
        Stops(monkeypatch, validation, "run_split", 4, RuntimeError("power failure"))
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        with pytest.raises(RuntimeError, match="power failure"):
            self.repeat([run], data, context, with_machines=True)
        repeated = Stops(monkeypatch, validation, "run_split")
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        again = self.repeat([run], data, context, with_machines=True)
        assert repeated.calls == 2
        for ((p, ms),), ((q, ns),) in zip(whole, again, strict=True):
            assert torch.equal(p.outputs, q.outputs)
            assert all(torch.equal(m.coef, n.coef) for m, n in zip(ms, ns, strict=True))
            assert all(m.X is data.X or torch.equal(m.X, data.X) for m in ns)

    def test_splits_of_runs_that_were_ended_early_are_not_stored(self, tmp_path):
        data = make_rows(50)
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"), interrupted=True)
        self.repeat([make_run(data)], data, context)
        assert not list(tmp_path.glob("*/*"))


class TestComparedRuns:
    def compare(self, runs, data, splits, context=None, **options):
        options = {"last": False, "most": 1, "per_row_ridge": False, "with_machines": False} | options
        held_out = splits[0].compared(data)
        return compare_on_splits(runs, data, tuple(splits), held_out, context or FitContext(), 1.0, **options)

    def test_rows_that_the_screening_predicted_are_not_predicted_again(self, monkeypatch):
        data, splits = make_rows(60), tuple(draw_splits(60, 1))
        candidates = [make_candidate(n_rounds=2), make_candidate(update=Agop(power=0.5), n_rounds=2)]
        held_out, predict, calls = splits[0].compared(data), KernelMachine.predict, []
        monkeypatch.setattr(
            KernelMachine, "predict", lambda self, X, **options: calls.append(self) or predict(self, X, **options)
        )
        runs = screen(candidates, fixed, splits[0].fitted(data), FitContext(), 1.0, held_out)
        machines = {id(machine) for run in runs for machine in run.machines}  # round 0 is one machine
        options = {"last": False, "most": 1, "per_row_ridge": False, "with_machines": False}
        found = compare_on_splits(runs, data, splits, held_out, FitContext(), 1.0, **options)
        assert len(calls) == len(machines)
        for run, (predictions,) in zip(runs, found.comparison.predictions, strict=True):
            naive = [predict(machine, held_out.X, batch_invariant=False) for machine in run.machines]
            assert torch.equal(predictions.outputs, torch.stack(naive))

    def runs(self, data, split):
        """Two that are nearly equally good, and one without a length scale of any use."""
        kernels = (Laplace(2.0), Laplace(2.2), Laplace(1e-3))
        return [make_run(split.fitted(data), make_candidate(kernel=kernel)) for kernel in kernels]

    def test_runs_that_may_still_win_are_compared_on_all_splits_and_others_on_the_first(self):
        data = make_rows(100, weighted=True)
        splits = list(draw_splits(100, 5))
        found = self.compare(self.runs(data, splits[0]), data, splits)
        assert found.comparison.selectable == (0, 1)
        assert [len(weights) for weights in found.comparison.weights] == [100, 100, 20]
        for run in (0, 1):
            rows = torch.cat([part.rows for part in found.comparison.predictions[run]])
            assert torch.equal(rows.sort().values, torch.arange(100)), "every row is held out once"
            assert torch.equal(found.comparison.weights[run], data.weights[rows])
        assert found.machines == [[], [], []]

    def test_machines_of_all_splits_are_those_behind_the_predictions(self):
        data = make_rows(100)
        splits = list(draw_splits(100, 5))
        found = self.compare(self.runs(data, splits[0]), data, splits, with_machines=True)
        assert [len(machines) for machines in found.machines] == [5, 5, 0]
        for run in (0, 1):
            for split, machines, predicted in zip(
                splits, found.machines[run], found.comparison.predictions[run], strict=True
            ):
                for machine, outputs in zip(machines, predicted.outputs, strict=True):
                    assert not bool(machine.coef[split.held_out].any())
                    torch.testing.assert_close(machine.predict(data.X[split.held_out]), outputs)

    def test_without_other_rows_there_is_no_comparison(self):
        data = make_rows(30)
        runs = [make_run(data)]
        assert ComparedRuns.on(runs, None).comparison is None
        found = ComparedRuns.on(runs, make_rows(10, seed=1))
        assert found.comparison.selectable == (0,)
        assert found.machines == [[]]


def test_cancelled_splits_end_in_their_next_round():
    with pytest.raises(TimeLimitReached):
        FitContext(splits_cancelled=True).split_round()


def test_threads_begin_with_the_longest_candidates():
    run = make_run(make_rows(20))

    def job(name, kernel, *seconds):
        candidate = replace(run.candidate, kernel=kernel)
        steps = [(replace(run.records[0], seconds=value), run.machines[0]) for value in seconds]
        return validation._Screening(name, candidate, RecordingTuner(FixedParams(1.0), []), steps)

    before = [job("a", Laplace()), job("b", Lp()), job("c", Gaussian())]
    assert [one.name for one in validation._longest_first(before, Threads(2))] == ["b", "a", "c"]
    after = [job("a", Laplace(), 1.0), job("b", Lp(), 2.0, 0.1), job("c", Gaussian(), 3.0)]
    assert [one.name for one in validation._longest_first(after, Threads(2))] == ["c", "b", "a"]
    assert [one.name for one in validation._longest_first(after, Serial())] == ["a", "b", "c"]
