"""Fig. 12: the share of random labels, and the trends over it."""

import pytest
import torch

from gramian.experiments import papers
from gramian.experiments.e_gram.random_labels import SHARES, randomised


def test_the_share_of_replaced_labels_is_the_probability():
    y = torch.zeros(4000, dtype=torch.long)
    found = randomised(y, 0.5, 10, torch.Generator().manual_seed(0))
    # A tenth of the replaced labels are again 0.
    assert float((found != 0).double().mean()) == pytest.approx(0.45, abs=0.03)
    assert set(found.tolist()) == set(range(10))


def test_trends_of_made_records():
    def record(p, start=lambda p: 0.1):
        numbers = {"train": 1.0, "test": 0.5 - 0.4 * p, "TL": 0.8 - 0.3 * p, "TL at start": start(p), "late": 0.1 * p}
        arrays = {
            "epochs": [0, 5, 10],
            "train": [0.1, 0.95 - p / 2, 1.0],
            "test": [0.1, 0.4 - 0.6 * p, numbers["test"]],
            "linearity": [[0.1, 0.1, start(p)], [0.2, 0.2, 0.2], [0.3 - 0.1 * p, 0.3 + 0.1 * p, numbers["TL"]]],
        }
        named = {f"{p}/{key}": value for key, value in numbers.items()}
        return {"spec": {"share": p}, "numbers": named, "arrays": arrays}

    derive = papers.find("e/fig12").derive
    found = derive([record(p) for p in SHARES])
    expected = {
        "test/order": -1.0, "rise/order": -1.0, "rise/drop": 0.225, "gap/rise": 0.3, "gap and rise": -1.0,
        "train/lowest": 1.0, "middle/late": 0.1, "train/order": 0.0, "rise/order/layer 1": -1.0,
        "rise/order/layer 2": 1.0, "time/order": 5 / 15, "middle/gap/order": 1.0, "test/order/randomised": -1.0,
        "gap/rise/randomised": 0.5 - (0.25 * 0.2 + 0.075), "gap and rise/randomised": -1.0,
    }  # fmt: skip
    assert found == pytest.approx(expected)
    assert derive([record(0.0)]) == {}
    # Scored on randomised labels the accuracy falls with the share even if the network's does not.
    same = [record(p) for p in SHARES]
    for made in same:
        made["numbers"][f"{made['spec']['share']}/test"] = 0.5
    assert derive(same)["test/order"] == 0
    assert derive(same)["test/order/randomised"] == -1
    as_at_start = derive([record(p, start=lambda p: 0.7 - 0.3 * p) for p in SHARES])
    assert as_at_start["rise/drop"] == pytest.approx(0.0)
