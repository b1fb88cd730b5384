"""Targets and entries of training rows, recovered from what a model holds."""

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.kernels import Laplace
from gramian.rfm.explain.training_rows import SolvedRows, index_labels, row_entries, row_targets, why_unsolved
from rfm.explain.models import QUICK, quick


class TestTargets:
    def test_they_are_the_users_targets(self, data):
        X, y, _ = data
        weights = np.random.default_rng(1).uniform(0.5, 3, size=len(X))
        for given in (None, weights):
            model = quick(Laplace(3.0)).fit(X, y, sample_weight=given)
            found = row_targets(model.model_, SolvedRows.of(model.model_).Y)
            np.testing.assert_allclose(found, y[model.row_index_], rtol=1e-8)

    def test_several_targets_of_a_row_are_a_tuple(self, data):
        X, y, _ = data
        model = quick(Laplace(3.0)).fit(X, np.stack([y, -y], axis=1)).model_
        found = row_targets(model, SolvedRows.of(model).Y)
        assert isinstance(found[0], tuple)
        np.testing.assert_allclose(found, np.stack([y, -y], axis=1)[model.row_index], rtol=1e-8)

    def test_classes_are_labels(self, data):
        X, y, _ = data
        labels = np.array(["low", "middle", "high"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]
        for target in (labels, labels == "low"):
            model = RFMClassifier(random_state=0).fit(X, target).model_
            assert row_targets(model, SolvedRows.of(model).Y) == target[model.row_index].tolist()

    def test_a_constant_target_is_recovered(self, data):
        X = data[0]
        model = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(X, np.full(len(X), 4.0)).model_
        assert row_targets(model, SolvedRows.of(model).Y) == pytest.approx([4.0] * len(X))


def test_entries_are_those_of_the_users_frame():
    pd = pytest.importorskip("pandas")
    n = 60
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.uniform(1, 2e5, n).round(1),
            "colour": rng.choice(["red", "blue", "green"], n),
            "fuel": rng.choice(["gas", "diesel"], n),
            "sold": pd.date_range("2019-12-30", periods=n, freq="5D"),
            "grade": pd.Categorical(rng.choice(["good", "bad", "fair"], n), ["bad", "fair", "good"], ordered=True),
            "rare": [f"level {i % 45}" for i in range(n)],
        }
    )
    frame.loc[[4, 9], "size"] = np.nan
    frame.loc[[5, 8], "colour"] = None
    model = RFMRegressor(kernel=Laplace(3.0), **QUICK).fit(frame, frame["size"].fillna(0)).model_
    for row, entries in zip(model.row_index, row_entries(model, np.arange(n)), strict=True):
        size, colour, fuel, sold, grade, rare = frame.iloc[row]
        assert entries[0] is None if np.isnan(size) else entries[0] == pytest.approx(size, rel=1e-5)
        assert entries[1] is None if colour is None or colour != colour else entries[1] == colour
        assert entries[2] == fuel
        assert entries[3] == sold.to_datetime64()
        assert entries[4] == grade
        assert entries[5] == rare or np.isnan(entries[5])  # only frequent levels have a column of their own


def test_a_solution_that_stopped_early_is_none(model):
    from dataclasses import replace

    fitted = model.model_
    history = fitted.history
    stopped = tuple(replace(record, residual=0.3) for record in history.rounds)
    early = replace(fitted, history=replace(history, rounds=replace(history.rounds, records=stopped)))
    assert why_unsolved(fitted) == ""
    assert why_unsolved(early) == "the solver stopped early, at a relative residual of 0.3"


def test_the_index_of_a_dask_frame_is_not_computed():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    computed = []
    frame = pd.DataFrame({"a": np.arange(6.0)}, index=list("uvwxyz"))
    parts = dd.from_pandas(frame, npartitions=2).map_partitions(lambda f: computed.append(1) or f, meta=frame.iloc[:0])
    computed.clear()
    assert index_labels(parts, np.array([1])) is None
    assert not computed
    assert index_labels(frame, np.array([1])).tolist() == ["v"]
