"""Checkpoints, callbacks and the other state of a fit, without an estimator."""

import importlib.util
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import gramian.rfm.training.context as context_module
from gramian.core.clock import Clock, TimeLimitReached
from gramian.core.pool import Serial
from gramian.core.rows import Rows
from gramian.core.selection import RoundPredictions
from gramian.features import Agop
from gramian.files import ModelFileError, read
from gramian.rfm.training import validation
from gramian.rfm.training.context import Checkpoint, FitContext, FitObserver, SklearnCallbacks
from small_training import Stops, make_candidate, make_rows, make_run, make_split_plan, make_task, train_on

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
TWO = {"updates": (Agop(), Agop(diagonal=True))}


class TestCheckpoint:
    def test_a_step_is_found_again_with_its_rows(self, tmp_path):
        data = make_rows(40, weighted=True)
        run = make_run(data)
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        for step in zip(run.records, run.machines, strict=True):
            checkpoint.store_step("run-0", step, run.path[step[0].index], data)
        steps, path = checkpoint.steps("run-0", data)
        assert repr(tuple(path)) == repr(run.path), "equal but for NaN"
        assert [repr(record) for record, _ in steps] == [repr(record) for record in run.records]
        for (_, machine), expected in zip(steps, run.machines, strict=True):
            assert machine.X.data_ptr() == data.X.data_ptr(), "the rows are those of the fit, not a copy"
            assert torch.equal(machine.coef, expected.coef)
            assert torch.equal(machine.weights, data.weights)
            assert torch.equal(machine.matrix(), expected.matrix())

    def test_files_hold_no_training_rows(self, tmp_path):
        data = make_rows(40, d=50)
        run = make_run(data, make_candidate(n_rounds=0))
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        checkpoint.store_step("run-0", (run.records[0], run.machines[0]), run.path[0], data)
        (path,) = tmp_path.glob("*/*")
        assert len(read(path)[1].X) == 0
        assert path.stat().st_size < data.X.numel() * 8

    def test_a_machine_on_other_rows_keeps_them(self, tmp_path):
        data = make_rows(40)
        run = make_run(data[torch.arange(10)], make_candidate(n_rounds=0))
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        checkpoint.store_step("run-0", (run.records[0], run.machines[0]), run.path[0], data)
        ((_, machine),), _ = checkpoint.steps("run-0", data)
        torch.testing.assert_close(machine.X, data.X[:10])

    def test_a_split_is_found_again(self, tmp_path):
        data = make_rows(30)
        machines = make_run(data).machines
        outputs = torch.rand(2, 3, 1, generator=torch.Generator()).double()
        predictions = RoundPredictions(torch.arange(3), outputs, torch.tensor([1.0, 2.0, 1.0]))
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        assert checkpoint.split(2, data) is None
        checkpoint.store_split(2, [(predictions, machines)], data)
        ((found, copies),) = checkpoint.split(2, data)
        assert torch.equal(found.outputs, predictions.outputs)
        assert torch.equal(found.weights, predictions.weights)
        assert all(torch.equal(a.coef, b.coef) for a, b in zip(copies, machines, strict=True))

    def test_a_machine_of_a_fold_keeps_the_weights_of_its_copies(self, tmp_path):
        data = make_rows(30, weighted=True)
        (machine, _) = make_run(data).machines
        of_fold = replace(machine, weights=data.weights / 2)
        predictions = RoundPredictions(torch.arange(3), torch.zeros(2, 3, 1).double(), None)
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        checkpoint.store_split(0, [(predictions, (machine, of_fold))], data)
        ((_, found),) = checkpoint.split(0, data)
        for one, other in zip(found, (machine, of_fold), strict=True):
            assert torch.equal(one.weights, other.weights)
            assert torch.equal(one.X, data.X)

    def test_another_fit_has_another_folder(self, tmp_path):
        X = np.arange(6.0)
        fits = [("a", X), ("b", X), ("a", X + 1e-12)]
        folders = [Checkpoint.open(tmp_path, fit).folder for fit in fits]
        assert len(set(folders)) == 3
        assert Checkpoint.open(tmp_path, ("a", X.copy())).folder == folders[0]

    def test_a_value_that_is_stored_already_is_not_written_again(self, tmp_path):
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        checkpoint.store("x", 1.0)
        checkpoint.store("x", 2.0)
        assert checkpoint.recall("x") == 1.0

    def test_a_damaged_file_is_reported_and_its_work_is_repeated(self, tmp_path):
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        checkpoint.store("x", 1.0)
        (path,) = tmp_path.glob("*/x.gramian")
        path.write_bytes(path.read_bytes()[:-7])
        with pytest.warns(UserWarning, match=r"a checkpoint cannot be used, and its work is repeated.*x\.gramian"):
            assert checkpoint.recall("x") is None
        assert not path.exists()
        checkpoint.store("x", 2.0)
        assert checkpoint.recall("x") == 2.0

    def test_only_a_complete_fit_deletes_its_checkpoint(self, tmp_path):
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"), interrupted=True)
        context.close()
        assert list(tmp_path.iterdir())
        context.interrupted = False
        context.close()
        assert not list(tmp_path.iterdir())

    def test_without_a_folder_nothing_is_stored(self):
        checkpoint = Checkpoint()
        checkpoint.store("x", 1.0)
        assert checkpoint.recall("x") is None
        checkpoint.close()

    def test_a_folder_that_is_none_is_refused(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ValueError, match="checkpoint must be the path of a folder"):
            Checkpoint.open(tmp_path / "file", "a fit")

    def test_what_is_stored_is_a_model_file_and_no_pickle(self, tmp_path):
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        with pytest.raises(ValueError, match="object"):
            checkpoint.store("x", object())
        (checkpoint.folder / "y.gramian").write_bytes(b"nonsense")
        with pytest.raises(ModelFileError):
            read(checkpoint.folder / "y.gramian")


def same(one, other):
    new = make_rows(30, seed=5).X
    assert torch.equal(one.ensemble.predict(new), other.ensemble.predict(new))
    assert torch.equal(one.metric.matrix(), other.metric.matrix())
    assert [record.score for record in one.records] == [record.score for record in other.records]
    if one.holdout is not None:
        assert torch.equal(one.holdout[1], other.holdout[1])


class TestResumed:
    """A fit that crashed or was interrupted goes on from its checkpoint and gives the same model."""

    def resume(self, data, task, plan, tmp_path):
        context = FitContext(checkpoint=Checkpoint.open(tmp_path, "a fit"))
        return train_on(data, task, plan, context)

    # Screening: rounds 0 to 2 of two candidates, round 0 shared (calls 1 to 5); then four splits of five solves each,
    # and the refits of the members.
    @pytest.mark.parametrize("at", [1, 3, 4, 6, 8, 12, 26, 28])
    def test_after_a_crash_only_the_lost_work_is_repeated(self, at, tmp_path, monkeypatch):
        data, task = make_rows(60), make_task(n_rounds=2, max_members=3, select_last=True, **TWO)
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        whole = train_on(data, task)
        everything = solves.calls
        assert everything >= 28
        crash = Stops(monkeypatch, ROUNDS, "solve_round", at, RuntimeError("power failure"))
        with pytest.raises(RuntimeError, match="power failure"):
            self.resume(data, task, None, tmp_path)
        before = solves.calls - everything
        crash.restore()
        same(whole, self.resume(data, task, None, tmp_path))
        after = solves.calls - everything - before
        # Only the round that crashed is lost, and within a split at most that split.
        assert after <= everything - before + (4 if 6 < at < 26 else 0)
        assert not list(tmp_path.iterdir()), "a complete fit leaves nothing behind"

    @pytest.mark.parametrize("at", [2, 6, 12])
    def test_splits_of_many_rows_go_on_too(self, at, tmp_path, monkeypatch):
        """Rounds end early where they get worse; a fit that goes on ends them at the same round."""
        data, task = make_rows(90, noise=1.0), make_task(n_rounds=4, max_members=3, **TWO)
        plan = make_split_plan(data, task)
        whole = train_on(data, task, plan)
        crash = Stops(monkeypatch, ROUNDS, "solve_round", at, RuntimeError)
        with pytest.raises(RuntimeError):
            self.resume(data, task, plan, tmp_path)
        crash.restore()
        same(whole, self.resume(data, task, plan, tmp_path))

    def test_a_fit_that_crashed_between_two_splits_goes_on_after_rounds_that_ended_early(self, tmp_path, monkeypatch):
        data, task = make_rows(60, noise=1.0), make_task(n_rounds=6, max_members=3, **TWO)
        whole = train_on(data, task)
        crash = Stops(monkeypatch, validation, "run_split", 3, RuntimeError)
        with pytest.raises(RuntimeError):
            self.resume(data, task, None, tmp_path)
        crash.restore()
        again = Stops(monkeypatch, validation, "run_split")
        same(whole, self.resume(data, task, None, tmp_path))
        assert again.calls == 2

    def test_the_machines_of_bagging_are_found_again(self, tmp_path, monkeypatch):
        data, task = make_rows(60), make_task(bagging=True, strata=np.arange(60) % 2, **TWO)
        whole = train_on(data, task)
        crash = Stops(monkeypatch, validation, "run_split", 3, RuntimeError)
        with pytest.raises(RuntimeError):
            self.resume(data, task, None, tmp_path)
        assert any(path.name.startswith("split") for path in tmp_path.glob("*/*"))
        crash.restore()
        same(whole, self.resume(data, task, None, tmp_path))

    def test_a_damaged_round_is_repeated(self, tmp_path, monkeypatch):
        data, task = make_rows(60), make_task(n_rounds=2)
        whole = train_on(data, task)
        crash = Stops(monkeypatch, ROUNDS, "solve_round", 3, RuntimeError)
        with pytest.raises(RuntimeError):
            self.resume(data, task, None, tmp_path)
        crash.restore()
        (path,) = tmp_path.glob("*/run-0-round-1.gramian")
        path.write_bytes(path.read_bytes()[:-7])
        with pytest.warns(UserWarning, match=r"its work is repeated.*run-0-round-1"):
            same(whole, self.resume(data, task, None, tmp_path))

    def test_after_ctrl_c_a_later_fit_goes_on(self, tmp_path, monkeypatch):
        data, task = make_rows(60), make_task(n_rounds=2)
        solves = Stops(monkeypatch, ROUNDS, "solve_round")
        whole = train_on(data, task)
        everything = solves.calls
        interrupt = Stops(monkeypatch, ROUNDS, "solve_round", 2)
        with pytest.warns(UserWarning, match="interrupted: 1 of 3 rounds of 1 candidate were screened"):
            short = self.resume(data, task, None, tmp_path)
        assert len(short.records) == 1
        interrupt.restore()
        before = solves.calls
        same(whole, self.resume(data, task, None, tmp_path))
        assert solves.calls - before == everything - 1

    def test_after_a_time_limit_a_longer_one_goes_on(self, tmp_path):
        data, task = make_rows(60), make_task(n_rounds=2)
        checkpoint = Checkpoint.open(tmp_path, "a fit")
        with pytest.warns(UserWarning, match="time limit of 1e-09 s was too short"):
            train_on(data, task, context=FitContext(Clock(1e-9), checkpoint=checkpoint))
        assert list(tmp_path.glob("*/run-0-round-0.gramian"))
        same(train_on(data, task), train_on(data, task, context=FitContext(Clock(1e9), checkpoint=checkpoint)))


class FakeTask:
    """A task of scikit-learn's callbacks that records what it is called with."""

    def __init__(self, log, name="fit"):
        self.log, self.name = log, name

    def call_on_fit_task_begin(self, estimator, **passed):
        self.log.append(("begin", self.name, passed))
        return self

    def call_on_fit_task_end(self, estimator, **passed):
        self.log.append(("end", self.name, passed))
        return estimator.stop_after is not None and len(self.log) >= estimator.stop_after

    def subcontext(self, task_name):
        return FakeTask(self.log, task_name)


class FakeEstimator:
    def __init__(self, stop_after=None):
        self.stop_after, self.log, self.max_subtasks = stop_after, [], None

    def _init_callback_context(self, max_subtasks):
        self.max_subtasks = max_subtasks
        return FakeTask(self.log)


class TestSklearnCallbacks:
    def observer(self, **options):
        estimator = FakeEstimator(**options)
        observer = SklearnCallbacks(estimator, "X", "y", None)
        observer.snapshot = lambda candidate, steps, part: {"rounds": len(steps)}
        return observer

    def test_every_round_is_a_task_within_the_fit(self):
        observer = self.observer()
        train_on(make_rows(40), make_task(**TWO), context=FitContext(observer=observer))
        observer.end()
        log = observer.estimator.log
        rounds = 2 * 2 * 5
        assert observer.estimator.max_subtasks == rounds
        assert [entry[:2] for entry in log] == [
            ("begin", "fit"),
            *[("begin", "round"), ("end", "round")] * rounds,
            ("end", "fit"),
        ]
        assert log[0][2] == {"X": "X", "y": "y", "metadata": None}

    def test_rounds_of_the_screening_pass_on_data_and_a_snapshot_and_those_of_further_splits_nothing(self):
        observer = self.observer()
        train_on(make_rows(40), make_task(), context=FitContext(observer=observer))
        ends = [passed for event, name, passed in observer.estimator.log if (event, name) == ("end", "round")]
        screened, others = ends[:2], ends[2:]
        assert [passed["reconstruction_attributes"]()["rounds"] for passed in screened] == [1, 2]
        assert all(passed["X"] == "X" for passed in screened)
        assert others == [{}] * 8

    def test_a_callback_may_stop_the_fit(self):
        observer = self.observer(stop_after=3)  # begin fit, begin round, end round
        trained = train_on(make_rows(40), make_task(n_rounds=3), context=FitContext(observer=observer))
        assert len(trained.records) == 1

    def test_a_task_that_is_left_open_is_closed_at_the_end(self):
        observer = self.observer()
        data = make_rows(40)
        train_on(Rows(data.X, 0 * data.Y), make_task(n_rounds=3), context=FitContext(observer=observer))
        observer.end()
        events = [entry[:2] for entry in observer.estimator.log]
        assert events.count(("begin", "round")) == events.count(("end", "round"))
        assert events[-1] == ("end", "fit")

    def test_sample_weights_are_metadata(self):
        assert SklearnCallbacks(FakeEstimator(), "X", "y", [1.0]).data["metadata"] == {"sample_weight": [1.0]}


def test_the_default_observer_ignores_everything():
    observer = FitObserver()
    observer.begin(3, None)
    assert observer.after_round(make_candidate(), []) is False
    observer.after_split_round()
    observer.end()


def test_a_context_has_no_limit_and_works_in_this_thread_by_default():
    context = FitContext()
    context.clock.check(1.0)
    assert isinstance(context.pool, Serial)
    assert not context.interrupted
    with context.steps(3, None):
        context.split_round()
    with pytest.raises(TimeLimitReached):
        FitContext(Clock(0.0)).clock.check(1.0)


def test_older_versions_of_scikit_learn_have_no_callbacks(monkeypatch):
    """With the module hidden, fits work and ``set_callbacks`` does not exist."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = importlib.util.spec_from_file_location("context_without_callbacks", context_module.__file__)
    old = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, old)  # dataclasses look their module up
    spec.loader.exec_module(old)
    assert not hasattr(old.CallbackSupportMixin, "set_callbacks")
    assert old.with_callbacks(len) is len
