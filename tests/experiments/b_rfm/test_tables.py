"""The search on tables, and the numbers of Tables 2 to 5."""

import math

import numpy as np
import pytest
import torch

from gramian.experiments.b_rfm import grinsztajn_sets as g
from gramian.experiments.b_rfm import tables
from gramian.experiments.b_rfm.machines import ridge_fit
from gramian.experiments.b_rfm.printed_tables import table


def product(n=160):
    X = np.random.default_rng(0).normal(size=(n, 5))
    return X, X[:, 0] * X[:, 1]


def test_splits_are_disjoint_and_capped():
    train, valid, test = g.split(1000, 100, 3)
    assert (len(train), len(valid), len(test)) == (100, 270, 630)
    assert len({*train.tolist(), *valid.tolist(), *test.tolist()}) == 1000


def test_features_help_where_two_of_five_columns_matter():
    X, y = product(400)
    found = g.search(g.TabularTask(X, y, True), 200, 2, 0)
    assert found.rfm > found.laplace
    assert found.round > 0


def test_scores_do_not_depend_on_the_units_of_the_target():
    X, y = product()
    one, other = (g.search(g.TabularTask(X, a * y + 7, True), 80, 1, 1) for a in (1.0, 50.0))
    assert one.rfm == pytest.approx(other.rfm, abs=1e-6)


def test_labels_are_scored_by_their_share():
    X, y = product()
    found = g.search(g.TabularTask(X, (y > 0).astype(np.float64), False), 80, 1, 0)
    assert found.rfm * 56 == pytest.approx(round(found.rfm * 56))  # 80 training rows, 24 for validation, 56 for tests


def test_labels_other_than_0_and_1_are_refused():
    """With labels 1 and 2 both classes counted as positive, and every prediction was right."""
    X, y = product()
    with pytest.raises(ValueError, match="must be 0 and 1"):
        g.TabularTask(X, 1.0 + (y > 0), False)


def test_a_set_with_labels_1_and_2_is_read_with_labels_0_and_1(monkeypatch):
    data = type("Data", (), {"X": np.zeros((4, 2)), "y": np.array([1, 2, 2, 1])})()
    monkeypatch.setattr(g, "grinsztajn", lambda name, kind: data)
    assert g.read(3, "bank-marketing").y.tolist() == [0, 1, 1, 0]


def test_indicators_are_not_transformed():
    """Normal scores make ±5.2 of an indicator; one that no target depends on must not be made so large."""
    X, y = product()
    flag = (np.random.default_rng(1).random((len(X), 1)) < 0.3).astype(np.float64)
    both = np.hstack([X, flag])
    kept, scored = (g.search(g.TabularTask(both, y, True, count), 80, 0, 0).laplace for count in (1, 0))
    assert kept > scored


def test_equal_validation_scores_are_not_decided_by_test_rows(monkeypatch):
    X, y = product()
    scores = iter(range(100))
    monkeypatch.setattr(g, "score", lambda machine, X, y, regression: 0.5 if len(X) == 24 else next(scores) / 100)
    assert g.search(g.TabularTask(X, y, True), 80, 1, 0).rfm == 0.0


def test_r2_of_a_predictor_of_zero():
    """1 − Σy² / Σ(y − ȳ)² for y = 1, 3, and 0 where the targets are centred."""
    machine = ridge_fit(torch.zeros(1, 1, dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64))
    rows = torch.ones(2, 1, dtype=torch.float64)
    assert g.score(machine, rows, np.array([1.0, 3.0]), True) == pytest.approx(-4)
    assert g.score(machine, rows, np.array([-1.0, 1.0]), True) == pytest.approx(0)
    assert g.score(machine, rows, np.array([-1.0, 1.0]), False) == 0.5


def test_the_rank_correlation_needs_all_sets():
    names = [name for _, name in table(2).rows if name in tables.AT_HAND[2]]
    printed = {name: table(2).nearest(10_000, name) for name in names}
    records = [
        {"spec": {"table": 2, "name": n, "rows": 1000}, "numbers": {"score": printed[n] - 0.1}} for n in set(names)
    ]
    records.append({"spec": {"table": 2, "name": "diamonds", "rows": 37_758}, "numbers": {"score": -1.0}})
    assert tables.rank_correlation(records)["rank correlation"] == pytest.approx(1)
    assert tables.rank_correlation(records[1:]) == {}


def test_sets_that_are_not_at_hand_have_no_cells():
    for which in (2, 3, 4, 5):
        claims = {claim.key: claim for claim in tables._claims(which)}
        for (rows, name), value in zip(table(which).rows, table(which).of("RFM"), strict=True):
            if not np.isnan(value):
                assert bool(claims[f"{name}/{rows}"].missing) == (name not in tables.AT_HAND[which])


def printed_scores(which):
    return {
        f"{name}/{rows}": value for (rows, name), value in zip(table(which).rows, table(which).of("RFM"), strict=True)
    }


@pytest.mark.parametrize("which", [2, 3])
def test_our_values_in_the_printed_column(which):
    """The printed values have their own average; 100 more make RFM the best on every set."""
    scores = printed_scores(which)
    at_hand = [
        scores[f"{name}/{rows}"] for rows, name in table(which).rows if name in tables.AT_HAND[which] and rows <= 10_000
    ]
    found = tables.in_printed_column(which, scores)
    assert found["average/at hand"] == pytest.approx(np.mean(at_hand))
    more = tables.in_printed_column(which, {key: value + 100 for key, value in scores.items()})
    assert more == pytest.approx({"average/at hand": np.mean(at_hand) + 100, "rank/at hand": 1.0})


def test_numbers_over_sets_are_means_over_medium_sets_and_need_all_of_them():
    records = [
        {
            "spec": {"table": 3, "name": name, "rows": rows},
            "numbers": {f"{name}/{rows}": value, "score": value, "plain": value - 1, "gain": float(rows)},
        }
        for (rows, name), value in zip(table(3).rows, table(3).of("RFM"), strict=True)
        if name in tables.AT_HAND[3]
    ]
    medium = [record for record in records if record["spec"]["rows"] <= 10_000]
    found = tables.compare_sets(records)
    assert len(medium) < len(records)
    assert found["mean gain"] == pytest.approx(np.mean([record["numbers"]["gain"] for record in medium]))
    assert found == tables.compare_sets(medium) | {"distance, large sets": 0.0}
    assert found.items() >= tables.in_printed_column(3, printed_scores(3)).items()
    assert set(tables.compare_sets(medium[1:])) == {"mean gain"}
    assert tables.compare_sets([]) == {}


@pytest.mark.parametrize("which", [2, 3, 4, 5])
def test_the_laplace_kernel_fails_every_printed_number_of_a_table(which):
    """A kernel without features is at the distance 2 or more, and the print at 0: only the second is admitted."""

    def records(features):
        printed = table(which).of("RFM").tolist()
        numbers = [{"score": value if features else value - 0.1, "plain": value - 0.1} for value in printed]
        rows = table(which).rows
        specs = [{"table": which, "name": name, "rows": rows} for rows, name in rows]
        pairs = zip(specs, numbers, strict=True)
        return [{"spec": spec, "numbers": n} for spec, n in pairs if spec["name"] in tables.AT_HAND[which]]

    claims = {claim.key: claim for claim in tables._claims(which)}
    ours, plain = (tables.relative_distances(records(features)) for features in (True, False))
    assert set(ours.values()) == {0.0}
    assert min(plain.values()) >= 2 - 1e-9
    for key in plain:
        assert claims[key].admits(ours[key])
        assert not claims[key].admits(plain[key])
    alone = [claim for claim in claims.values() if claim.kind == "printed number" and claim.paper is not None]
    assert all(claim.column in plain or claim.missing for claim in alone)
    assert tables.relative_distances(records(True)[1:]).keys() < plain.keys()
    # Where the Laplace kernel itself has the printed numbers, features cannot be seen.
    exact = [{**r, "numbers": {**r["numbers"], "plain": r["numbers"]["score"]}} for r in records(True)]
    assert set(tables.relative_distances(exact).values()) == {math.inf}


def test_a_set_printed_at_two_sizes_has_the_score_of_the_nearer_one():
    assert table(3).nearest(1_000, "covertype") == table(3).value(10_000, "covertype")
    assert table(3).nearest(60_000, "covertype") == table(3).value(50_000, "covertype")
    assert np.isnan(table(3).nearest(10, "made"))
