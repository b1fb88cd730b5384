"""The report: rows, tables, HTML, plots, comparison; initial weights."""

import io
import math

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import nn

from gramian.core import cosine, pearson, psd_power
from gramian.nets import inspect
from gramian.nets.metrics import COLUMNS
from gramian.nets.record import PSD
from nets.models import Block, mlp, seeded

X = torch.randn(20, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LABELS = torch.arange(20) % 3


def full(model=None, start=None):
    model = model or seeded(mlp)
    return inspect(model, (X, LABELS), "cross_entropy", weight_decay=0.1, initial=start or seeded(mlp, seed=9))


def test_rows_agree_with_the_matrices():
    report = full()
    for entry in report.rows:
        layer = entry["layer"]
        M = {
            name: torch.from_numpy(report.matrix(layer, name))
            for name in ("nfm", "agop", "enfa", "fact", "bnfm", "ptk")
        }
        half = psd_power(M["agop"], 0.5)
        expected = {
            "nfa_cos": cosine(M["nfm"], M["agop"]),
            "nfa_pearson": pearson(M["nfm"], M["agop"]),
            "nfa_half_cos": cosine(M["nfm"], half),
            "nfa_half_pearson": pearson(M["nfm"], half),
            "nfa_depth_cos": cosine(M["nfm"], psd_power(M["agop"], 1 / entry["depth"])),
            "nfa_best_cos": report.similarity(layer, "nfm", "agop", power=entry["best_power"]),
            "enfa_half_cos": cosine(M["nfm"], psd_power(M["enfa"], 0.5)),
            "fact_cos": cosine(M["nfm"], M["fact"]),
            "fact_pearson": pearson(M["nfm"], M["fact"]),
            "fact_polar_pearson": pearson(M["nfm"], psd_power(M["fact"] @ M["fact"].mT, 0.5)),
            "fact_residual": float((M["fact"] - M["nfm"]).norm() / M["nfm"].norm()),
            "bnfa_half_cos": cosine(M["bnfm"], psd_power(M["ptk"], 0.5)),
        }
        for name, value in expected.items():
            assert entry[name] == pytest.approx(value, abs=1e-7), (layer, name)
            if name.endswith("cos") and name != "nfa_best_cos":
                assert report.similarity(layer, "nfm", "nfm") == pytest.approx(1)
        grid = [report.similarity(layer, "nfm", "agop", power=s) for s in np.geomspace(0.05, 2.5, 40)]
        assert entry["nfa_best_cos"] >= max(grid) - 1e-9
        assert list(entry) == list(COLUMNS)


def test_centred_alignments_follow_their_definitions():
    model, start = seeded(mlp), seeded(mlp, seed=9)
    report = full(model, start)

    def tangents(net, layer):
        """∂f/∂z of every sample and output by autograd, (n · c, m)."""
        h = net[:layer](X).detach()
        z = net[layer](h).detach().requires_grad_()
        f = net[layer + 1 :](z.clone())
        return torch.cat([torch.autograd.grad(f[:, c].sum(), z, retain_graph=True)[0] for c in range(3)])

    for entry in report.rows[:2]:
        j = int(entry["layer"])
        W, W0 = model[j].weight.detach(), start[j].weight.detach()
        D, D0 = tangents(model, j), tangents(start, j)
        K, K_bar = D.mT @ D / 20, (D - D0).mT @ (D - D0) / 20
        B = W - W0
        rho = lambda V, S: cosine(V.mT @ V, V.mT @ S @ V)  # noqa: E731
        assert entry["c_nfa_cos"] == pytest.approx(rho(B, K), abs=1e-9)
        assert entry["double_centered_nfa_cos"] == pytest.approx(rho(B, K_bar), abs=1e-9)
        assert entry["ptk_centered_nfa_cos"] == pytest.approx(rho(W0, K_bar), abs=1e-9)
        np.testing.assert_allclose(report.matrix(entry["layer"], "ptk_change"), K_bar.numpy(), atol=1e-12)
        np.testing.assert_allclose(
            report.matrix(entry["layer"], "nfm_change"), (W.mT @ W - W0.mT @ W0).numpy(), atol=1e-12
        )


def test_initial_weights_equal_to_the_present_give_no_centred_numbers():
    model = seeded(mlp)
    report = inspect(model, X, initial=model.state_dict())
    assert all(math.isnan(entry["c_nfa_cos"]) for entry in report.rows)
    with pytest.raises(ValueError, match="initial has no entry"):
        inspect(model, X, initial={})
    with pytest.raises(ValueError, match="another shape"):
        inspect(model, X, initial={k: v[..., :1] for k, v in model.state_dict().items()})


def test_corrupted_nfa_keeps_the_spectrum_and_is_reproducible():
    report = full()
    assert report.corrupted_nfa("0", seed=1) == report.corrupted_nfa("0", seed=1)
    assert report.corrupted_nfa("0", seed=1) != report.corrupted_nfa("0", seed=2)
    assert 0 < report.corrupted_nfa("0") < 1


def test_similarity_names_its_mistakes():
    report = full()
    for arguments, words in [
        (("0", "nfm", "ptk"), "no common size"),
        (("0", "nfm", "agop", 0.0), "power must be positive"),
        (("0", "nfm", "vcs", 0.5), "only power=1"),
    ]:
        with pytest.raises(ValueError, match=words):
            report.similarity(*arguments)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        report.spectrum("0", "fact")
    assert report.similarity("0", "nfm", "fact", power=0.5) == pytest.approx(
        cosine(
            torch.from_numpy(report.matrix("0", "nfm")),
            psd_power(torch.from_numpy(report.matrix("0", "fact_polar")), 0.5),
        )
    )


def test_every_psd_matrix_has_a_spectrum():
    report = full()
    for layer in report.layers:
        for name in PSD:
            values = np.linalg.eigvalsh(report.matrix(layer, name))[::-1]
            found = report.spectrum(layer, name)
            np.testing.assert_allclose(found, values[: len(found)], atol=1e-9 * values[0])
            assert np.all(np.abs(values[len(found) :]) <= 1e-9 * values[0])


def test_spectra_and_directions():
    report = full()
    values, vectors = np.linalg.eigh(report.matrix("0", "agop"))
    np.testing.assert_allclose(
        report.spectrum("0", "agop"), values[::-1][: len(report.spectrum("0", "agop"))], atol=1e-12
    )
    found = report.directions("0", "agop", 2)
    np.testing.assert_allclose(np.abs(found @ vectors[:, ::-1][:, :2]), np.eye(2), atol=1e-7)
    assert all(row[np.abs(row).argmax()] > 0 for row in found)


def test_tables_show_what_was_measured():
    report = full()
    frame = report.to_pandas()
    assert list(frame.index) == report.layers
    assert set(report.describe()) == {"layer", *frame.columns}
    text, page = str(report), report._repr_html_()
    for words in ("FACT", "C-NFA", "NC1", "20 samples", "cross_entropy"):
        assert words in text
        assert words in page
    assert 'title="‖FACT − WᵀW‖ / ‖WᵀW‖: 0 at a stationary point"' in page
    plain = inspect(seeded(mlp), X)
    assert "FACT" not in str(plain)
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(report)
    assert "FACT" in console.export_text()
    narrow = Console(width=70, record=True, file=io.StringIO())
    narrow.print(report)
    text = narrow.export_text()
    assert "…" not in text
    for words in ("NFA s=½", "FACT", "imbalance"):
        assert words in text
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 70
    assert repr(report) == "FeatureReport(3 layers, 20 samples)"
    flat = report.metrics("net/")
    assert flat["net/0/fact_cos"] == report.rows[0]["fact_cos"]
    assert all(isinstance(value, float) and not math.isnan(value) for value in flat.values())


def test_html_is_escaped():
    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            self.add_module("<b>", nn.Linear(5, 2))

        def forward(self, x):
            return self._modules["<b>"](x)

    page = inspect(seeded(Bad), X)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_plots_draw_every_layer():
    report = full()
    figure = report.plot()
    assert len(figure.axes) == 4
    lines = {line.get_label() for line in figure.axes[0].lines}
    assert {"FACT", "AGOP^½", "C-NFA"} <= lines
    assert len(figure.axes[0].lines[0].get_xdata()) == 3
    assert len(inspect(seeded(mlp), X).plot().axes) == 3
    deep = seeded(lambda: nn.Sequential(*(nn.Linear(5, 5) for _ in range(9))))
    assert "number" in inspect(deep, X).plot().axes[0].get_xlabel()
    one = report.plot("0")
    assert len(one.axes) == 6
    assert "cos" in one.axes[1].get_title()
    tokens = torch.randint(0, 11, (6, 4), generator=torch.Generator().manual_seed(1))
    assert inspect(seeded(Block), tokens).plot("embed").axes
