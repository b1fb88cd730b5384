"""The pipeline without an estimator: screen, compare, select, refit and package, for every kind of plan."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian.core.pool import Threads
from gramian.core.rows import MemoryRows, Rows
from gramian.core.splits import draw_splits
from gramian.features import Agop
from gramian.kernels import Gaussian, Identity, Laplace
from gramian.rfm.training import refit, validation
from gramian.rfm.training import train as pipeline
from gramian.rfm.training.context import FitContext, FitObserver
from gramian.rfm.training.rounds import Evolution, rounds
from gramian.rfm.training.train import train
from gramian.rfm.training.tuning import FixedParams
from gramian.solvers import ConjugateGradient, Direct, EigenPro, Nystrom
from small_training import (
    Stops,
    exact_machine,
    make_plan,
    make_rows,
    make_split_plan,
    make_task,
    naive_coef,
    train_on,
)

ROUNDS = importlib.import_module("gramian.rfm.training.rounds")
ROUGH = ConjugateGradient(tol=1e-2, preconditioner_rank=20)
EXACT = ConjugateGradient(tol=1e-8, preconditioner_rank=40)
TWO = {"updates": (Agop(), Agop(diagonal=True))}


def evaluation_task(**changes):
    return make_task(evaluation=make_rows(40, seed=1), **changes)


class TestFolds:
    """Up to 600 rows: candidates are compared on fifths of the rows, and the selected ones are fitted to all."""

    def test_without_rounds_it_is_kernel_ridge_regression(self):
        data = make_rows(50, outputs=2, weighted=True)
        trained = train_on(data, make_task(n_rounds=0))
        (machine,) = trained.ensemble.machines
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-7, atol=1e-9)
        assert torch.equal(trained.metric.matrix(), torch.eye(3, dtype=torch.float64))
        assert (trained.best_round, trained.ridge, trained.rows, trained.support) == (0, 1e-2, None, None)

    def test_the_model_is_the_selected_round_on_all_rows(self):
        data = make_rows(60)
        trained = train_on(data, make_task(n_rounds=2, select_last=True))
        *_, (record, machine) = rounds(trained.candidate, data, FixedParams(1e-2))
        assert trained.best_round == 2
        assert torch.equal(trained.ensemble.best.coef, machine.coef)
        assert torch.equal(trained.metric.matrix(), machine.matrix())
        assert trained.records[-1].residual == record.residual

    def test_scores_and_holdout_predictions_are_those_of_the_folds(self):
        data = make_rows(60, weighted=True)
        trained = train_on(data, make_task(n_rounds=2))
        rows, outputs, weights = trained.holdout
        assert torch.equal(rows.sort().values, torch.arange(60))
        assert torch.equal(weights, data.weights[rows])
        errors = (outputs - data.Y[rows]).square().mean(dim=1)
        share = weights / weights.sum()
        assert trained.records[trained.best_round].score == pytest.approx(float(errors @ share), rel=1e-9)
        scores = [record.score for record in trained.records]
        assert scores[trained.best_round] <= scores[0]

    def test_candidates_that_cannot_win_are_compared_on_the_first_fold_only(self, monkeypatch):
        """A kernel without a length scale of any use loses the race, and the other goes on alone."""
        data = make_rows(60)
        seen = []
        real = validation.run_split
        monkeypatch.setattr(
            validation, "run_split", lambda task, split: seen.append(len(task.paths)) or real(task, split)
        )
        trained = train_on(data, make_task(kernels=(Laplace(2.0), Laplace(1e-3)), max_members=4))
        assert seen == [1, 1, 1, 1]
        assert trained.candidate.kernel == Laplace(2.0)
        assert len(trained.ensemble.machines) == 1

    def test_rounds_end_early_where_they_get_worse_unless_the_last_is_asked_for(self):
        data = make_rows(60, noise=3.0)
        assert len(train_on(data, make_task(n_rounds=20)).records) < 21
        assert len(train_on(data, make_task(n_rounds=4, select_last=True)).records) == 5

    def test_copies_of_a_row_are_compared_like_rows(self):
        """The model of merged rows is that of the table with all its copies, with their own folds."""
        counts = torch.arange(40) % 4 + 1
        few = make_rows(40, noise=0.5)
        merged = Rows(few.X, few.Y, counts.double(), copies=counts.double())
        rows, _, weights = train_on(merged, make_task(n_rounds=1)).holdout
        held_out = torch.zeros(40, dtype=torch.float64).index_add(0, rows, weights)
        assert torch.equal(held_out, counts.double()), "every copy is held out once"

    def test_predictors_that_are_equally_good_predict_together(self):
        data = make_rows(60, noise=0.5)
        task = make_task(kernels=(Laplace(2.0), Laplace(2.1), Laplace(2.2)), max_members=2, ridge=0.1)
        ensemble = train_on(data, task).ensemble
        assert sum(ensemble.shares) == pytest.approx(1)
        assert len(ensemble.machines) == 2
        new = make_rows(10, seed=1).X
        parts = [s * m.predict(new) for m, s in zip(ensemble.machines, ensemble.shares, strict=True)]
        torch.testing.assert_close(ensemble.predict(new), torch.stack(parts).sum(dim=0))
        assert len(train_on(data, replace(task, max_members=1)).ensemble.machines) == 1

    def test_members_that_are_the_same_round_0_are_one_machine(self):
        """Candidates with one kernel share round 0; it gets the shares of all of them."""
        data = make_rows(60, noise=3.0)
        trained = train_on(data, make_task(n_rounds=1, max_members=5, ridge=1.0, **TWO))
        assert trained.best_round == 0
        assert len(trained.ensemble.machines) == 1
        assert trained.ensemble.shares == (1.0,)

    def test_bagging_averages_each_member_with_its_copies_from_the_folds(self):
        data = make_rows(60)
        trained = train_on(data, make_task(bagging=True, select_last=True, **TWO))
        machines = trained.ensemble.machines
        assert len(machines) == 6
        assert trained.ensemble.shares == pytest.approx([1 / 6] * 6)
        for machine in machines[1:]:
            assert int((machine.coef == 0).all(dim=1).sum()) == 12, "a fifth of the rows was held out"

    def test_with_too_few_rows_round_0_is_selected_unless_the_last_is_asked_for(self):
        data = make_rows(8)
        assert train_on(data, make_task(n_rounds=2)).best_round == 0
        assert train_on(data, make_task(n_rounds=2, select_last=True)).best_round == 2
        assert train_on(data, make_task(n_rounds=2)).holdout is None

    def test_a_constant_target_has_one_round(self):
        data = make_rows(40)
        trained = train_on(Rows(data.X, 0 * data.Y), make_task(n_rounds=3))
        assert len(trained.records) == 1
        assert not bool(trained.ensemble.predict(data.X).any())

    def test_labels_stratify_the_folds(self, monkeypatch):
        seen = []
        real = pipeline.draw_splits
        monkeypatch.setattr(
            pipeline, "draw_splits", lambda *args, **options: seen.append(options) or real(*args, **options)
        )
        strata = np.arange(60) % 2
        train_on(make_rows(60), make_task(strata=strata, seed=3))
        (options,) = seen
        assert options["strata"] is strata
        assert options["seed"] == 3

    @pytest.mark.parametrize("bagging", [False, True])
    def test_threads_change_no_bit(self, bagging):
        data, task = make_rows(60), make_task(bagging=bagging, max_members=3, **TWO)
        one, two = train_on(data, task), train_on(data, task, context=FitContext(pool=Threads(2)))
        assert torch.equal(one.ensemble.predict(data.X), two.ensemble.predict(data.X))
        assert [r.score for r in one.records] == [r.score for r in two.records]

    def test_the_observer_is_notified_of_the_number_of_rounds(self):
        class Watch(FitObserver):
            begun = None

            def begin(self, steps, part):
                self.begun = steps, part

        watch = Watch()
        train_on(make_rows(60), make_task(**TWO), context=FitContext(observer=watch))
        steps, part = watch.begun
        assert steps == 2 * 2 * 5
        assert torch.equal(part, next(draw_splits(60, 1)).train)


class TestThreshold:
    def test_the_base_kernel_is_fitted_to_the_columns_that_m_selects(self):
        data = make_rows(80, d=5)
        task = make_task(n_rounds=2, select_last=True, feature_threshold=0.05)
        trained = train_on(data, task)
        diagonal = trained.metric.matrix().diagonal()
        scaled = (diagonal - diagonal.min()) / (diagonal.max() - diagonal.min())
        assert torch.equal(trained.support, scaled > 0.05)
        assert 0 < int(trained.support.sum()) < 5
        few = Rows(data.X[:, trained.support], data.Y)
        (machine,) = trained.ensemble.machines
        torch.testing.assert_close(machine.coef, naive_coef(machine, few, 1e-2), rtol=1e-7, atol=1e-9)
        assert isinstance(machine.metric, Identity)
        assert trained.holdout is None, "the folds predicted with another model"

    def test_a_predictor_without_features_selects_columns_by_its_gradients(self):
        data = make_rows(80, d=4)
        trained = train_on(data, make_task(n_rounds=0, feature_threshold=0.3))
        assert trained.support.tolist()[2:] == [False, False]


class TestSplits:
    """2,001 to 30,000 rows: candidates are compared on splits into a part and other rows, and refitted on all rows."""

    def splits(self, data, task, plan):
        sizes = {"train_rows": plan.screen_rows, "held_out_rows": plan.holdout_rows}
        return list(draw_splits(len(data), plan.n_splits, **sizes, seed=task.seed))

    def test_the_selected_candidate_is_fitted_to_all_rows(self):
        data, task = make_rows(90), make_task(n_rounds=2, select_last=True, **TWO)
        trained = train_on(data, task, make_split_plan(data, task))
        machine = trained.ensemble.best
        assert torch.equal(machine.X, data.X)
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-7, atol=1e-9)
        assert torch.equal(trained.metric.matrix(), machine.matrix())

    def test_rounds_are_repeated_on_more_rows_than_the_part(self):
        """M is that of a fit to all rows from round 0 on; it does not start from the features of the part."""
        data, task = make_rows(90), make_task(n_rounds=2, select_last=True, **TWO)
        plan = make_split_plan(data, task)
        trained = train_on(data, task, plan)
        *_, (_, expected) = rounds(trained.candidate, data, FixedParams(1e-2))
        torch.testing.assert_close(trained.metric.matrix(), expected.metric.matrix(), rtol=1e-6, atol=1e-8)
        part = self.splits(data, task, plan)[0].fitted(data)
        *_, (_, screened) = rounds(trained.candidate, part, FixedParams(1e-2))
        assert not torch.allclose(trained.metric.matrix(), screened.metric.matrix(), rtol=1e-3)

    def test_the_metrics_of_the_rounds_are_those_on_the_way_to_the_last(self):
        data, task = make_rows(90), make_task(n_rounds=3, select_last=True, **TWO)
        trained = train_on(data, task, make_split_plan(data, task))
        steps = rounds(trained.candidate, data, FixedParams(1e-2))
        expected = Evolution.of([machine.metric for _, machine in steps], trained.metric)
        np.testing.assert_allclose(trained.evolution.diagonals, expected.diagonals, rtol=1e-5, atol=1e-7)

    def test_held_out_rows_are_predicted_by_the_models_of_their_splits(self):
        data, task = make_rows(150), make_task(n_rounds=1, select_last=True, **TWO)
        plan = make_split_plan(data, task)
        trained = train_on(data, task, plan)
        rows, outputs, weights = trained.holdout
        splits = self.splits(data, task, plan)
        assert torch.equal(rows, torch.cat([split.held_out for split in splits]))
        expected = []
        for split in splits:
            *_, (_, machine) = rounds(trained.candidate, data[split.train], FixedParams(1e-2))
            expected.append(machine.predict(data.X[split.held_out]))
        torch.testing.assert_close(outputs, torch.cat(expected))
        error = float((outputs - data.Y[rows]).square().mean())
        assert trained.records[1].score == pytest.approx(error, rel=1e-9)
        assert torch.equal(weights, torch.ones(60, dtype=torch.float64))

    def test_ridge_and_bandwidth_are_found_on_the_first_part(self):
        data, task = make_rows(150, noise=0.3), make_task(kernels=(Laplace(),), ridge=None, n_rounds=1)
        plan = make_split_plan(data, task, screen_rows=60)
        trained = train_on(data, task, plan)
        part = self.splits(data, task, plan)[0].fitted(data)
        (first, _), *_ = rounds(replace(trained.candidate, n_rounds=0), part, task.tuner(Laplace()))
        assert trained.records[0].ridge == first.ridge
        assert trained.records[0].bandwidth == first.bandwidth

    def test_a_ridge_per_row_grows_and_is_the_one_that_was_added(self):
        data, task = make_rows(120), make_task(ridge_per_row=True, select_last=True, **TWO)
        trained = train_on(data, task, make_split_plan(data, task))
        machine = trained.ensemble.best
        assert trained.ridge == pytest.approx(1.2)
        left = data.Y - machine.operator.matmul(machine.coef)
        torch.testing.assert_close(left, trained.ridge * machine.coef, rtol=1e-6, atol=1e-8)

    def test_ctrl_c_in_the_refit_falls_back_to_the_screened_model(self, monkeypatch):
        data, task = make_rows(90), make_task(select_last=True, **TWO)
        Stops(monkeypatch, refit, "solve_round", 1)
        with pytest.warns(UserWarning, match="interrupted: the model uses 40 of 90 rows"):
            trained = train_on(data, task, make_split_plan(data, task))
        assert int((trained.ensemble.best.coef == 0).all(dim=1).sum()) == 50


class TestEvaluationSet:
    def test_it_compares_the_rounds_and_is_predicted_by_the_final_model(self):
        data, task = make_rows(60), evaluation_task(n_rounds=2)
        trained = train_on(data, task)
        torch.testing.assert_close(trained.evaluated, trained.ensemble.predict(task.evaluation.X))
        for index, (record, machine) in enumerate(rounds(trained.candidate, data, FixedParams(1e-2))):
            error = float((machine.predict(task.evaluation.X) - task.evaluation.Y).square().mean())
            assert trained.records[index].score == pytest.approx(error, rel=1e-6), record.index
        assert trained.holdout is None

    def two_solvers(self, data, task):
        return replace(make_plan(data, task), solver=EXACT, feature_solver=ROUGH)

    @pytest.mark.parametrize("n_rounds", [1, 3])
    def test_the_selected_round_is_solved_to_the_end_and_the_others_coarsely(self, n_rounds):
        data, task = make_rows(150), evaluation_task(n_rounds=n_rounds)
        found = train_on(data, task, self.two_solvers(data, task))
        exact = train_on(data, task, replace(make_plan(data, task), solver=Direct(), feature_solver=Direct()))
        selected = found.best_round
        assert selected == exact.best_round
        assert found.records[selected].residual <= 1e-8
        assert all(1e-8 < r.residual <= 1e-2 for r in found.records if r.index != selected)
        torch.testing.assert_close(found.ensemble.predict(data.X), exact.ensemble.predict(data.X), atol=0.02, rtol=0)
        assert found.records[selected].score == pytest.approx(exact.records[selected].score, rel=0.05)

    def test_the_last_round_is_solved_to_the_end_at_once_where_it_is_selected_for_sure(self, monkeypatch):
        data, task = make_rows(150), evaluation_task(n_rounds=2, select_last=True)
        again = Stops(monkeypatch, refit, "solve_fully")
        found = train_on(data, task, self.two_solvers(data, task))
        assert [r.residual <= 1e-8 for r in found.records] == [False, False, True]
        assert again.calls == 0

    def test_ctrl_c_while_the_selected_round_is_solved_keeps_it_as_it_is(self, monkeypatch):
        data, task = make_rows(150), evaluation_task(n_rounds=2)
        Stops(monkeypatch, refit, "solve_fully", 1)
        with pytest.warns(UserWarning, match=r"interrupted: the model has a relative residual of 0\.0"):
            found = train_on(data, task, self.two_solvers(data, task))
        assert 1e-8 < found.records[found.best_round].residual <= 1e-2


class TestLarge:
    """Centres or leaves, or more than 30,000 rows: features are learned on parts, and one last solve uses all rows."""

    @pytest.mark.parametrize("solver", [Nystrom(centers=200, tol=1e-7), EigenPro(epochs=30, tol=1e-6)], ids=str)
    def test_the_function_is_nearly_that_of_an_exact_fit(self, solver):
        data, task = make_rows(300, noise=0.1), make_task(select_last=True)
        large = {"validation": "holdout", "refit": "growing parts", "screen_rows": 270, "holdout_rows": 30}
        found = train_on(data, task, make_plan(data, task, solver=solver, **large))
        exact = train_on(data, task)
        new = make_rows(100, seed=1)
        errors = [float((t.ensemble.predict(new.X) - new.Y).square().mean()) for t in (found, exact)]
        assert errors[0] < errors[1] + 0.05
        assert found.ensemble.best.n == (200 if isinstance(solver, Nystrom) else 270)

    def test_held_out_rows_are_no_part_of_the_fit(self):
        data, task = make_rows(300), make_task()
        trained = train_on(data, task, make_plan(data, task, solver=Nystrom(centers=40)))
        rows, outputs, _ = trained.holdout
        assert len(rows) == 30
        assert not set(rows.tolist()) & set(trained.rows.tolist())
        torch.testing.assert_close(outputs, trained.ensemble.predict(data.X[rows]), rtol=1e-6, atol=1e-6)
        error = float((outputs - data.Y[rows]).square().mean())
        assert trained.records[trained.best_round].score == pytest.approx(error, rel=1e-9)
        torch.testing.assert_close(trained.ensemble.best.X, data.X[trained.rows])

    def test_any_source_of_rows_can_be_trained_on(self):
        """Rows need not be in memory: all of them are never taken at once, and blocks may be of any size."""
        data, task = make_rows(300), make_task()

        class Counting(MemoryRows):
            taken = 0

            def take(self, indices):
                Counting.taken = max(Counting.taken, len(indices))
                return super().take(indices)

            def load(self):
                raise AssertionError("a large fit does not load all rows")

        plan = make_plan(data, task, solver=Nystrom(centers=50, tol=1e-7), screen_rows=100)
        found = train(task, plan, Counting(data, block=37), FitContext())
        assert Counting.taken < 300
        reference = train(task, plan, MemoryRows(data), FitContext())
        torch.testing.assert_close(
            found.ensemble.predict(data.X), reference.ensemble.predict(data.X), rtol=0, atol=1e-3
        )

    def test_a_streamed_plan_gives_the_model_of_the_plan_in_memory(self):
        data, task = make_rows(300), make_task()
        plans = [make_plan(data, task, solver=Nystrom(centers=50), streamed=streamed) for streamed in (False, True)]
        one, other = (train_on(data, task, plan) for plan in plans)
        assert torch.equal(one.ensemble.predict(data.X), other.ensemble.predict(data.X))

    def test_only_one_member_is_refitted(self):
        data, task = make_rows(200, noise=0.5), make_task(max_members=5, kernels=(Laplace(2.0), Gaussian(2.0)))
        trained = train_on(data, task, make_plan(data, task, solver=Nystrom(centers=40)))
        assert len(trained.ensemble.machines) == 1

    def test_a_ridge_per_row_grows_with_the_rows(self):
        data, task = make_rows(200), make_task(ridge=1e-4, ridge_per_row=True)
        trained = train_on(data, task, make_plan(data, task, solver=Nystrom(centers=40)))
        assert trained.ridge == pytest.approx(1e-4 * 180)

    def test_an_evaluation_set_compares_and_no_row_is_held_out(self):
        data, task = make_rows(200), evaluation_task()
        trained = train_on(data, task, make_plan(data, task, solver=Nystrom(centers=40)))
        assert trained.holdout is None
        torch.testing.assert_close(trained.evaluated, trained.ensemble.predict(task.evaluation.X))

    @pytest.mark.parametrize("with_evaluation", [False, True])
    def test_a_threshold_leaves_the_columns_that_matter(self, with_evaluation):
        data = make_rows(300, d=5)
        evaluation = make_rows(40, d=5, seed=1) if with_evaluation else None
        task = make_task(feature_threshold=0.05, evaluation=evaluation)
        trained = train_on(data, task, make_plan(data, task, solver=Nystrom(centers=60)))
        assert trained.support.tolist() == [True, True, False, False, False]
        assert trained.ensemble.best.X.shape == (60, 2)
        outputs = trained.evaluated if with_evaluation else trained.holdout[1]
        assert len(outputs) == (40 if with_evaluation else 30)

    def test_weights_count_as_repeated_rows(self):
        data = make_rows(300, noise=0.5)
        weights = torch.where(data.X[:, 0] > 0, 20.0, 1.0).double()
        task = make_task(ridge=1.0, n_rounds=0)
        plan = make_plan(data, task, solver=Nystrom(centers=40))
        plain = train_on(data, task, plan)
        heavy = train_on(Rows(data.X, data.Y, weights), task, plan)
        where = data.X[:, 0] > 0
        errors = [(t.ensemble.predict(data.X) - data.Y)[where].square().mean() for t in (heavy, plain)]
        assert errors[0] < errors[1]


def test_the_twin_of_a_trained_machine_is_a_machine_solved_alone():
    data = make_rows(40)
    machine, info = exact_machine(data, ridge=1e-2)
    assert torch.equal(train_on(data, make_task(n_rounds=0)).ensemble.best.coef, machine.coef)
    assert info.residual < 1e-6


def test_large_fits_tune_on_more_rows(monkeypatch):
    stage = importlib.import_module("gramian.rfm.training.train")
    seen, real = [], stage.LeaveOneOutTuner

    def watched(*args):
        seen.append(args[-1])
        return real(*args)

    monkeypatch.setattr(stage, "LeaveOneOutTuner", watched)
    data, task = make_rows(80, noise=0.1), make_task(ridge=None)
    train_on(data, task)
    assert set(seen) == {400}
    seen.clear()
    train_on(data, task, make_plan(data, task, solver=Nystrom(centers=20)))
    assert set(seen) == {1000}
