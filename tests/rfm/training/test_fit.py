"""From prepared rows to a fitted value: task and plan, the parts of the value, snapshots and stages."""

import dataclasses

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.core.compute import Compute
from gramian.core.pool import Serial
from gramian.core.rows import MemoryRows
from gramian.kernels import Laplace
from gramian.rfm.model import FittedRFM
from gramian.rfm.options import FitOptions
from gramian.rfm.training import fit as fitting
from gramian.rfm.training.context import FitObserver
from gramian.rfm.training.fit import fit_model, fit_stages, make_task_and_plan, snapshot
from gramian.rfm.training.rounds import rounds
from gramian.solvers import Nystrom, Workspace
from gramian.tables.row_losses import selection_loss
from gramian.tables.scaling import Scaler

OPTIONS = {"kernel": Laplace(2.0), "update": "agop", "n_rounds": 1, "ridge": 1e-2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=60)


def options_of(estimator):
    return FitOptions.resolve(estimator.get_params(deep=False))


def fit(estimator, y=Y, sample_weight=None):
    prepared = estimator.prepare(X, y, sample_weight)
    return fit_model(options_of(estimator), prepared, FitObserver()), prepared


class TestTaskAndPlan:
    def test_the_task_holds_the_resolved_options(self):
        estimator = RFMRegressor(preset="best", select_round="last", ridge=0.1, ridge_scaling="n", random_state=7)
        task, plan = make_task_and_plan(options_of(estimator), estimator.prepare(X, Y))
        assert len(task.kernels) == 5
        assert (task.n_rounds, task.max_members, task.bagging, task.seed) == (5, 8, True, 7)
        assert (task.select_last, task.ridge, task.ridge_per_row, task.cautious) == (True, 0.1, True, False)
        assert (plan.n, plan.d, plan.outputs) == (60, 3, 1)
        assert plan.dtype == torch.float64

    def test_a_classifier_is_tuned_cautiously_and_its_folds_are_stratified(self):
        estimator = RFMClassifier()
        labels = np.where(Y > 0, "up", "down")
        task, _ = make_task_and_plan(options_of(estimator), estimator.prepare(X, labels))
        assert task.cautious
        assert sorted(np.bincount(task.strata)) == sorted(np.unique(labels, return_counts=True)[1])

    def test_automatic_updates_average_over_the_rows_of_the_plan(self, monkeypatch):
        monkeypatch.setattr("gramian.rfm.training.plan.AGOP_ROWS", 20)
        estimator = RFMRegressor()
        task, plan = make_task_and_plan(options_of(estimator), estimator.prepare(X, Y))
        assert plan.agop_rows == 20
        assert {update.max_rows for update in task.updates} == {20}
        estimator.set_params(update="agop")
        task, _ = make_task_and_plan(options_of(estimator), estimator.prepare(X, Y))
        assert [update.max_rows for update in task.updates] == [None], "an update of the user stays as it is"


class TestModel:
    @pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 60)])
    def test_the_holdout_is_in_the_units_of_the_target(self, weights):
        model, prepared = fit(RFMRegressor(**OPTIONS), 1e3 + 50 * Y, weights)
        held = model.holdout
        assert held.source == "folds"
        np.testing.assert_allclose(np.sort(held.targets[:, 0]), np.sort(1e3 + 50 * Y), rtol=1e-12)
        order = np.argsort(held.targets[:, 0])
        expected = np.ones(60) if weights is None else weights[np.argsort(Y)]
        np.testing.assert_allclose(held.weights[order], expected)
        assert model.history.plan.n == prepared.source.n_rows

    def test_an_evaluation_set_is_the_holdout(self):
        model = RFMRegressor(**OPTIONS).fit(X[:40], Y[:40], eval_set=(X[40:], Y[40:])).model_
        assert model.holdout.source == "evaluation set"
        np.testing.assert_allclose(model.holdout.targets[:, 0], Y[40:])
        np.testing.assert_allclose(model.holdout.outputs, model.outputs(X[40:]))
        assert (model.holdout.weights == 1).all()

    def test_a_fit_that_holds_nothing_out_falls_back_to_leave_one_out(self):
        model, _ = fit(RFMRegressor(**OPTIONS | {"n_rounds": 0}))
        assert model.held_out is None
        assert model.holdout.source == "leave-one-out"

    def test_a_classifier_is_calibrated_in_the_fit_so_that_predictions_change_nothing(self):
        model, _ = fit(RFMClassifier(**OPTIONS), Y > 0)
        assert model.fitted_link is model.link
        assert model.held_out is not None
        regression, _ = fit(RFMRegressor(**OPTIONS))
        assert regression.fitted_link is None

    def test_the_row_index_is_the_position_in_the_users_table(self):
        model, _ = fit(RFMRegressor(standardize=False, **OPTIONS))
        np.testing.assert_allclose(model.machine.X.numpy() + model.preprocessing.scaler.center, X[model.row_index])

    def test_centres_of_a_large_fit_are_rows_of_the_users_table(self):
        model, _ = fit(RFMRegressor(solver=Nystrom(centers=20), standardize=False, **OPTIONS))
        assert len(model.row_index) == model.machine.n == 20
        np.testing.assert_allclose(model.machine.X.numpy() + model.preprocessing.scaler.center, X[model.row_index])

    def test_a_solver_that_the_budget_forces_is_announced(self, monkeypatch):
        estimator = RFMRegressor(**OPTIONS)
        prepared = estimator.prepare(X, Y)
        real = fitting.make_task_and_plan

        def forced(*args):
            task, plan = real(*args)
            return task, dataclasses.replace(plan, forced=True, why="there is no memory")

        monkeypatch.setattr(fitting, "make_task_and_plan", forced)
        with pytest.warns(UserWarning, match="60 rows: there is no memory"):
            fit_model(options_of(estimator), prepared, FitObserver())

    @pytest.mark.parametrize("solver", ["direct", Nystrom(centers=20)], ids=["small", "large"])
    def test_rows_are_spread_over_a_cluster_only_in_a_large_fit(self, solver, monkeypatch):
        spread = []

        class Workers(Serial):
            def source(self, rows):
                spread.append(len(rows))
                return MemoryRows(rows)

        monkeypatch.setattr(Compute, "pool", lambda self: Workers())
        fit(RFMRegressor(solver=solver, **OPTIONS))
        assert spread == ([] if solver == "direct" else [60])


class TestStages:
    def test_a_stage_is_a_fit_that_ended_there(self):
        estimator = RFMRegressor(**OPTIONS | {"n_rounds": 2})
        prepared = estimator.prepare(X, Y)
        stages = list(fit_stages(options_of(estimator), prepared, Workspace()))
        assert all(isinstance(stage, FittedRFM) for stage in stages)
        for n_rounds, stage in enumerate(stages):
            short = RFMRegressor(**OPTIONS | {"n_rounds": n_rounds}, select_round="last").fit(X, Y).model_
            assert np.array_equal(stage.outputs(X), short.outputs(X))
            assert np.array_equal(stage.features.matrix, short.features.matrix)
            assert stage.history.best_round == n_rounds

    def test_the_stages_of_an_estimator_are_copies_of_it(self):
        estimator = RFMRegressor(**OPTIONS)
        stages = list(estimator.stages(estimator.prepare(X, Y)))
        assert [stage.best_round_ for stage in stages] == [0, 1]
        assert all(type(stage) is RFMRegressor and stage is not estimator for stage in stages)
        assert not hasattr(estimator, "model_")

    def test_several_candidates_cannot_be_followed_round_by_round(self):
        estimator = RFMRegressor()
        with pytest.raises(ValueError, match="for a given kernel and update only"):
            next(fit_stages(options_of(estimator), estimator.prepare(X, Y), Workspace()))

    def test_a_snapshot_on_a_part_of_the_rows_has_their_positions(self):
        estimator = RFMRegressor(**OPTIONS)
        prepared = estimator.prepare(X, Y)
        task, plan = make_task_and_plan(options_of(estimator), prepared)
        part = torch.arange(0, 60, 2)
        data = prepared.source.take(part)
        (candidate,) = task.candidates(plan.final_solver, plan.final_solver, plan.max_bytes)
        steps = list(rounds(candidate, data, task.tuner(candidate.kernel)))
        model = snapshot(prepared, plan, candidate, steps, part)
        assert np.array_equal(model.row_index, prepared.row_index[::2])
        assert model.history.best_round == 1
        assert len(model.history.rounds) == 2


class TestMetric:
    @pytest.mark.parametrize("metric", ["log_loss", "brier", "auc", "accuracy"])
    def test_scores_of_rounds_are_those_of_the_metric(self, metric):
        X = np.random.default_rng(0).normal(size=(60, 2))
        y = X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3
        # Of folds, each is predicted by what the others select; an evaluation set by the selected round alone.
        model = RFMClassifier(metric=metric, **(OPTIONS | {"n_rounds": 2}))
        held = model.fit(X[:40], y[:40], eval_set=(X[40:], y[40:])).model_.holdout
        loss = selection_loss(metric, model.model_.target, Scaler(np.zeros(1), np.ones(1)))
        rows = (torch.from_numpy(part) for part in (held.outputs[None], held.targets, held.weights))
        assert model.rounds_[model.best_round_].score == pytest.approx(float(loss(*rows).mean()), rel=1e-6)

    def test_a_metric_of_the_other_kind_is_refused(self):
        X = np.zeros((10, 1))
        with pytest.raises(ValueError, match='metric must be "auto", "rmse", "mae" or a function for numbers'):
            RFMRegressor(metric="auc", **(OPTIONS | {"n_rounds": 2})).fit(X, X[:, 0])

    def test_a_function_of_the_user_selects(self):
        X = np.random.default_rng(0).normal(size=(60, 2))
        y = X[:, 0] * X[:, 1]
        options = OPTIONS | {"n_rounds": 2}
        worst = RFMRegressor(metric=lambda y, p: -float(((y - p) ** 2).mean()), **options).fit(X, y)
        best = RFMRegressor(metric="rmse", **options).fit(X, y)
        assert worst.best_round_ != best.best_round_
