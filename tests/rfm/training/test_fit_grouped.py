"""Fits of grouped rows and of rows in time: no group is on both sides of a split, and held-out rows come later."""

import numpy as np
import pytest

from gramian import RFMClassifier, RFMRegressor
from gramian.core.splits import SplitBy
from gramian.rfm.options import FitOptions
from gramian.rfm.training import train as pipeline
from gramian.solvers import Nystrom
from gramian.tables.prepare import open_table
from gramian.tables.split_columns import split_condition

OPTIONS = {"kernel": "laplace", "update": "agop", "n_rounds": 1}


def patients(n_groups=25, rows=8, seed=0):
    """Rows of one patient are nearly the same and share a value that nothing else explains."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rows)
    X = rng.normal(size=(n_groups, 4))[groups] + 0.01 * rng.normal(size=(n_groups * rows, 4))
    y = X[:, 0] + 2 * rng.normal(size=n_groups)[groups]
    return X, y, groups


def test_held_out_errors_are_those_of_new_groups():
    X, y, groups = patients(n_groups=60, seed=3)
    new_X, new_y, _ = patients(n_groups=200, seed=1)
    plain, grouped = RFMRegressor(**OPTIONS).fit(X, y), RFMRegressor(**OPTIONS).fit(X, y, groups=groups)

    def claimed(model):
        held = model.model_.holdout
        return float(np.mean((held.outputs - held.targets) ** 2))

    def true(model):
        return float(np.mean((model.predict(new_X) - new_y) ** 2))

    assert claimed(plain) < 0.2 * true(plain)  # the rows of a patient predict one another
    assert 0.5 < claimed(grouped) / true(grouped) < 2
    assert grouped.ridge_ > plain.ridge_  # it is chosen for new patients


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("given", ["groups", "time"])
def test_groups_and_times_reach_the_splits(monkeypatch, given, large):
    X, y, groups = patients()
    seen, draw = [], pipeline._draw

    def watched(task, plan, source):
        parts = draw(task, plan, source)
        pairs = [(split.train, split.held_out) for split in parts.splits] or [(parts.order, parts.held_out)]
        seen.extend((task.split_by.codes[train], task.split_by.codes[out]) for train, out in pairs)
        return parts

    monkeypatch.setattr(pipeline, "_draw", watched)
    options = OPTIONS | ({"solver": Nystrom(centers=50)} if large else {})
    RFMRegressor(**options).fit(X, y, **{given: groups})
    assert seen
    for train, held_out in seen:
        assert not set(train) & set(held_out)
        if given == "time":
            assert train.max() < held_out.min()


def test_equal_rows_of_different_groups_are_not_merged():
    X, y = np.repeat([[0.0], [1.0], [2.0], [3.0]], 10, axis=0), np.repeat([0.0, 1.0, 0.0, 1.0], 10)
    model = RFMRegressor(**OPTIONS).fit(X, y, groups=np.tile(np.arange(10), 4))
    assert len(model.row_index_) == 40
    assert len(RFMRegressor(**OPTIONS).fit(X, y).row_index_) == 4


def test_text_and_dates_are_groups_and_times():
    X, y, groups = patients(n_groups=10)
    names = np.array([f"patient {g}" for g in groups], dtype=object)
    named, numbered = (RFMClassifier(**OPTIONS).fit(X, y > 0, groups=given) for given in (names, groups))
    assert np.array_equal(named.predict_proba(X), numbered.predict_proba(X))
    days = np.datetime64("2024-01-01") + groups
    assert RFMRegressor(**OPTIONS).fit(X, y, time=days).best_round_ in (0, 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": [1, 2], "time": [1, 2]}, "both given"),
        ({"groups": np.zeros(80)}, "groups has the same entry in all rows"),
        ({"time": [None] * 80}, "time is missing at row 0 .80 rows"),
        ({"groups": np.zeros((80, 2))}, "one entry per row"),
        ({"groups": np.arange(7)}, "inconsistent numbers of samples"),
        ({"groups": np.array([1, "a"] * 40, dtype=object)}, "cannot be ordered"),
    ],
)
def test_bad_groups_are_refused(given, message):
    X, y, _ = patients(n_groups=10)
    with pytest.raises(ValueError, match=message):
        RFMRegressor(**OPTIONS).fit(X, y, **given)


def test_a_checkpoint_of_groups_is_none_of_times():
    X, y, groups = patients(n_groups=10)
    prepared = [
        RFMRegressor(**OPTIONS)._reading_options(FitOptions.resolve(RFMRegressor(**OPTIONS).get_params(deep=False)))
    ]
    identities = []
    for given in ({"groups": groups}, {"time": groups}):
        by = split_condition(given.get("groups"), given.get("time"))
        with open_table(X, y, None, None, prepared[0], RFMRegressor(**OPTIONS), by) as rows:
            identities.append(rows.identity)
    assert identities[0][-1][0] != identities[1][-1][0]


def test_one_group_of_positive_weight_is_refused():
    X, y, groups = patients(n_groups=10)
    with pytest.raises(ValueError, match="groups has the same entry in all rows of positive weight"):
        RFMRegressor(**OPTIONS).fit(X, y, sample_weight=(groups == 0).astype(float), groups=groups)


def test_an_evaluation_set_beside_groups_holds_nothing_out():
    X, y, groups = patients()
    model = RFMRegressor(solver=Nystrom(centers=50), **OPTIONS).fit(X, y, eval_set=(X[:20], y[:20]), groups=groups)
    assert model.plan_.validation == "evaluation set"


def test_two_groups_select_ridges_by_single_rows():
    """Leaving out one of two groups would leave nothing near to predict from."""
    X, y, _ = patients(n_groups=60)
    halves = RFMRegressor(**OPTIONS).fit(X, y, groups=np.arange(len(y)) % 2)
    assert halves.rounds_[0].loo < 0.5


def test_a_large_first_time_leaves_training_rows():
    time = np.r_[np.zeros(2200), np.arange(1, 101)]
    for train_rows in (0, 500):
        splits = list(SplitBy(time.astype(int), ordered=True).splits(3, train_rows, 50, 0))
        assert all(len(train) and len(held_out) for train, held_out in splits)
