"""Influence of training rows equals removing them and solving again."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Gaussian, Laplace, Lp, Polynomial
from gramian.rfm.explain import LeaveOneOut, explain
from gramian.rfm.explain.training_rows import SolvedRows
from gramian.rfm.model import Ensemble
from gramian.rfm.options import TreePartition
from rfm.explain.models import quick


def removed(model, z, at):
    """The outputs at z of a model whose members are solved again without the centre ``at``: the naive twin."""
    total = 0.0
    targets = None
    for machine, share in zip(model.ensemble.machines, model.ensemble.shares, strict=True):
        K = machine.operator.widened().dense().numpy()
        alpha = machine.coef.double().numpy()
        w = np.ones(len(K)) if machine.weights is None else machine.weights.double().numpy()
        noise = alpha / w[:, None]
        if targets is None:
            targets, ridge = K @ alpha + model.history.ridge * noise, model.history.ridge
        else:
            ridge = ((targets - K @ alpha) * noise)[alpha.any(axis=1)].sum() / (noise**2).sum()
        kept = np.flatnonzero(alpha.any(axis=1) & (np.arange(len(K)) != at))
        A = K[np.ix_(kept, kept)] + np.diag(ridge / w[kept])
        k = machine.operator.widened().columns_at(model.tensor(z[None]).double())[0].numpy()
        total = total + share * k[kept] @ np.linalg.solve(A, targets[kept])
    return model.target_scaler.inverse_transform(total[None])[0]


def check(model, row):
    z = model.preprocessing.transform(row)[0]
    outputs = removed(model, z, -1)
    found = LeaveOneOut.of(model).changes(z)
    for at in range(0, len(found), 17):
        naive = removed(model, z, at) - outputs
        np.testing.assert_allclose(found[at], naive, rtol=1e-5, atol=1e-6 * np.abs(found).max())
    return found


@pytest.mark.parametrize("kernel", [Laplace(3.0), Gaussian(3.0), Lp(6.0), Polynomial(2)], ids=str)
def test_changes_equal_removing_a_row_and_solving_again(data, kernel):
    X, y, new = data
    found = check(quick(kernel).fit(X, y).model_, new[:1])
    assert np.abs(found).max() > 0


def test_changes_equal_a_refit_of_the_estimator_without_the_row(data):
    """Without learned features, kernel ridge on the user's own columns and targets has nothing else to refit."""
    X, y, new = data
    y = y - y.mean()
    fixed = {"kernel": Gaussian(40.0), "n_rounds": 0, "ridge": 0.1, "standardize": False, "dtype": "float64"}
    model = RFMRegressor(preset="fast", **fixed).fit(X, y)
    influence = model.explain(new[0], n_influential=3).influence
    scale, center = model.model_.target_scaler.scale[0], model.model_.target_scaler.center[0]
    for row, without in zip(influence.rows, influence.without, strict=True):
        kept = np.arange(len(X)) != row
        K = np.exp(-((np.linalg.norm(X[kept, None] - X[None, kept], axis=2) / 40.0) ** 2) / 2)
        k = np.exp(-((np.linalg.norm(X[kept] - new[0], axis=1) / 40.0) ** 2) / 2)
        alpha = np.linalg.solve(K + 0.1 * np.eye(len(K)), (y[kept] - center) / scale)
        assert without == pytest.approx(center + scale * k @ alpha, rel=1e-6)


def test_weights_and_several_targets_are_handled(data):
    X, y, new = data
    weights = np.random.default_rng(1).uniform(0.5, 3, size=len(X))
    model = quick(Laplace(3.0)).fit(X, np.stack([y, X[:, 0] - y], axis=1), sample_weight=weights).model_
    assert model.machine.weights is not None
    assert check(model, new[:1]).shape == (100, 2)


def test_the_ridges_of_an_average_are_found_from_the_targets(data):
    X, y, new = data
    one, other = (
        quick(kernel, ridge=ridge).fit(X, y).model_ for kernel, ridge in ((Laplace(3.0), 0.01), (Lp(6.0), 0.3))
    )
    average = replace(one, ensemble=Ensemble((one.machine, other.machine), (0.25, 0.75)))
    z = one.preprocessing.transform(new[:1])[0]
    apart = [LeaveOneOut.of(model).changes(z) for model in (one, other)]
    np.testing.assert_allclose(LeaveOneOut.of(average).changes(z), 0.25 * apart[0] + 0.75 * apart[1], rtol=1e-6)


def test_members_of_different_rows_are_refused_with_a_reason(data):
    """A time limit may end the refit of the best member and not that of another: their systems differ in rows."""
    X, y, _ = data
    model, few = (quick(Laplace(3.0)).fit(X[:n], y[:n]).model_ for n in (100, 60))
    best = few.machine.embedded(model.machine.X, torch.arange(60), None)
    average = replace(model, ensemble=Ensemble((best, model.machine), (0.5, 0.5)))
    assert "different rows" in LeaveOneOut.of(average)
    assert isinstance(LeaveOneOut.of(replace(model, ensemble=Ensemble((model.machine, best), (0.5, 0.5)))), LeaveOneOut)


def test_rows_without_coefficients_have_no_influence_on_a_bagged_member(data):
    X, y, new = data
    model = RFMRegressor(kernel=Laplace(3.0), n_rounds=1, bagging=True, ridge=0.1, dtype="float64").fit(X, y).model_
    assert any(not machine.coef.any(dim=1).all() for machine in model.ensemble.machines)
    check(model, new[:1])


def test_copies_of_a_row_that_are_in_different_folds_count_in_their_own_fold(data):
    """A bagged member has the weights of the copies in its fold, and with them its ridge is the given one."""
    X, y, new = data
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    fixed = {"kernel": Laplace(3.0), "n_rounds": 1, "update": "agop", "ridge": 0.1, "dtype": "float64"}
    model = RFMRegressor(**fixed, bagging=True).fit(X, y).model_
    assert len({tuple(machine.weights.tolist()) for machine in model.ensemble.machines}) > 1
    targets = SolvedRows.of(model).Y
    for machine in model.ensemble.machines:
        left = targets - machine.operator.matmul(machine.coef)
        used = machine.coef.any(dim=1)
        noise = 0.1 * machine.coef / machine.weights[:, None]
        torch.testing.assert_close(left[used], noise[used], rtol=1e-5, atol=1e-7)
    check(model, new[:1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_default_average_of_a_classifier_is_exact(data, dtype):
    X, y, new = data
    fitted = RFMClassifier(dtype=dtype, random_state=0).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.7])))
    check(fitted.model_, new[:1])


class TestResult:
    def test_rows_are_those_of_the_users_table(self, data, model):
        X, y, new = data
        found = model.explain(new[0], n_influential=100).influence
        assert sorted(found.rows) == list(range(100))
        assert (np.diff(np.abs(found.change)) <= 0).all()
        np.testing.assert_allclose(found.targets, y[found.rows], rtol=1e-6)
        np.testing.assert_allclose(np.array(found.entries, dtype=float), X[found.rows], rtol=1e-4)
        assert found.labels == tuple(found.rows.tolist())
        np.testing.assert_allclose(found.without, model.predict(new[:1]) + found.change, rtol=1e-9)

    def test_a_training_row_with_an_outlying_target_has_the_largest_influence_on_itself(self, data):
        X, y, _ = data
        wrong = y.copy()
        wrong[7] += 20
        found = quick(Laplace(3.0)).fit(X, wrong).explain(X[7]).influence
        assert found.rows[0] == 7
        assert found.similarity[0] == pytest.approx(1.0, abs=1e-9)
        assert found.change[0] < -10

    def test_labels_of_a_frame_are_kept_in_the_model_and_its_file(self, data, tmp_path):
        import pandas as pd

        import gramian

        X, y, _ = data
        frame = pd.DataFrame(X, index=[f"house {i}" for i in range(len(X))])
        frame.columns = list("abcde")
        model = quick(Laplace(3.0)).fit(frame, y)
        model.save(tmp_path / "m.gramian")
        for each in (model, gramian.load(tmp_path / "m.gramian")):
            found = each.explain(frame.iloc[3]).influence
            assert found.labels == tuple(f"house {row}" for row in found.rows)
            assert found.to_pandas().index.tolist() == list(found.labels)
            assert found.contents().columns.tolist() == list("abcde")
        small = model.compressed(20).model_
        assert small.row_labels.tolist() == [f"house {row}" for row in small.row_index]

    def test_a_classifier_states_the_probability_of_the_explained_class(self, data, classifiers):
        new = data[2]
        for model in classifiers:
            found = model.explain(new[0], n_influential=2)
            label = found.output.label
            at = model.classes_.tolist().index(label)
            z = model.model_.preprocessing.transform(new[:1])[0]
            for row, without in zip(found.influence.rows, found.influence.without, strict=True):
                outputs = removed(model.model_, z, model.row_index_.tolist().index(row))
                expected = np.exp(model.model_.log_probabilities(outputs[None]))[0, at]
                assert without == pytest.approx(expected, abs=1e-6)
            assert set(found.influence.targets) <= set(model.classes_.tolist())

    def test_the_score_of_the_other_class_changes_in_the_other_direction(self, data, classifiers):
        new, model = data[2], classifiers[0]
        second, first = (model.explain(new[0], output=label).influence for label in ("yes", "no"))
        np.testing.assert_allclose(first.change, -second.change)
        np.testing.assert_allclose(first.without, 1 - second.without)

    def test_equal_rows_are_one_row(self, data):
        X, y, _ = data
        model = quick(Laplace(3.0)).fit(np.vstack([X, X[:1]]), np.append(y, y[0]))
        assert len(model.explain(X[0], n_influential=200).influence.rows) == 100


class TestReasons:
    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"solver": "nystrom"}, "the solver Nystrom does not solve the ridge regression on all rows"),
            ({"solver": "eigenpro"}, "the solver EigenPro does not solve"),
            ({"solver": TreePartition(leaf_rows=100, workers=1)}, "the model is a tree of kernel machines"),
        ],
    )
    def test_solvers_without_an_exact_form_are_named(self, options, reason):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(700, 2))
        found = RFMRegressor(preset="fast", n_rounds=0, kernel=Laplace(2.0), **options).fit(X, X[:, 0]).explain(X[0])
        assert found.influence.reason.startswith(reason)
        assert not len(found.influence.rows)
        assert f"none are listed: {reason}" in str(found)

    def test_a_compressed_model_is_not_the_solution_of_its_centres(self, data, model):
        assert "compressed" in LeaveOneOut.of(model.compressed(20).model_)

    def test_many_rows_take_too_long(self, data, model, monkeypatch):
        monkeypatch.setattr("gramian.rfm.explain.influence.MOST_ROWS", 99)
        assert LeaveOneOut.of(model.model_) == (
            "the exact change needs the inverse of a matrix of 100 by 100 entries, which takes too long"
        )

    def test_nothing_is_inverted_where_no_row_is_asked_for(self, data, model, monkeypatch):
        monkeypatch.setattr(torch.linalg, "cholesky", None)
        found = explain(model.model_, data[2][0], n_influential=0)
        assert found.influence.reason == ""
        assert len(found.sections()) == 1
