"""The page of an inspected network says what the report says, for every kind of network."""

import math
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from gramian import RFMRegressor
from gramian.nets import Monitor, compare, inspect
from gramian.nets.metrics import COLUMNS
from gramian.nets.table import measured_columns
from gramian.report import write_comparison, write_report
from gramian.report.network_comparison import network_comparison_page
from gramian.report.network_figures import plot_spectra
from gramian.report.network_page import network_page
from gramian.report.network_words import layer_words, report_words
from html_checks import check
from nets.models import CASES, seeded
from report.drawn import monitor


def build(make, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def look(model, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return inspect(model, *args, **options)


X = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def whole():
    return network_page(monitor().report, monitor=monitor(), image_shape=(4, 4))


def test_is_one_page_with_every_part(whole):
    text = check(whole).text
    for title in ("What the numbers say", "Layers", "Across the layers", "Layer by layer", "Training", "Settings"):
        assert title in text
    assert "What the first layer looks for" in text
    assert "Every layer with weights was measured" in text


def test_weights_of_zero_have_no_change_and_no_words_about_it():
    zero, one = build(lambda: nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5))), build(lambda: nn.Linear(5, 5))
    with torch.no_grad():
        for part in zero:
            part.weight.zero_()
    other = nn.Sequential(one, build(lambda: nn.Linear(5, 5), 1))
    for first, second in ((zero, other), (zero, zero)):
        text = check(network_comparison_page(look(first, X), look(second, X))).text
        assert "changed" in text
        text += check(network_page(look(first, X))).text
        assert not {"nan", "inf", "∞", "nan%", "inf%", "nan)."} & set(text.split())


@pytest.mark.parametrize("layers", [["nope"], "10", ["0", "2"]])
def test_layers_that_are_not_there_are_named(tmp_path, layers):
    report = look(build(lambda: nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))), X)
    with pytest.raises(ValueError, match="layers must be a list of names among '0', '1'"):
        write_report(report, tmp_path / "page.html", layers=layers)


def test_a_layer_whose_name_begins_with_an_underscore_is_in_the_legend():
    model = nn.Sequential()
    for j in range(2):
        model.add_module(f"_part{j}", build(lambda: nn.Linear(5, 5), j))
    ax = plot_spectra(look(model, X))
    assert [entry.get_text().strip("\u200b") for entry in ax.get_legend().get_texts()] == ["_part0", "_part1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no glyph may be missing
        ax.figure.canvas.draw()


def test_the_table_holds_the_reports_numbers(whole):
    report = monitor().report
    cells = [found["data-value"] for tag, found in check(whole).elements if tag == "td" and "data-value" in found]
    expected = [
        str(float(entry[name]))
        for entry in report.rows
        for name in measured_columns(report.rows)
        if not math.isnan(entry[name])
    ]
    assert cells[: len(expected)] == expected


def test_heads_say_what_their_columns_say(whole):
    hints = {found.get("title") for tag, found in check(whole).elements if tag == "button"}
    assert {COLUMNS[name] for name in measured_columns(monitor().report.rows)} <= hints


def test_pictures_tell_their_cosines(whole):
    for layer in monitor().report.layers:
        for name, called in (("agop", "AGOP"), ("fact", "FACT")):
            assert f"{called}, cosine with WᵀW {monitor().report.similarity(layer, 'nfm', name):.3f}" in whole


def test_without_loss_targets_or_training():
    text = check(network_page(look(build(lambda: nn.Linear(5, 2)), X))).text
    assert "Training" not in text
    assert "What the first layer looks for" not in text
    assert "none was given" in text
    assert "FACT" not in text.replace("residual of FACT", "")


def test_skipped_layers_have_reasons_and_names_are_escaped():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module("<b>&", nn.Linear(5, 4))
            self.norm = nn.LayerNorm(4)

        def forward(self, x):
            return self.norm(self._modules["<b>&"](x))

    html = network_page(look(build(Odd), X))
    checker = check(html)
    assert "<b>&" in checker.text
    assert "no weight matrix" in checker.text
    assert not any(tag == "b" and not found for tag, found in checker.elements)


def test_many_layers_have_a_slider_and_the_rest_is_told_of():
    deep = build(lambda: nn.Sequential(*(nn.Linear(5, 5) for _ in range(26))))
    report = look(deep, X)
    checker = check(network_page(report))
    assert [found["max"] for tag, found in checker.elements if tag == "input"] == ["23"]
    assert "2 more layers are in the table only" in checker.text
    few = check(network_page(report, layers=["25"]))
    assert "numbers of layer 25" in few.text
    assert "numbers of layer 3" not in few.text


def test_wide_layers_show_the_inputs_that_weigh_most():
    wide = torch.randn(20, 300, generator=torch.Generator().manual_seed(0))
    text = check(network_page(look(build(lambda: nn.Linear(300, 2)), wide))).text
    assert "The 64 of 300 inputs with the largest weights" in text


def test_matrices_that_cannot_be_formed_say_why():
    tokens = torch.randint(0, 40, (12, 3), generator=torch.Generator().manual_seed(0))

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(40, 6), nn.Linear(6, 2)

        def forward(self, x):
            return self.head(self.embed(x).mean(1))

    text = check(network_page(look(build(Words), tokens, max_dim=20))).text
    assert "raise max_dim" in text


def test_convolutions_and_groups():
    def make():
        return nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 2)
        )

    images = torch.randn(10, 3, 6, 6, generator=torch.Generator().manual_seed(0))
    text = check(network_page(look(build(make), images), image_shape=(3, 3, 3))).text
    assert "The channels of a picture stand side by side" in text


@pytest.mark.parametrize("name", CASES)
def test_every_architecture_has_a_page(name):
    make, data = CASES[name]
    inputs = data()

    def ready():
        model = make()
        model(inputs.float() if inputs.is_floating_point() else inputs)  # lazy layers take their shape here
        return model

    report = look(seeded(ready), inputs)
    text = check(network_page(report)).text
    assert all(layer in text for layer in report.layers)


def test_image_shape_must_fit():
    with pytest.raises(ValueError, match=r"shape must be .* with 5 entries, got \(2, 2\)"):
        network_page(look(build(lambda: nn.Linear(5, 2)), X), image_shape=(2, 2))


def test_a_monitor_without_measurements_is_refused():
    layer = build(lambda: nn.Linear(5, 2))
    with pytest.raises(ValueError, match="monitor has measured nothing"):
        network_page(look(layer, X), monitor=Monitor(layer, X))


class TestWords:
    def test_every_measured_side_is_spoken_of(self):
        words = " ".join(layer_words(monitor().report.rows[0]))
        for part in ("AGOP^½", "FACT", "effective rank", "linear fit"):
            assert part in words

    def test_nothing_measured_nothing_said(self):
        assert layer_words(dict.fromkeys(COLUMNS, math.nan)) == []
        assert report_words([{"layer": "0"}]) == []

    @pytest.mark.parametrize(("value", "words"), [(0.95, "agrees closely"), (0.6, "in part"), (0.1, "hardly agree")])
    def test_degrees_of_agreement(self, value, words):
        assert words in layer_words({"nfa_half_cos": value, "nfa_best_cos": value, "best_power": 0.5})[0]

    @pytest.mark.parametrize(
        ("value", "words"), [(0.01, "is at rest"), (0.3, "near rest"), (0.99, "not at rest"), (4e3, "4,000 times")]
    )
    def test_degrees_of_rest(self, value, words):
        assert words in layer_words({"fact_residual": value, "fact_cos": 0.5})[0]

    def test_the_whole_network(self):
        rows = [
            {"layer": "a", "fact_residual": 0.01, "target_linearity": 0.2},
            {"layer": "b", "fact_residual": 0.4, "target_linearity": 0.9},
        ]
        first, second = report_words(rows)
        assert "In 1 of 2 layers FACT" in first
        assert "farthest is layer b, by 40% of its norm" in first
        assert "20% of the target before layer a and 90% before layer b" in second


class TestComparison:
    def test_two_networks(self):
        def make():
            return nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 2))

        a, b = (look(build(make, seed), X) for seed in (0, 1))
        checker = check(network_comparison_page(a, b, names=("old", "new")))
        entry = max(compare(a, b).rows, key=lambda row: row["weight_change"])
        assert f"the weights of layer {entry['layer']} changed most, by {entry['weight_change']:.0%}" in checker.text
        values = [found.get("data-value") for tag, found in checker.elements if tag == "td"]
        assert str(compare(a, b).rows[0]["nfm_cos"]) in values
        assert "WᵀW, new" in checker.text

    def test_the_same_network_twice(self):
        report = look(build(lambda: nn.Linear(5, 2)), X)
        assert "by 0% of their norm" in check(network_comparison_page(report, report)).text

    def test_other_shapes_are_told_of(self):
        a, b = (look(build(lambda m=m: nn.Linear(5, m)), X) for m in (2, 3))
        text = check(network_comparison_page(a, b)).text
        assert "shapes differ" in text
        assert "No layer of the two has the same shape" in text

    def test_a_model_beside_a_network(self):
        rows = np.asarray(X, dtype=float)
        model = RFMRegressor(preset="fast", update="agop", n_rounds=1).fit(rows, rows[:, 0])
        report = look(build(lambda: nn.Linear(5, 2)), X)
        for pair in ((model, report), (report, model)):
            text = check(network_comparison_page(*pair)).text
            best = max(compare(model, report).rows, key=lambda row: row["cosine"])
            assert f"{best['cosine']:.3f}" in text
            assert "AGOP of layer model" in text


def test_written_to_a_file(tmp_path):
    report = look(build(lambda: nn.Linear(4, 2)), X[:, :4])
    path = write_report(report, tmp_path / "new" / "net.html", image_shape=(2, 2), title="Mine")
    assert "<h1>Mine</h1>" in path.read_text(encoding="utf-8")
    path = write_comparison(report, report, tmp_path / "two.html", names=("one", "two"))
    assert "one and two" in path.read_text(encoding="utf-8")
    for wrong, words in [({"X": X}, "X is for the page of a model"), ({"card": {"a": "b"}}, "card is for")]:
        with pytest.raises(ValueError, match=words):
            write_report(report, tmp_path / "x.html", **wrong)
    with pytest.raises(ValueError, match="X is for the page of two models"):
        write_comparison(report, report, tmp_path / "x.html", X=X)
    with pytest.raises(ValueError, match="FeatureReport"):
        write_report("text", tmp_path / "x.html")
