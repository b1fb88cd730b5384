"""The detector is the best combination of layers, calibrated, with sets that cover."""

import numpy as np
import pytest
import torch

from gramian.concepts.detector import fit_detector
from gramian.concepts.scores import auc


def sample(n=300, layers=4, c=1, seed=0):
    rng = torch.Generator().manual_seed(seed)
    if c == 1:
        Y = (torch.rand(n, 1, generator=rng) > 0.4).float()
    else:
        Y = torch.eye(c)[torch.randint(c, (n,), generator=rng)]
    noise = torch.linspace(0.6, 3.0, layers)
    outputs = Y[:, None, :] + noise[:, None] * torch.randn(n, layers, c, generator=rng)
    rows = torch.arange(n)
    return outputs, Y, [(rows[rows % 5 != k], rows[rows % 5 == k]) for k in range(5)]


@pytest.mark.parametrize("c", [1, 3])
def test_probabilities_beat_each_layer_and_are_calibrated(c):
    outputs, Y, folds = sample(c=c)
    detector = fit_detector(outputs, Y, folds)
    assert bool((detector.weights > 0).all())
    assert bool((detector.weights[:-1] > detector.weights[1:]).all())  # noisier layers count less
    new, truth, _ = sample(n=2000, c=c, seed=1)
    p = detector.probabilities(new[:, list(detector.layers)])
    assert auc(p, truth) > max(auc(new[:, layer], truth) for layer in range(4))
    torch.testing.assert_close(p.mean(dim=0), truth.double().mean(dim=0), atol=0.05, rtol=0)
    high = p[:, 0] > 0.8
    assert float(truth[high, 0].mean()) == pytest.approx(float(p[high, 0].mean()), abs=0.08)


def test_sets_cover_and_widen_with_the_coverage():
    outputs, Y, folds = sample(c=3)
    detector = fit_detector(outputs, Y, folds)
    new, truth, _ = sample(n=2000, c=3, seed=1)
    missing = 1 - detector.probabilities(new[:, list(detector.layers)])[truth.bool()]
    for coverage in (0.7, 0.9):
        assert float((missing <= detector.tolerance(coverage)).double().mean()) == pytest.approx(coverage, abs=0.06)
    with pytest.raises(ValueError, match="coverage"):
        detector.tolerance(1.5)


def test_a_row_does_not_see_its_own_label():
    outputs, Y, folds = sample(n=50)
    detector = fit_detector(outputs, Y, folds)
    changed = Y.clone()
    changed[folds[0][1]] = 1 - changed[folds[0][1]]
    other = fit_detector(outputs, changed, folds)
    # The penalty may change, so probabilities are compared by their order.
    ranks = [np.argsort(np.argsort(d.held_out[folds[0][1], 0].numpy())) for d in (detector, other)]
    assert np.corrcoef(ranks)[0, 1] > 0.9


def test_layers_without_use_leave_the_share_of_the_classes():
    outputs, Y, folds = sample()
    detector = fit_detector(-outputs, Y, folds)  # only negative weights would help
    p = detector.probabilities(-outputs[:, list(detector.layers)])
    torch.testing.assert_close(p, torch.full_like(p, float(Y.mean())), atol=1e-2, rtol=0)


def test_misfits_of_grades_are_distances():
    outputs, _, folds = sample()
    grades = torch.rand(300, 1, generator=torch.Generator().manual_seed(3))
    detector = fit_detector(outputs, grades, folds, graded=True)
    torch.testing.assert_close(detector.misfit, (detector.held_out - grades).abs().squeeze(1).double())
