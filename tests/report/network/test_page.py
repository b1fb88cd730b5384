"""The page about a network states the numbers of the report, for every architecture."""

import math

import pytest
import torch
from torch import nn

from gramian.nets import InspectOptions, Monitor
from gramian.nets.columns import COLUMNS
from gramian.nets.table import measured_columns
from gramian.report import write_report
from gramian.report.network.page import network_page
from html_checks import check
from nets.models import CASES, seeded
from report.inspected import X, build, quiet_inspect
from report.plot_cases import monitor


@pytest.fixture(scope="module")
def whole():
    return network_page(monitor().report, monitor=monitor(), image_shape=(4, 4))


def test_the_page_is_well_formed_and_has_every_section(whole):
    text = check(whole).text
    for title in ("Summary", "Layers", "Across the layers", "Layer by layer", "Training", "Settings"):
        assert title in text
    assert "Directions of the first layer" in text
    assert "Every layer with weights was measured" in text


@pytest.mark.parametrize("layers", [["nope"], "10", ["0", "2"]])
def test_layers_that_do_not_exist_are_refused(tmp_path, layers):
    report = quiet_inspect(build(lambda: nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))), X)
    with pytest.raises(ValueError, match="layers must be a list of names among '0', '1'"):
        write_report(report, tmp_path / "page.html", layers=layers)


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


def test_headings_explain_their_columns(whole):
    hints = {found.get("title") for tag, found in check(whole).elements if tag == "button"}
    for name in measured_columns(monitor().report.rows):
        assert any(hint and hint.startswith(COLUMNS[name]) for hint in hints), name


def test_pictures_are_labelled_with_their_cosines(whole):
    for layer in monitor().report.layers:
        for name, called in (("agop", "AGOP"), ("fact", "FACT")):
            assert f"{called}, cosine with WᵀW {monitor().report.similarity(layer, 'nfm', name):.3f}" in whole


def test_a_page_without_loss_targets_or_training_omits_their_sections():
    text = check(network_page(quiet_inspect(build(lambda: nn.Linear(5, 2)), X))).text
    assert "Training" not in text
    assert "Directions of the first layer" not in text
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

    html = network_page(quiet_inspect(build(Odd), X))
    checker = check(html)
    assert "<b>&" in checker.text
    assert "no weight matrix" in checker.text
    assert not any(tag == "b" and not found for tag, found in checker.elements)


def test_modules_that_are_skipped_for_one_reason_share_a_line():
    norms = build(lambda: nn.Sequential(nn.Linear(5, 4), *(nn.LayerNorm(4) for _ in range(9)), nn.Linear(4, 2)))
    text = check(network_page(quiet_inspect(norms, X))).text
    assert text.count("has no weight matrix") == 1
    assert "1, 2, 3, 4 and 5 more" in text


def test_many_layers_have_a_slider_and_a_note_names_the_rest():
    deep = build(lambda: nn.Sequential(*(nn.Linear(5, 5) for _ in range(26))))
    report = quiet_inspect(deep, X)
    checker = check(network_page(report))
    assert [found["max"] for tag, found in checker.elements if tag == "input"] == ["23"]
    assert "2 more layers are in the table only" in checker.text
    few = check(network_page(report, layers=["25"]))
    assert "numbers of layer 25" in few.text
    assert "numbers of layer 3" not in few.text


def test_wide_layers_show_the_inputs_with_the_largest_weights():
    wide = torch.randn(20, 300, generator=torch.Generator().manual_seed(0))
    text = check(network_page(quiet_inspect(build(lambda: nn.Linear(300, 2)), wide))).text
    assert "The 64 of 300 inputs with the largest weights" in text


def test_matrices_that_cannot_be_formed_have_a_reason():
    tokens = torch.randint(0, 40, (12, 3), generator=torch.Generator().manual_seed(0))

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(40, 6), nn.Linear(6, 2)

        def forward(self, x):
            return self.head(self.embed(x).mean(1))

    text = check(network_page(quiet_inspect(build(Words), tokens, options=InspectOptions(max_dim=20)))).text
    assert "raise max_dim" in text


def test_the_directions_of_a_convolution_show_its_channels():
    def make():
        return nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 2)
        )

    images = torch.randn(10, 3, 6, 6, generator=torch.Generator().manual_seed(0))
    text = check(network_page(quiet_inspect(build(make), images), image_shape=(3, 3, 3))).text
    assert "The channels of an image are side by side" in text


@pytest.mark.parametrize("name", CASES)
def test_every_architecture_has_a_page(name):
    make, data = CASES[name]
    inputs = data()

    def ready():
        model = make()
        model(inputs.float() if inputs.is_floating_point() else inputs)  # lazy layers take their shape here
        return model

    report = quiet_inspect(seeded(ready), inputs)
    text = check(network_page(report)).text
    assert all(layer in text for layer in report.layers)


def test_an_image_shape_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"shape must be .* with 5 entries, got \(2, 2\)"):
        network_page(quiet_inspect(build(lambda: nn.Linear(5, 2)), X), image_shape=(2, 2))


def test_a_monitor_without_measurements_is_refused():
    layer = build(lambda: nn.Linear(5, 2))
    with pytest.raises(ValueError, match="nothing was measured yet"):
        network_page(quiet_inspect(layer, X), monitor=Monitor(layer, X))


def test_the_page_of_a_network_with_weights_of_zero_has_no_missing_numbers():
    zero = build(lambda: nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5)))
    with torch.no_grad():
        for part in zero:
            part.weight.zero_()
    text = check(network_page(quiet_inspect(zero, X))).text
    assert not {"nan", "inf", "∞", "nan%", "inf%", "nan)."} & set(text.split())
