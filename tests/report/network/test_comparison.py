"""The page about two networks, or a network and a model."""

import numpy as np
import torch
from torch import nn

from gramian import RFMRegressor
from gramian.nets import compare
from gramian.report.network.comparison import network_comparison_page
from html_checks import check
from report.inspected import X, build, quiet_inspect


def test_two_networks_are_compared_layer_by_layer():
    def make():
        return nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 2))

    a, b = (quiet_inspect(build(make, seed), X) for seed in (0, 1))
    checker = check(network_comparison_page(a, b, names=("old", "new")))
    entry = max(compare(a, b).rows, key=lambda row: row["weight_change"])
    assert f"the weights of layer {entry['layer']} changed most, by {entry['weight_change']:.0%}" in checker.text
    values = [found.get("data-value") for tag, found in checker.elements if tag == "td"]
    assert str(compare(a, b).rows[0]["nfm_cos"]) in values
    assert "WᵀW, new" in checker.text


def test_a_network_compared_with_itself_has_not_changed():
    report = quiet_inspect(build(lambda: nn.Linear(5, 2)), X)
    assert "by 0% of their norm" in check(network_comparison_page(report, report)).text


def test_layers_of_other_shapes_are_named():
    a, b = (quiet_inspect(build(lambda m=m: nn.Linear(5, m)), X) for m in (2, 3))
    text = check(network_comparison_page(a, b)).text
    assert "shapes differ" in text
    assert "No layer of the two has the same shape" in text


def test_a_model_is_compared_with_the_first_layer():
    rows = np.asarray(X, dtype=float)
    model = RFMRegressor(preset="fast", update="agop", n_rounds=1).fit(rows, rows[:, 0])
    report = quiet_inspect(build(lambda: nn.Linear(5, 2)), X)
    for pair in ((model, report), (report, model)):
        text = check(network_comparison_page(*pair)).text
        best = max(compare(model, report).rows, key=lambda row: row["cosine"])
        assert f"{best['cosine']:.3f}" in text
        assert "AGOP of layer model" in text


def test_weights_of_zero_have_no_change_and_no_missing_numbers():
    zero, one = build(lambda: nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5))), build(lambda: nn.Linear(5, 5))
    with torch.no_grad():
        for part in zero:
            part.weight.zero_()
    other = nn.Sequential(one, build(lambda: nn.Linear(5, 5), 1))
    for first, second in ((zero, other), (zero, zero)):
        text = check(network_comparison_page(quiet_inspect(first, X), quiet_inspect(second, X))).text
        assert "changed" in text
        assert not {"nan", "inf", "∞", "nan%", "inf%", "nan)."} & set(text.split())
