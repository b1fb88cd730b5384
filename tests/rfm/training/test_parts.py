"""Features learned on growing parts of the rows, and the last solve on all of them."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian.core.clock import Clock, Pace
from gramian.core.rows import MemoryRows, Rows
from gramian.core.selection import Member
from gramian.kernels import Identity, Laplace
from gramian.rfm.options import TreePartition
from gramian.rfm.training import parts
from gramian.rfm.training.context import Checkpoint, FitContext
from gramian.rfm.training.parts import PartsLearner, mean_error
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import next_metric, solve_round
from gramian.rfm.training.tuning import FixedParams, RoundParams
from gramian.rfm.tree import TreeMachine
from gramian.solvers import Nystrom, Workspace
from small_training import FakeTime, Stops, make_candidate, make_plan, make_rows, make_run, make_task

NYSTROM = importlib.import_module("gramian.solvers.nystrom")
SCREENED = torch.arange(20, 60)
HELD_OUT = torch.arange(20)


def learner(data, solver=None, n_rounds=2, sizes=None, context=None, **changes):
    """A learner on rows of which the first 20 are held out and the next 40 were screened."""
    solver = Nystrom(centers=40, tol=1e-8) if solver is None else solver
    run = make_run(data[SCREENED], make_candidate(n_rounds=n_rounds))
    order = torch.cat([SCREENED, torch.arange(60, len(data))])
    plan = make_plan(data, make_task(n_rounds=n_rounds), solver=solver, screen_rows=40, holdout_rows=20)
    if sizes is not None:
        plan = Growing(**{name: getattr(plan, name) for name in plan.__dataclass_fields__}, sizes=sizes)
    base = PartsLearner(
        plan,
        run,
        Member(0, n_rounds, 1.0),
        lambda kernel: FixedParams(1e-2),
        None,
        False,
        MemoryRows(data),
        order,
        context or FitContext(),
    )
    return replace(base, **changes)


class Growing(Plan):
    """A plan whose parts have given sizes."""

    def __init__(self, sizes, **fields):
        super().__init__(**fields)
        object.__setattr__(self, "sizes", sizes)

    def growing_parts(self, last, available):
        return list(self.sizes)


def naive_metric(data, order, sizes):
    """Rounds on growing parts, straight from the functions of one round."""
    metric = Identity(data.X.shape[1])
    for index, count in enumerate(sizes):
        rows = data[order[:count].sort().values]
        params = RoundParams(Laplace(2.0), 1e-2)
        machine, _ = solve_round(make_candidate().solver, None, rows, params, metric, None, Workspace())
        metric = next_metric(make_candidate(), machine, index)
    return metric


class TestMetric:
    def test_round_t_is_learned_on_the_t_th_part(self):
        data = make_rows(150)
        learning = learner(data, sizes=[40, 90])
        torch.testing.assert_close(
            learning.learn_metric().matrix(), naive_metric(data, learning.order, [40, 90]).matrix()
        )

    def test_round_0_has_the_identity(self):
        learning = learner(make_rows(150), n_rounds=0)
        assert isinstance(learning.learn_metric(), Identity)

    def test_a_ridge_per_row_grows_with_each_part(self, monkeypatch):
        seen = []
        real = parts.solve_round
        monkeypatch.setattr(
            parts, "solve_round", lambda *args: seen.append((len(args[2]), args[3].ridge)) or real(*args)
        )
        learning = learner(make_rows(150), sizes=[40, 80], ridge_grows=True)
        learning.learn_metric()
        weight = learning.screened_weight
        assert seen == [(40, pytest.approx(1e-2 * 40 / weight)), (80, pytest.approx(1e-2 * 80 / weight))]

    @pytest.mark.parametrize("why", ["Ctrl-C", "time limit"])
    def test_an_interrupt_keeps_the_features_learned_so_far(self, why, monkeypatch):
        data = make_rows(150)
        context = FitContext(Clock(0.0)) if why == "time limit" else FitContext()
        learning = learner(data, sizes=[40, 90], context=context)
        if why == "Ctrl-C":
            Stops(monkeypatch, parts, "solve_round", 2)
        expected = {
            "Ctrl-C": "interrupted: the features are those of round 1",
            "time limit": "time limit of 0 s was too short: the features are those of the screening, on 40 rows",
        }[why]
        with pytest.warns(UserWarning, match=expected):
            metric = learning.learn_metric()
        assert context.interrupted
        learned = {"Ctrl-C": naive_metric(data, learning.order, [40]), "time limit": learning.run.machines[2].metric}
        torch.testing.assert_close(metric.matrix(), learned[why].matrix())

    def test_features_of_finished_rounds_are_found_in_the_checkpoint(self, tmp_path, monkeypatch):
        data = make_rows(150)
        whole = learner(data, sizes=[40, 90]).learn_metric().matrix()
        Stops(monkeypatch, parts, "solve_round", 2, RuntimeError("power failure"))
        with pytest.raises(RuntimeError, match="power failure"):
            learner(data, sizes=[40, 90], context=FitContext(checkpoint=Checkpoint(tmp_path))).learn_metric()
        assert [path.name for path in tmp_path.iterdir()] == ["features-0-2-round-0.gramian"]
        solves = Stops(monkeypatch, parts, "solve_round")
        again = learner(data, sizes=[40, 90], context=FitContext(checkpoint=Checkpoint(tmp_path))).learn_metric()
        assert solves.calls == 1
        assert torch.equal(again.matrix(), whole)

    def test_features_of_fewer_rows_than_planned_are_not_stored(self, tmp_path):
        """They are the best for the time of this fit; the one that goes on with more time learns from more rows."""
        pace = Pace()
        pace.measure(1.0, 1.0)
        learning = learner(
            make_rows(150), sizes=[40, 90], context=FitContext(checkpoint=Checkpoint(tmp_path), pace=pace)
        )
        limit = 2 * 1.5 * learning.nominal_part(60)  # half of it for features, each with its gradients
        learning.context.clock = Clock(limit, FakeTime())
        learning.learn_metric()
        assert [path.name for path in tmp_path.iterdir()] == ["features-0-2-round-0.gramian"]

    def test_features_are_stored_where_there_is_time_for_the_planned_rows(self, tmp_path):
        context = FitContext(Clock(1e9), checkpoint=Checkpoint(tmp_path))
        learner(make_rows(150), sizes=[40, 90], context=context).learn_metric()
        assert len(list(tmp_path.iterdir())) == 2


class TestRefit:
    def refit(self, learning, data, error=0.0):
        return learning.refit(SCREENED, HELD_OUT, data[HELD_OUT], error)

    def test_the_error_and_the_outputs_are_those_of_the_final_model_on_held_out_rows(self):
        data = make_rows(150)
        found = self.refit(learner(data), data)
        (machine,) = found.ensemble.machines
        outputs = machine.predict(data.X[HELD_OUT])
        torch.testing.assert_close(found.holdout_outputs, outputs, rtol=1e-6, atol=1e-6)
        assert found.record.score == pytest.approx(float((outputs - data.Y[HELD_OUT]).square().mean()), rel=1e-6)
        assert not set(found.rows.tolist()) & set(HELD_OUT.tolist())
        torch.testing.assert_close(machine.X, data.X[found.rows])

    def test_with_an_evaluation_set_no_row_is_held_out(self):
        data = make_rows(150)
        learning = replace(learner(data), order=torch.randperm(150, generator=torch.Generator().manual_seed(0)))
        found = learning.refit(SCREENED, None, make_rows(20, seed=1), 0.0)
        assert found.holdout_outputs is None
        assert int(found.rows.max()) < 150

    def test_with_all_rows_as_centres_it_is_the_exact_machine(self):
        data = make_rows(100)
        found = self.refit(learner(data, Nystrom(centers=79, tol=1e-9), n_rounds=0), data)
        rest = data[torch.arange(20, 100)]
        (machine,) = found.ensemble.machines
        exact = make_run(rest, make_candidate(n_rounds=0)).machines[0]
        new = make_rows(20, seed=1).X
        torch.testing.assert_close(machine.predict(new), exact.predict(new), rtol=0.05, atol=0.05)

    def test_ctrl_c_in_the_last_solve_falls_back_to_the_screened_model(self, monkeypatch):
        data = make_rows(150)
        Stops(monkeypatch, NYSTROM.Nystrom, "solve", 1)
        learning = learner(data)
        with pytest.warns(UserWarning, match="interrupted: the model uses 40 of 150 rows"):
            found = self.refit(learning, data)
        assert found.ensemble.best is learning.run.machines[2]
        assert torch.equal(found.rows, SCREENED)
        assert learning.context.interrupted

    @pytest.mark.parametrize(("error", "falls_back"), [(0.0, True), (1e9, False)])
    def test_a_solve_that_ends_late_is_used_only_where_it_is_better(self, error, falls_back, monkeypatch):
        data = make_rows(150)
        time = FakeTime()
        monkeypatch.setattr(NYSTROM, "_iterate", time.advancing(NYSTROM._iterate, 100.0))
        learning = learner(data, n_rounds=0, context=FitContext(Clock(60.0, time)))
        if falls_back:
            with pytest.warns(UserWarning, match="time limit of 60 s was too short: the model uses 40 of 150 rows"):
                found = self.refit(learning, data, error)
        else:
            found = self.refit(learning, data, error)
        assert (found.ensemble.best is learning.run.machines[0]) == falls_back

    def test_a_threshold_fits_the_base_kernel_to_the_selected_columns(self):
        data = make_rows(150, d=5)
        found = self.refit(learner(data, feature_threshold=0.05), data)
        assert found.support.tolist() == [True, True, False, False, False]
        assert found.ensemble.best.X.shape[1] == 2
        assert isinstance(found.ensemble.best.metric, Identity)
        assert found.metric.matrix().shape == (5, 5)

    def test_a_ridge_per_row_is_that_of_all_rows_that_are_fitted(self):
        data = make_rows(150)
        learning = learner(data, ridge_grows=True, n_rounds=0)
        found = self.refit(learning, data)
        assert found.ridge == pytest.approx(1e-2 * 130 / learning.screened_weight)

    def test_a_tree_is_fitted_leaf_by_leaf(self):
        data = make_rows(200)
        found = self.refit(learner(data, TreePartition(leaf_rows=60, overlap=0.0), n_rounds=1), data)
        assert isinstance(found.ensemble.best, TreeMachine)
        assert torch.equal(found.rows, torch.arange(20, 200))
        assert "leaves of" in found.record.status


def test_budgets_are_shared_among_leaves_and_by_nothing_else(monkeypatch):
    """Leaves that are solved at the same time share the memory; features are learned alone."""
    data, asked = make_rows(200), {}
    real = Plan.part_solvers

    def watched(self, rows, at_once=1):
        asked.setdefault(at_once, set()).add(len(rows))
        return real(self, rows, at_once)

    monkeypatch.setattr(Plan, "part_solvers", watched)
    learning = learner(data, TreePartition(leaf_rows=60, workers=2), n_rounds=1)
    learning.refit(SCREENED, HELD_OUT, data[HELD_OUT], 0.0)
    assert set(asked) == {1, 2}
    assert max(asked[1]) == 180
    assert max(asked[2]) <= 180


def test_the_error_is_a_weighted_mean_over_rows_and_a_mean_over_outputs():
    rows = Rows(torch.zeros(2, 1), torch.zeros(2, 2).double(), torch.tensor([1.0, 3.0]).double())
    outputs = torch.tensor([[2.0, 0.0], [0.0, 0.0]]).double()
    assert mean_error(outputs, rows) == pytest.approx(2.0 / 4)
    assert np.isfinite(mean_error(outputs, Rows(rows.X, rows.Y)))
