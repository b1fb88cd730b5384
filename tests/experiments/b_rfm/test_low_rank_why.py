"""The networks of Fig. 16 with more rows and other widths."""

import pytest

from gramian.datasets import hermite_index
from gramian.experiments.b_rfm import low_rank_why as w
from gramian.experiments.b_rfm.low_rank_fits import network, r2, split_rows
from gramian.experiments.stacked import Adam


def test_the_lead_is_that_of_the_network_and_its_rise_is_over_rows():
    records = [
        {"spec": {"n": n}, "numbers": w.more_rows(w.NoisyRows(n, test=40, d=5, width=8, epochs=5), 0).numbers}
        for n in (30, 60)
    ]
    leads = [record["numbers"][f"lead/{record['spec']['n']}"] for record in records]
    for record, lead in zip(records, leads, strict=True):
        n = record["spec"]["n"]
        assert lead == pytest.approx(record["numbers"][f"nn/{n}"] - record["numbers"][f"ntk/{n}"])
    assert w.gain_of_rows(records)["lead/rise"] == pytest.approx(leads[1] - leads[0])
    assert w.gain_of_rows(records[:1]) == {}


def test_the_width_is_that_of_the_network():
    spec = w.HermiteWidth(16, n=50, d=4, epochs=30)
    X, Y, *_ = split_rows(hermite_index(51, 4, 3), 50)
    alone = network(X, Y, (16,), Adam(1e-2), epochs=30, seed=3)
    assert w.by_width(spec, 3).numbers == {"train/16": r2(alone.outputs(X.float())[0], Y)}
