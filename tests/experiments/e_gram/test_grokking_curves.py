"""Curves between memorisation and grokking, on made records."""

import numpy as np
import pytest

from gramian.experiments.e_gram.grokking_curves import compare_decays, curves_of, following, sharpness


def made_record(decay, second, last, test, **numbers):
    """Make a record that is memorised at the second measurement; the test accuracy reaches 0.9 at ``test``."""
    count = len(last)
    arrays = {
        "epochs": [10 * at for at in range(count)],
        "train": [0.0] + [1.0] * (count - 1),
        "test": [0.0] * test + [1.0] * (count - test),
        "linearity": [[0.0, a, b] for a, b in zip(second, last, strict=True)],
    }
    return {"spec": {"decay": decay}, "numbers": numbers, "arrays": arrays}


def test_differences_need_both_decays():
    last = [0.3] * 5 + [0.5] * 5
    numbers = {"test/0.5": 0.9, "grokked/0.25": 300.0}
    records = [made_record(0.5, [0.2] * 10, last, 2, **numbers)]
    assert compare_decays(records) == {"widens/0.5": pytest.approx(0.2)}
    records.append(made_record(0.75, [0.2] * 10, last, 2, **{"test/0": 0.1, "grokked/0.75": 100.0}))
    found = {"test/0.5 - test/0": pytest.approx(0.8), "earlier": 200.0, "widens/0.75": pytest.approx(0.2)}
    assert compare_decays(records) == found | {"widens/0.5": pytest.approx(0.2)}


def test_saturation_is_compared_with_that_without_decay():
    last = [0.3] * 5 + [0.5] * 5
    none, decayed = (made_record(at, [0.2] * 10, last, 2, **{f"late/{at:g}": at / 10}) for at in (0.0, 0.5))
    assert compare_decays([none, decayed])["late/0.5 - late/0"] == pytest.approx(0.05)
    assert not any("late/0 -" in key for key in compare_decays([none, decayed]))


def test_a_rise_is_sharp_if_it_is_faster_while_the_network_groks():
    """Layer 2 rises by 0.01 per measurement from memorisation on, and perhaps faster while the network groks."""
    steady = 0.01 * np.arange(21)
    sharp = steady + np.clip(0.03 * (np.arange(21) - 8), 0, 0.24)
    test = [0.0] * 8 + [0.5] * 8 + [1.0] * 5
    found = []
    for second in (steady, sharp):
        record = made_record(0.25, second.tolist(), [0.5] * 21, 0)
        record["arrays"]["test"] = test
        found.append(sharpness(curves_of(record["arrays"])))
    assert found[0] == pytest.approx(0.0, abs=0.01)
    assert found[1] > 0.2
    assert sharpness(curves_of(made_record(0.25, steady.tolist(), [0.5] * 21, 0)["arrays"])) is None


def test_a_correlation_needs_six_measurements_and_is_never_nan():
    last, second = np.linspace(0, 1, 21) ** 2, np.linspace(0, 1, 21)
    assert following(curves_of(made_record(0.5, second, last, 5)["arrays"])) is None
    assert following(curves_of(made_record(0.5, last, last, 12)["arrays"])) is None  # a gap that stays 0
    assert following(curves_of(made_record(0.5, second, last, 12)["arrays"])) is not None
