"""The row of a layer agrees with its matrices and with the definitions of the centred alignments."""

import math

import numpy as np
import pytest
import torch

from gramian.core import cosine, pearson, psd_power
from gramian.nets import inspect
from gramian.nets.columns import COLUMNS
from nets.models import INPUTS, full_report, mlp, seeded


def test_rows_agree_with_the_matrices():
    report = full_report()
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
    report = full_report(model, start)

    def tangents(net, layer):
        """∂f/∂z of every sample and output by autograd, (n · c, m)."""
        h = net[:layer](INPUTS).detach()
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
    report = inspect(model, INPUTS, initial=model.state_dict())
    assert all(math.isnan(entry["c_nfa_cos"]) for entry in report.rows)
    with pytest.raises(ValueError, match="initial has no entry"):
        inspect(model, INPUTS, initial={})
    with pytest.raises(ValueError, match="another shape"):
        inspect(model, INPUTS, initial={k: v[..., :1] for k, v in model.state_dict().items()})
