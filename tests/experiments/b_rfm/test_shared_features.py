"""Fig. 2: what is compared between two feature matrices."""

import pytest
import torch

from gramian.core import pearson
from gramian.experiments.b_rfm.picture_models import NetworkTraining
from gramian.experiments.b_rfm.shared_features import (
    PairTasks,
    features,
    leading,
    leads,
    matched_and_crossed,
    on_sphere,
    unsigned_pearson,
)


def test_the_leading_eigenvector_of_a_rank_one_matrix_is_its_factor():
    rng = torch.Generator().manual_seed(0)
    v = torch.randn(6, generator=rng, dtype=torch.float64)
    v /= v.norm()
    w = torch.randn(6, generator=rng, dtype=torch.float64)
    w -= (w @ v) * v
    found = leading(5 * torch.outer(v, v) + 2 * torch.outer(w, w) / w.square().sum())
    assert abs(abs(float(found.vector @ v)) - 1) < 1e-10
    assert abs(found.gap - 2.5) < 1e-10


def test_signs_of_eigenvectors_do_not_matter_and_tasks_are_crossed_both_ways():
    rng = torch.Generator().manual_seed(1)
    networks = [torch.randn(30, generator=rng) for _ in range(3)]
    machines = [-networks[0], networks[1], torch.randn(30, generator=rng)]
    matched, crossed = matched_and_crossed(networks, machines, unsigned_pearson)
    assert matched[0] > 0.999
    assert matched[1] > 0.999
    assert len(crossed) == 6
    assert crossed[1] == abs(pearson(networks[0], machines[2]))


def test_opposite_diagonals_have_a_negative_correlation():
    a, b = torch.arange(4.0), torch.tensor([1.0, 0, 0, 2.0])
    matched, crossed = matched_and_crossed([a, b], [3 - a, b])
    assert matched == pytest.approx([-1, 1])
    assert crossed == [pearson(a, b), pearson(b, 3 - a)]
    assert crossed[0] > 0 > crossed[1]


def test_leads_are_those_of_rfm_and_of_its_refit_over_the_network():
    spec = {"data": "made", "pairs": [[0, 4]]}
    numbers = {"made/0-4/accuracy/rfm": 0.7, "made/0-4/accuracy/rfm-t": 0.9, "made/0-4/accuracy/nn": 0.8}
    found = leads([{"spec": spec, "numbers": numbers}])
    assert found == pytest.approx({"made/0-4/lead/rfm": -0.1, "made/0-4/lead/rfm-t": 0.1})


def test_diagonals_of_both_models_agree_more_on_one_task_than_across_tasks():
    spec = PairTasks("made", ((0, 4), (2, 7)), 30, 20, 8, 50, NetworkTraining(width=32, epochs=40))
    numbers = features(spec, 0).numbers
    assert numbers["made/diagonal/beyond"] == numbers["made/diagonal/matched"] - numbers["made/diagonal/crossed"] > 0
    assert numbers["made/0-4/accuracy/rfm-t"] > 0.9


def test_rows_of_a_task_are_on_the_sphere_and_balanced():
    spec = PairTasks("made", ((0, 4),), 12, 5, 8, 50, NetworkTraining())
    X, Y, _ = on_sphere(spec, (0, 4), "train", torch.Generator().manual_seed(0))
    torch.testing.assert_close(X.norm(dim=1), torch.ones(24), rtol=1e-5, atol=0)
    assert Y.sum(0).tolist() == [12, 12]
    assert len(on_sphere(spec, (0, 4), "test", torch.Generator().manual_seed(0))[2]) == 10
