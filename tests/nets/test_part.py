"""Layers that are measured a few at a time have the numbers of a measurement of all of them."""

import math

import pytest
import torch

from gramian.nets import InspectOptions, inspect
from gramian.nets.record import Unavailable
from nets.models import INPUTS, LABELS, Block, mlp, seeded

TOKENS = torch.randint(0, 11, (12, 4), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("at_a_time", [1, 2, 5, 100])
@pytest.mark.parametrize("outputs", ["all", 4])
def test_numbers_are_those_of_one_measurement(at_a_time, outputs):
    model, start = seeded(Block), seeded(Block, seed=3)
    data = (TOKENS, LABELS[:12])
    how = {"weight_decay": 0.1, "initial": start, "outputs": outputs, "batch_size": 5}
    whole = inspect(model, data, "cross_entropy", **how)
    parts = inspect(model, data, "cross_entropy", **how, options=InspectOptions(layers_at_a_time=at_a_time))
    assert parts.layers == whole.layers
    assert parts.settings == whole.settings
    assert str(parts) == str(whole)
    for one, two in zip(parts.rows, whole.rows, strict=True):
        for name in ("depth", "nfa_half_cos", "nfa_half_chance", "fact_residual", "nc4", "effective_rank", "c_nfa_cos"):
            assert one[name] == pytest.approx(two[name], abs=1e-12, nan_ok=True), (one["layer"], name)


def test_chosen_columns_are_measured_and_others_are_not():
    options = InspectOptions(layers_at_a_time=1, columns=["spectrum", "fact"])
    report = inspect(seeded(mlp), (INPUTS, LABELS), "cross_entropy", weight_decay=0.1, options=options)
    whole = inspect(seeded(mlp), (INPUTS, LABELS), "cross_entropy", weight_decay=0.1)
    assert report.rows[0]["fact_cos"] == pytest.approx(whole.rows[0]["fact_cos"])
    assert math.isnan(report.rows[0]["nfa_half_cos"])
    assert "fact_cos" in report.to_pandas().columns
    assert "nc1" not in report.to_pandas().columns


def test_matrices_are_not_kept_and_the_message_says_how_to_have_them():
    report = inspect(seeded(mlp), INPUTS, options=InspectOptions(layers_at_a_time=2))
    with pytest.raises(Unavailable, match=r"inspect\(..., layers=\['0'\]\)"):
        report.matrix("0", "agop")


def test_data_that_can_be_read_once_only_is_refused():
    with pytest.raises(ValueError, match="pass a list or a loader"):
        inspect(seeded(mlp), iter([INPUTS]), options=InspectOptions(layers_at_a_time=1))
    with pytest.raises(ValueError, match="at least 1"):
        InspectOptions(layers_at_a_time=0)
