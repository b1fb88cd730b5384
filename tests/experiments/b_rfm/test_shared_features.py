"""Fig. 2: what is compared between two feature matrices."""

import torch

from gramian.core import pearson
from gramian.experiments.b_rfm.picture_models import NetworkTraining
from gramian.experiments.b_rfm.shared_features import PairTasks, leading, matched_and_crossed, on_sphere


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
    matched, crossed = matched_and_crossed(networks, machines)
    assert matched[0] > 0.999
    assert matched[1] > 0.999
    assert len(crossed) == 6
    assert crossed[1] == abs(pearson(networks[0], machines[2]))


def test_rows_of_a_task_are_on_the_sphere_and_balanced():
    spec = PairTasks("made", ((0, 4),), 12, 5, 8, 50, NetworkTraining())
    X, Y, _ = on_sphere(spec, (0, 4), "train", torch.Generator().manual_seed(0))
    torch.testing.assert_close(X.norm(dim=1), torch.ones(24), rtol=1e-5, atol=0)
    assert Y.sum(0).tolist() == [12, 12]
    assert len(on_sphere(spec, (0, 4), "test", torch.Generator().manual_seed(0))[2]) == 10
