"""Fig. 11: the numbers of made profiles, and the comparison of tasks."""

import pytest

from gramian.experiments import papers
from gramian.experiments.e_gram.transformer_layers import compare_epochs, summarise_layers


def test_numbers_of_made_profiles():
    states = {
        "random": [0.1, 0.2, 0.1], "pretrained": [0.5, 0.3, 0.4], "epoch 1": [0.5, 0.6, 0.8],
        "epoch 2": [0.5, 0.6, 0.8], "epoch 3": [0.5, 0.7, 0.9],
    }  # fmt: skip
    expected = {
        "lead": 0.1, "gap": 0.8 / 3, "peak": 0.0, "order": -1 / 3, "last": 0.4,
        "tuned/rise": 0.4, "tuned/order": 1.0, "tuned/above": 0.0,
    }  # fmt: skip
    assert summarise_layers(states) == pytest.approx(expected)
    assert "tuned/rise" not in summarise_layers({key: states[key] for key in ("random", "pretrained")})


def test_tasks_are_compared_within_a_model():
    def record(task, gap, peak):
        states = {"pretrained": [0.5, 0.5 + peak, 0.4, 0.3], "random": [0.1, 0.2, 0.1, 0.1]}
        numbers = {f"minilm/{task}/gap": gap, f"minilm/{task}/peak": peak}
        return {"spec": {"model": "minilm", "task": task}, "numbers": numbers, "arrays": states}

    derive = papers.find("e/fig11").derive
    records = [record("sst2", 0.1, 1.0), record("pos", 0.3, 0.2), record("ner", 0.4, 0.6)]
    humps = {"minilm/pos/hump": 0.1, "minilm/ner/hump": 0.5}  # 0.2 and 0.6, minus 0.1 of the random model: smaller
    # The made profiles peak at the second of four layers, in both states and all tasks.
    expected = {"minilm/pos/gap over sst2": 0.2, "minilm/ner/gap over sst2": 0.3, "minilm/earlier": 0.0}
    assert derive(records) == pytest.approx(expected | humps)
    records[0]["arrays"]["pretrained"] = [0.1, 0.2, 0.3, 0.4]
    assert derive(records)["minilm/earlier"] == pytest.approx(2 / 3)
    records[0]["arrays"]["random"] = [0.1, 0.2, 0.3, 0.4]
    assert derive(records)["minilm/earlier"] == pytest.approx(0.0)  # a random model does the same
    assert derive(records[:2]) == pytest.approx({"minilm/pos/hump": 0.1})
    records[1]["arrays"]["random"] = [0.5, 0.2, 0.1, 0.5]  # sinks in the middle, which is no hump of the other
    assert derive(records[:2]) == pytest.approx({"minilm/pos/hump": 0.2})
    records[1]["arrays"]["pretrained"] = [0.5, 0.45, 0.4, 0.3]
    assert derive(records[:2]) == pytest.approx({"minilm/pos/hump": -0.05})


def test_epochs_of_fine_tuning():
    def saturated(before, first, third):
        states = {"pretrained": [0.3, before], "epoch 1": [0.3, first], "epoch 3": [0.3, third]}
        return compare_epochs(states)["saturated"]

    assert saturated(0.4, 0.8, 0.9) == pytest.approx(-0.1)
    assert saturated(0.4, 0.5, 0.7) == pytest.approx(0.15)  # most of the rise is later
    assert saturated(0.4, 0.3, 0.2) == pytest.approx(0.1)  # falls, of which the ratio is 1
    assert saturated(0.4, 0.3, 0.2 + 0.01) > 0
    assert compare_epochs({"pretrained": [0.1]}) == {}
    assert compare_epochs({"pretrained": [0.1, 0.2], "epoch 1": [0.6, 0.5]}) == pytest.approx({"last": -0.1})
