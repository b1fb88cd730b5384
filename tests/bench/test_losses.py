"""Comparison of methods by their losses."""

import json

import numpy as np
import pytest
from scipy.stats import ttest_rel

from gramian.bench.losses import compare_losses, seed_differences


def record(method, name, loss, split=0, kind="classification", **other):
    """A record whose loss is ``loss``; the score of a regression is ``1 − loss²``."""
    score = 1 - loss**2 if kind == "regression" else 0.5
    return {
        "suite": "s",
        "set": name,
        "split": split,
        "method": method,
        "kind": kind,
        "score": score,
        "log_loss": None if kind == "regression" else loss,
        "prior_log_loss": None if kind == "regression" else 0.7,
        "auc": None if kind == "regression" else 0.8,
        "fit_seconds": 2.0,
        "fit_processor_seconds": 3.0,
        "error": None,
    } | other


def table(losses, kind="classification", **other):
    """Records of a matrix of losses, sets × methods a, b, c, …"""
    return [
        record(chr(97 + j), f"set {i}", loss, kind=kind, **other)
        for i, line in enumerate(losses)
        for j, loss in enumerate(line)
    ]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_methods_are_ranked_and_normalised_on_each_set(kind):
    compared = compare_losses(table([[0.1, 0.2, 0.3], [0.5, 0.4, 0.6]], kind), ["s"])
    at = dict(zip(compared.methods, compared.ranks(), strict=True))
    assert at == {"a": 1.5, "b": 1.5, "c": 3.0}
    normalized = dict(zip(compared.methods, compared.normalized.T.tolist(), strict=True))
    np.testing.assert_allclose(normalized["a"], [1, 0.5])
    np.testing.assert_allclose(normalized["b"], [0.5, 1], atol=1e-12)
    np.testing.assert_allclose(normalized["c"], [0, 0], atol=1e-12)


def test_a_loss_above_that_of_the_class_shares_counts_as_that():
    compared = compare_losses(table([[0.2, 0.45, 50.0]]), ["s"])
    np.testing.assert_allclose(compared.normalized, [[1, 0.5, 0]])


def test_units_of_the_loss_do_not_matter_for_normalised_losses():
    losses = np.random.default_rng(0).uniform(0.1, 0.5, (6, 4))
    one = compare_losses(table(losses), ["s"])
    other = compare_losses([r | {"log_loss": 3 * r["log_loss"], "prior_log_loss": 2.1} for r in table(losses)], ["s"])
    np.testing.assert_allclose(one.normalized, other.normalized)
    assert one.methods == other.methods


def test_intervals_of_paired_differences_are_those_of_the_paired_t_test():
    losses = np.random.default_rng(1).uniform(0.1, 0.5, (9, 3))
    compared = compare_losses(table(losses), ["s"])
    a, b = (compared.normalized[:, compared.methods.index(m)] for m in "ab")
    known = ttest_rel(a, b).confidence_interval(0.95)
    found = compared.difference("a", "b")
    np.testing.assert_allclose([found.low, found.high], [known.low, known.high])
    ratio = compared.log_ratio("b", "a")
    known = ttest_rel(np.log(losses[:, 1]), np.log(losses[:, 0])).confidence_interval(0.95)
    np.testing.assert_allclose([ratio.low, ratio.high], [known.low, known.high])
    assert compared.wins("a", "b") == (losses[:, 0] < losses[:, 1]).sum()


def test_splits_are_averaged_and_only_common_ones_count():
    records = [record("a", "x", 0.2, 0), record("a", "x", 0.4, 1), record("b", "x", 0.3, 1), record("b", "y", 0.1)]
    compared = compare_losses(records, ["s"])
    assert compared.sets == ("x",)
    assert dict(zip(compared.methods, compared.losses[0], strict=True)) == {"a": 0.4, "b": 0.3}


def test_methods_without_probabilities_are_left_out_unless_they_are_named():
    records = [*table([[0.1, 0.2]]), record("svm", "set 0", None)]
    assert set(compare_losses(records, ["s"]).methods) == {"a", "b"}
    with pytest.raises(ValueError, match="svm has no loss on some data sets"):
        compare_losses(records, ["s"], ["a", "svm"])


def test_seeds_are_compared_with_the_distance_of_the_fifth_method():
    first = compare_losses(table([[0.1, 0.2, 0.3, 0.4, 0.5, 0.9], [0.3, 0.31, 0.32, 0.33, 0.34, 0.35]]), ["s"])
    again = compare_losses([record("a", "set 0", 0.3), record("a", "set 1", 0.2)], ["s"])
    near, far = seed_differences(first, again, "a")
    assert (near.is_small, far.is_small) == (True, False)
    np.testing.assert_allclose([near.difference, near.first_to_fifth, far.first_to_fifth], [0.2, 0.4, 0.04])
    with pytest.raises(ValueError, match="needs five methods, there are 1"):
        seed_differences(again, first, "a")


def test_tables_have_a_line_per_method_and_go_to_json():
    compared = compare_losses(table([[0.1, 0.2], [0.3, 0.2]]), ["s"])
    assert compared.markdown().count("\n| ") == 3
    assert json.loads(json.dumps(compared.as_dict()))["losses"]["set 0"] == {"a": 0.1, "b": 0.2}
    numbers = compare_losses(table([[0.1, 0.2]], "regression"), ["s"])
    assert "RMSE / σ" in numbers.title
    assert "| R² |" in numbers.markdown()


def test_kinds_are_not_mixed():
    with pytest.raises(ValueError, match="one kind of task, got classification, regression"):
        compare_losses([*table([[0.1]]), *table([[0.1]], "regression")], ["s"])
    with pytest.raises(ValueError, match="there are no losses of 'z'"):
        compare_losses(table([[0.1, 0.2]]), ["s"]).difference("a", "z")


def test_areas_are_averaged_over_the_sets_on_which_every_method_has_one(recwarn):
    records = table([[0.1, 0.2], [0.3, 0.4]])
    records[0]["auc"] = None  # a failure of the other method on this set counts as one half
    records[1]["auc"] = 0.5
    assert [row["AUC"] for row in compare_losses(records, ["s"]).rows()] == [0.8, 0.8]
    nowhere = compare_losses(table([[0.1, 0.2]], auc=None), ["s"])
    assert all(np.isnan(row["AUC"]) for row in nowhere.rows())
    assert not recwarn.list


def test_a_score_that_is_no_number_is_no_loss():
    records = table([[0.1, 0.2, 0.3]], "regression")
    records[2]["score"] = float("nan")
    assert compare_losses(records, ["s"]).methods == ("a", "b")
