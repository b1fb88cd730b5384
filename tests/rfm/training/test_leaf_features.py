"""Machines of leaves with shared features and with their own, and the choice between them by held-out rows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor, load
from gramian.core.clock import Clock
from gramian.core.rows import MemoryRows, Rows
from gramian.core.selection import squared_loss
from gramian.features import Agop
from gramian.kernels import Diagonal, Full, Gaussian, Identity, KernelOperator, Laplace
from gramian.rfm.export import predictor_of
from gramian.rfm.machine import KernelMachine
from gramian.rfm.options import TreePartition
from gramian.rfm.training import grow_tree, leaf_features
from gramian.rfm.training.context import FitContext
from gramian.rfm.training.grow_tree import fit_tree
from gramian.rfm.training.leaf_features import LeafSolver, LeafTrial, OwnFeatures, OwnFeatureSolver, mean_metric
from gramian.rfm.training.plan import Plan
from gramian.rfm.training.rounds import next_metric
from gramian.rfm.training.tuning import RoundParams, median_distance
from gramian.rfm.tree import TreeMachine
from small_training import FakeTime, Stops, make_candidate, make_rows, naive_coef

D = 6


def draw(n, target, seed=0, d=D):
    """Standard normal rows with the targets of a function, scaled."""
    X = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return Rows(X, target(X)[:, None])


def switch(X):
    """A function of column 1 where column 0 is positive, and of column 2 elsewhere."""
    return torch.where(X[:, 0] > 0, (2 * X[:, 1]).sin(), (2 * X[:, 2]).sin())


def noise(X):
    return torch.randn(len(X), generator=torch.Generator().manual_seed(7), dtype=X.dtype)


def linear(X):
    return X[:, 0] + 0.5 * X[:, 1] + 0.3 * noise(X)


def solver(metric=None, total_weight=None, clock=None):
    plan = Plan.for_size(1000, D, 1, 10**9, dtype=torch.float64, solver=TreePartition(leaf_rows=100))
    params = RoundParams(Laplace(5.0), 1e-2, bandwidth_scale=2.0)
    candidate = make_candidate(kernel=Laplace("median"), update=Agop(diagonal=True))
    return LeafSolver(plan, candidate, params, metric or Identity(D), total_weight, at_once=1, clock=clock)


class TestLeafSolver:
    def test_a_leaf_is_solved_exactly_with_its_own_median_distance(self):
        data = make_rows(60, D)
        machine, info = solver()(data)
        assert machine.kernel.length == pytest.approx(2 * median_distance(Laplace(), Identity(D), data.X, seed=0))
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-6, atol=1e-8)
        assert info.residual < 1e-6

    def test_a_ridge_per_row_is_shared_among_the_leaves(self):
        data = make_rows(60, D, weighted=True)
        _, info = solver(total_weight=10 * data.total_weight)(data)
        assert info.ridge == pytest.approx(1e-3)


class TestOwnFeatures:
    def test_they_are_the_update_of_the_machine_with_shared_features(self):
        data, shared = make_rows(60, D, weighted=True), solver(Diagonal(torch.linspace(0.2, 1, D).double()))
        machine, info = OwnFeatureSolver(shared, 2)(data)
        expected = next_metric(shared.candidate, shared(data)[0], 2)
        torch.testing.assert_close(machine.matrix(), expected.matrix())
        assert machine.kernel.length == pytest.approx(2 * median_distance(Laplace(), expected, data.X, seed=0))
        torch.testing.assert_close(machine.coef, naive_coef(machine, data, 1e-2), rtol=1e-6, atol=1e-8)
        assert info.residual < 1e-6

    def test_many_rows_are_solved_with_features_of_a_part(self, monkeypatch):
        monkeypatch.setattr(leaf_features, "LEAF_FEATURE_ROWS", 30)
        seen = []
        real = LeafSolver.__call__
        monkeypatch.setattr(LeafSolver, "__call__", lambda self, rows: seen.append(len(rows)) or real(self, rows))
        machine, _ = OwnFeatureSolver(solver(), 1)(make_rows(60, D))
        assert seen == [30, 60]
        assert machine.n == 60

    @pytest.mark.parametrize("given", [None, 20, 100])
    def test_gradients_are_averaged_over_few_rows(self, given, monkeypatch):
        monkeypatch.setattr(leaf_features, "LEAF_GRADIENT_ROWS", 30)
        seen = []
        real = KernelMachine.moments
        monkeypatch.setattr(KernelMachine, "moments", lambda self, rows: seen.append(len(rows)) or real(self, rows))
        update = Agop(max_rows=given)
        shared = replace(solver(), candidate=replace(solver().candidate, update=update))
        OwnFeatureSolver(shared, 1)(make_rows(60, D))
        assert seen == [min(given or 30, 30)]

    @pytest.mark.parametrize("most", [1500, 30])
    def test_a_constant_leaf_has_the_shared_features(self, most, monkeypatch):
        monkeypatch.setattr(leaf_features, "LEAF_FEATURE_ROWS", most)
        data = make_rows(60, D)
        constant = Rows(data.X, torch.zeros_like(data.Y))
        machine, _ = OwnFeatureSolver(solver(), 1)(constant)
        assert isinstance(machine.metric, Identity)
        assert machine.n == 60


class TestTrial:
    @pytest.mark.parametrize(("n", "fitted", "judging"), [(60, 48, 12), (3000, 1500, 1000)])
    def test_a_part_is_fitted_both_ways_and_other_rows_are_predicted(self, n, fitted, judging, monkeypatch):
        seen = []
        real = LeafSolver.__call__
        monkeypatch.setattr(LeafSolver, "__call__", lambda self, rows: seen.append(rows.X) or real(self, rows))
        data = make_rows(n, D)
        trial = OwnFeatureSolver(solver(), 1).trial(data)
        assert [len(X) for X in seen] == [fitted, fitted]
        assert torch.equal(seen[0], seen[1])
        assert len(trial.rows) == judging
        assert not {tuple(x) for x in seen[0].tolist()} & {tuple(x) for x in trial.rows.X.tolist()}

    def test_its_predictions_are_those_of_the_two_machines(self):
        data, shared = make_rows(60, D, weighted=True), solver()
        trial = OwnFeatureSolver(shared, 1).trial(data)
        kept = torch.tensor([not bool((x == trial.rows.X).all(dim=1).any()) for x in data.X])
        few = data[kept.nonzero().squeeze(1)]
        plain, _ = shared(few)
        own, _ = OwnFeatureSolver(shared, 1)(few)
        for outputs, machine in zip(trial.outputs, (plain, own), strict=True):
            torch.testing.assert_close(outputs, machine.predict(trial.rows.X), rtol=1e-6, atol=1e-8)

    def test_a_constant_leaf_predicts_the_same_both_ways(self):
        data = make_rows(60, D)
        trial = OwnFeatureSolver(solver(), 1).trial(Rows(data.X, torch.zeros_like(data.Y)))
        assert torch.equal(trial.outputs[0], trial.outputs[1])


class TestDecision:
    def decide(self, shared, own, weights=None):
        """The decision of one trial, for errors of the rows with either features."""
        outputs = torch.stack([torch.as_tensor(errors, dtype=torch.float64) for errors in (shared, own)])[:, :, None]
        n = outputs.shape[1]
        rows = Rows(torch.zeros(n, 1).double(), torch.zeros(n, 1).double(), weights)
        return OwnFeatures(OwnFeatureSolver(solver(), 1), squared_loss).are_better([LeafTrial(outputs, rows)])

    def test_a_clear_gain_selects_them_and_a_loss_does_not(self):
        rng = np.random.default_rng(0)
        errors = rng.normal(size=400)
        assert self.decide(errors, 0.9 * errors)
        assert not self.decide(0.9 * errors, errors)
        assert not self.decide(errors, errors)

    def test_a_gain_within_two_standard_errors_is_luck(self):
        rng = np.random.default_rng(0)
        errors = np.abs(rng.normal(size=400))
        few = errors.copy()
        few[:3] *= 0.5  # three rows of 400
        assert not self.decide(errors, few)

    def test_a_gain_of_less_than_a_hundredth_is_not_worth_its_time(self):
        errors = np.ones(400)
        assert not self.decide(errors, 0.996 * errors)
        assert self.decide(errors, 0.99 * errors)

    def test_no_other_rows_decide_for_the_shared_features(self):
        trial = OwnFeatureSolver(solver(), 1).trial(draw(1, switch))
        assert len(trial.rows) == 0
        assert not OwnFeatures(OwnFeatureSolver(solver(), 1), squared_loss).are_better([trial])

    def test_rows_count_with_their_weight(self):
        """Own features are right in the first half of the rows and wrong in the second."""
        first = torch.arange(80) < 40
        shared, own = torch.where(first, 1.0, 0.0), torch.where(first, 0.0, 1.0)
        heavy = torch.where(first, 20.0, 0.1).double()
        assert self.decide(shared, own, heavy)
        assert not self.decide(shared, own, heavy.flip(0))

    def test_rows_of_all_trials_decide_together(self):
        own = OwnFeatures(OwnFeatureSolver(solver(), 1), squared_loss)
        good, bad = torch.tensor([1.0, 0.5]).double(), torch.tensor([0.5, 1.0]).double()
        zeros = torch.zeros(50, 1, dtype=torch.float64)
        trials = [LeafTrial(pair[:, None, None].expand(2, 50, 1), Rows(zeros, zeros)) for pair in (good, bad)]
        assert own.are_better(trials[:1])
        assert not own.are_better(trials)
        assert own.are_better([trials[0], trials[0], trials[0], trials[1]])

    def test_other_seeds_try_other_leaves(self):
        own = OwnFeatures(OwnFeatureSolver(solver(), 1), squared_loss)
        found = own.tried(100)
        assert len(set(found)) == 6
        assert found == own.tried(100) != replace(own, seed=1).tried(100)


class TestMeanMetric:
    def machine(self, metric, n=2, weights=None):
        X = torch.zeros(n, 2, dtype=torch.float64)
        return KernelMachine(KernelOperator(Gaussian(1.0), X, metric), X[:, :1], weights)

    def test_machines_count_by_the_weight_of_their_rows(self):
        first, second = Diagonal(torch.tensor([4.0, 0.0]).double()), Diagonal(torch.tensor([0.0, 1.0]).double())
        rows = mean_metric([self.machine(first, 3), self.machine(second, 1)], Identity(2))
        assert rows.diagonal().tolist() == [1.5, 0.5]
        heavy = self.machine(second, 1, torch.tensor([9.0]).double())
        assert mean_metric([self.machine(first, 3), heavy], Identity(2)).diagonal().tolist() == [0.5, 1.5]

    def test_it_is_full_where_a_machine_has_a_full_matrix(self):
        M = torch.tensor([[2.0, 1.0], [1.0, 2.0]]).double()
        found = mean_metric([self.machine(Full.of(M)), self.machine(Identity(2))], Identity(2))
        torch.testing.assert_close(found.matrix(), torch.tensor([[1.0, 0.25], [0.25, 1.0]]).double())


def grown(data, *, imposed=False, context=None, leaf_rows=150, metric=None):
    """A tree whose leaves may learn their own features."""
    shared, few = solver(metric), torch.arange(40)
    own = OwnFeatures(OwnFeatureSolver(shared, 1), None if imposed else squared_loss)
    partition = TreePartition(leaf_rows=leaf_rows, workers=1)
    spare = shared(data[few])[0], few
    return fit_tree(partition, MemoryRows(data), shared.metric, shared, spare, context or FitContext(), own)


def error(machine, rows):
    return float((machine.predict(rows.X) - rows.Y).square().mean())


class TestTrees:
    def test_they_are_selected_where_other_columns_matter_in_other_parts_of_space(self):
        data, test = draw(900, switch), draw(500, switch, 1)
        tree, info, _ = grown(data)
        shared, few = solver(), torch.arange(40)
        plain, _, _ = fit_tree(
            TreePartition(leaf_rows=150, workers=1),
            MemoryRows(data),
            shared.metric,
            shared,
            (shared(data[few])[0], few),
            FitContext(),
        )
        assert "features of their own" in info.status
        assert error(tree, test) < 0.8 * error(plain, test)
        torch.testing.assert_close(tree.matrix(), mean_metric(tree.leaves, shared.metric).matrix())
        assert set(tree.metric.diagonal().argsort(descending=True)[:3].tolist()) == {0, 1, 2}
        imposed = grown(data, imposed=True)[0]
        assert torch.equal(tree.predict(test.X), imposed.predict(test.X)), "leaves are those of the imposed features"

    @pytest.mark.parametrize("target", [noise, linear], ids=["noise", "linear"])
    @pytest.mark.parametrize("seed", range(3))
    def test_they_are_refused_where_the_same_columns_matter_everywhere(self, target, seed):
        data, metric = draw(900, target, seed), Identity(D)
        for index in range(3):
            metric = next_metric(solver().candidate, solver(metric)(data)[0], index)
        tree, info, _ = grown(data, metric=metric)
        assert "features of their own" not in info.status
        assert tree.metric is metric
        assert all(leaf.metric is metric for leaf in tree.leaves)

    def test_a_prediction_does_not_depend_on_its_batch(self):
        data = draw(600, switch)
        tree = grown(data, imposed=True)[0]
        X = draw(12, switch, 3).X
        assert torch.equal(torch.cat([tree.predict(x[None]) for x in X]), tree.predict(X))
        assert torch.equal(tree.gradient(X)[7:9], tree.gradient(X[7:9]))

    def test_one_leaf_is_the_machine_with_the_shared_features(self):
        data = draw(100, switch)
        for imposed in (True, False):
            machine, _, rows = grown(data, imposed=imposed)
            assert rows is None
            assert torch.equal(machine.predict(data.X), solver()(data)[0].predict(data.X))

    @pytest.mark.parametrize("at", [1, 4])
    def test_ctrl_c_among_the_leaves_falls_back(self, at, monkeypatch):
        data = draw(900, switch)
        Stops(monkeypatch, grow_tree, "_fit_released", at)
        with pytest.warns(UserWarning, match="leaves fall back to a model fitted to 40 random rows"):
            tree, info, rows = grown(data)
        assert info.status.startswith(f"stopped early, {at - 1} of")
        torch.testing.assert_close(tree.X, data.X[rows])
        assert sum(not isinstance(leaf.metric, Identity) for leaf in tree.leaves) == at - 1
        assert torch.isfinite(tree.predict(data.X)).all()

    @pytest.mark.parametrize("why", ["Ctrl-C", "time limit"])
    def test_the_end_of_the_time_in_a_trial_falls_back(self, why, monkeypatch):
        data, time = draw(900, switch), FakeTime()
        if why == "Ctrl-C":
            Stops(monkeypatch, OwnFeatureSolver, "trial", 2)
        else:
            monkeypatch.setattr(OwnFeatureSolver, "trial", time.advancing(OwnFeatureSolver.trial, 1e9))
        with pytest.warns(UserWarning, match="leaves fall back to a model"):
            tree, info, _ = grown(data, context=FitContext(Clock(1000.0, time)))
        assert info.status.startswith("stopped early, 0 of")
        assert isinstance(tree.metric, Identity)
        assert torch.isfinite(tree.predict(data.X)).all()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, D))
    return X, np.where(X[:, 0] > 0, np.sin(2 * X[:, 1]), np.sin(2 * X[:, 2]))


@pytest.fixture(scope="module")
def model(table):
    partition = TreePartition(leaf_rows=200, workers=1, features="leaf")
    return RFMRegressor(preset="fast", n_rounds=1, select_round="last", solver=partition).fit(*table)


class TestWholeFit:
    """The option of the solver, from the estimator to the file."""

    def test_files_and_exports_hold_the_features_of_each_leaf(self, model, table, tmp_path):
        assert "features of their own" in model.rounds_[1].status
        matrices = [leaf.matrix() for leaf in model.machine_.leaves]
        assert not torch.equal(matrices[0], matrices[-1])
        model.save(tmp_path / "tree.gramian")
        same = load(tmp_path / "tree.gramian")
        assert (same.predict(table[0]) == model.predict(table[0])).all()
        assert all(torch.equal(a, leaf.matrix()) for a, leaf in zip(matrices, same.machine_.leaves, strict=True))
        np.testing.assert_allclose(predictor_of(model.model_).predict(table[0]), model.predict(table[0]), rtol=1e-6)

    def test_the_feature_matrix_is_the_mean_of_the_leaves(self, model):
        np.testing.assert_allclose(model.feature_matrix_, model.machine_.matrix().numpy())
        assert model.rounds_[1].rank > 0

    def test_importances_are_those_of_the_whole_function(self, model, table):
        G = model.model_.gradients_at(model.model_.preprocessing.transform(table[0]))[:, 0]
        own = np.sqrt(np.diag(model.agop_))
        np.testing.assert_allclose(own / own.max(), (rms := np.sqrt((G**2).mean(axis=0))) / rms.max(), rtol=0.2)

    def test_no_features_are_learned_after_round_0(self, table):
        partition = TreePartition(leaf_rows=200, workers=1, features="leaf")
        model = RFMRegressor(preset="fast", n_rounds=0, solver=partition).fit(*table)
        assert isinstance(model.machine_, TreeMachine)
        assert all(isinstance(leaf.metric, Identity) for leaf in model.machine_.leaves)

    def test_a_classifier_decides_by_its_own_loss(self, table):
        partition = TreePartition(leaf_rows=200, workers=1, features="auto")
        model = RFMClassifier(preset="fast", n_rounds=1, select_round="last", solver=partition)
        model.fit(table[0], np.where(table[1] > 0, "up", "down"))
        assert isinstance(model.machine_, TreeMachine)
        assert "leaves of" in model.rounds_[1].status

    @pytest.mark.parametrize("evaluated", [False, True])
    @pytest.mark.parametrize("split_by", ["groups", "time"])
    def test_rows_of_a_leaf_do_not_judge_where_splits_have_a_condition(self, table, split_by, evaluated, monkeypatch):
        monkeypatch.setattr(OwnFeatures, "are_better", lambda self, trials: True)
        partition = TreePartition(leaf_rows=200, workers=1, features="auto")
        model = RFMRegressor(preset="fast", n_rounds=1, select_round="last", solver=partition)
        model.fit(*table, eval_set=table if evaluated else None, **{split_by: np.arange(900) // 9})
        assert "features of their own" not in model.rounds_[1].status
        assert len({id(leaf.metric) for leaf in model.machine_.leaves}) == 1
