"""Paper D's experiments: they run on made data and draw, no two cells are the same, and their pieces are right."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

import gramian.experiments.d_fact  # noqa: F401
from gramian.bench.paper import evaluate, relearned
from gramian.experiments.d_fact import linear, modular, table3
from gramian.experiments.d_fact.separation import adam
from gramian.experiments.registry import experiments
from gramian.experiments.store import Cell
from gramian.theory import Separation, minimise, random_start

PAPER_D = [e for e in experiments() if e.paper == "D"]


@pytest.fixture(scope="module")
def smoke():
    """Every experiment at smoke scale, once, where there is no data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRAMIAN_DATA", "nowhere")
        return {e.id: [(spec, e.run(spec, 0)) for spec in e.specs["smoke"]] for e in PAPER_D}


def test_all_artefacts_are_there():
    ids = {e.id for e in PAPER_D}
    assert ids >= {f"d/fig{i}" for i in (1, 3, 4, 5, 6, 7, 8, 11)} | {"d/table2", "d/table3", "d/lemma-d2"}
    titles = " ".join(e.title for e in PAPER_D)
    assert all(name in titles for name in ("Tables 1 and 2", "Fig. 3 and 9", "Fig. 8 and 10"))


def test_smoke_needs_no_data_and_draws(smoke):
    for e in PAPER_D:
        results = smoke[e.id]
        assert all(np.isfinite(list(result.numbers.values())).all() for _, result in results), e.id
        if e.draw is not None:
            records = [
                Cell(e, spec, 0).head() | {"numbers": dict(result.numbers), "arrays": dict(result.arrays)}
                for spec, result in results
            ]
            figure = Figure(layout="constrained")
            e.draw(records, figure)
            assert figure.axes, e.id


def test_cells_differ():
    keys = [Cell(e, spec, 0).key for e in PAPER_D for spec in dict.fromkeys(s for g in e.specs.values() for s in g)]
    assert len(keys) == len(set(keys))


def test_adam_goes_where_lbfgs_goes():
    task = Separation(weight_decay=1e-5)
    start = random_start(torch.Generator().manual_seed(0))
    slow, fast = adam(task, start, 12_000), minimise(task, start)
    assert slow.loss == pytest.approx(fast.loss, rel=0.03)


def test_linear_step_is_torch_sgd():
    """Batches through their moments give the same weights as autograd on the rows."""
    spec = linear.Linear(3, width=7, epochs=2, n=60, d=4, c=3, batch=16)
    ours, X, Y = linear.train(spec, torch.Generator().manual_seed(0))
    rng = torch.Generator().manual_seed(0)
    torch.randn(60, 4, generator=rng), torch.randn(3, 4, generator=rng)
    weights = [
        torch.empty(b, a).uniform_(-(a**-0.5), a**-0.5, generator=rng).requires_grad_()
        for a, b in ((4, 7), (7, 7), (7, 3))
    ]
    optimizer = torch.optim.SGD(weights, lr=spec.rate, weight_decay=spec.weight_decay)
    for _ in range(2):
        for rows in torch.randperm(60, generator=rng).split(16):
            optimizer.zero_grad()
            f = X[rows] @ weights[0].mT @ weights[1].mT @ weights[2].mT
            torch.nn.functional.mse_loss(f, Y[rows]).backward()
            optimizer.step()
    for a, b in zip(ours, weights, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-4, atol=1e-6)


def test_circulant_share_by_chance_and_by_law():
    rng = torch.Generator().manual_seed(0)
    p = 31
    noise = torch.randn(p, p, generator=rng, dtype=torch.float64)
    assert modular.circulant_share(noise) == pytest.approx(1 / p, abs=0.03)
    first = torch.randn(p, generator=rng, dtype=torch.float64)
    i = torch.arange(p)
    circulant = first[(i[:, None] - i) % p]
    assert modular.circulant_share(circulant) == pytest.approx(1)
    assert modular.circulant_share(circulant.flip(1)) < 0.2


def test_relearning_without_features_changes_nothing():
    """Kernel regression learns no M, so the honest protocol gives its folds the same scores as the paper's."""
    data = table3._read("iris (scikit-learn)")
    outcome = evaluate(data, "paper-laplace")
    assert relearned(data, "paper-laplace", outcome.choice) == pytest.approx(outcome.scores)


def test_relearned_features_come_from_the_fold():
    """With round 0 chosen there is no M to learn either; otherwise scores may change, and are accuracies."""
    data = table3._read("iris (scikit-learn)")
    outcome = evaluate(data, "paper-rfm")
    scores = relearned(data, "paper-rfm", outcome.choice)
    assert len(scores) == 4
    assert all(0.8 < score <= 1 for score in scores)
