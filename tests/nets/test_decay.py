"""Weight decay as a number, by name and from optimisers; the stationarity condition of each."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import Monitor, inspect
from gramian.optim import GramWhitened
from nets.models import mlp, seeded

G = torch.Generator().manual_seed(5)
X = torch.randn(10, 5, generator=G, dtype=torch.float64)
Y = torch.randn(10, 3, generator=G, dtype=torch.float64)


def gradient(model, loss):
    return torch.autograd.grad(loss(model(X)), model[0].weight)[0]


def fact_of(model, loss, target, lam=0.2, batch_size=256):
    return inspect(model, (X, target), loss, weight_decay=lam, batch_size=batch_size).matrix("0", "fact")


COUPLED = [torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.NAdam]


@pytest.mark.parametrize("kind", COUPLED)
def test_coupled_optimizers_give_their_weight_decay(kind):
    model = seeded(mlp)
    by_optimizer = fact_of(model, "mse", Y, kind(model.parameters(), lr=0.1, weight_decay=0.2))
    np.testing.assert_array_equal(by_optimizer, fact_of(model, "mse", Y, 0.2))


def test_weight_decay_by_group_and_by_name():
    model = seeded(mlp)
    groups = [
        {"params": model[0].parameters(), "weight_decay": 0.5},
        {"params": model[2].parameters(), "weight_decay": 0.0},
    ]
    report = inspect(model, (X, Y), "mse", weight_decay=torch.optim.SGD(groups, lr=0.1))
    np.testing.assert_allclose(report.matrix("0", "fact"), fact_of(model, "mse", Y, 0.5))
    for layer, words in (("2", "weight decay is 0"), ("4", "does not train this weight")):
        with pytest.raises(ValueError, match=words):
            report.matrix(layer, "fact")
    named = inspect(model, (X, Y), "mse", weight_decay={"0": 0.5})
    np.testing.assert_array_equal(named.matrix("0", "fact"), report.matrix("0", "fact"))
    with pytest.raises(ValueError, match="no entry for layer '2'"):
        named.matrix("2", "fact")


def test_adamw_uses_its_preconditioner():
    model = seeded(mlp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.3)
    report = inspect(model, (X, Y), "mse", weight_decay=optimizer)
    with pytest.raises(ValueError, match="no state yet"):
        report.matrix("0", "fact")
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(X), Y).backward()
        optimizer.step()
    state = optimizer.state[model[0].weight]
    scale = (state["exp_avg_sq"] / (1 - 0.999**3)).sqrt() + 1e-8
    expected = -(model[0].weight.mT @ (gradient(model, lambda f: F.mse_loss(f, Y)) / scale)) / 0.3
    np.testing.assert_allclose(fact_of(model, "mse", Y, optimizer), expected.detach().numpy(), rtol=1e-9)


def test_optimizers_without_a_known_condition_are_refused():
    model = seeded(mlp)

    class Mine(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"weight_decay": 0.1})

    for optimizer in (
        Mine(model.parameters()),
        torch.optim.NAdam(model.parameters(), decoupled_weight_decay=True),
    ):
        with pytest.raises(ValueError, match="not known"):
            inspect(model, (X, Y), "mse", weight_decay=optimizer)
    with pytest.raises(ValueError, match="maximize"):
        inspect(model, (X, Y), "mse", weight_decay=torch.optim.SGD(model.parameters(), lr=1, maximize=True))
    with pytest.raises(ValueError, match="number ≥ 0"):
        inspect(model, (X, Y), "mse", weight_decay=-1.0)
    report = inspect(model, (X, Y), "mse", weight_decay=torch.optim.LBFGS(model.parameters()))
    with pytest.raises(ValueError, match="has no weight decay"):
        report.matrix("0", "fact")


def test_a_gram_whitened_optimizer_has_the_condition_of_its_base_where_it_whitens_nothing():
    """It was refused as a whole, so that a monitor of such a training had no FACT at all."""
    model = seeded(mlp)
    optimizer = GramWhitened.for_model(model, lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.2))
    report = inspect(model, (X, Y), "mse", weight_decay=optimizer)
    expected = inspect(model, (X, Y), "mse", weight_decay=0.2)
    head = report.layers[-1]
    assert any(p is model[0].weight for p in optimizer.whitened)
    np.testing.assert_array_equal(report.matrix(head, "fact"), expected.matrix(head, "fact"))
    with pytest.raises(ValueError, match="symmetric part of FACT"):
        report.matrix("0", "fact")
    F.mse_loss(model(X), Y).backward()
    assert f"{head}/fact_cos" in Monitor(model, (X, Y), "mse", optimizer=optimizer).step()


def test_a_stationary_point_of_gram_whitened_descent_has_the_symmetric_part_of_fact():
    """Where the Gram does not move, sym(Wᵀ(∇L + λW)) = O(η); the other part need not vanish. W is made such a point:
    its gradient is a rotation generator times W."""
    g = torch.Generator().manual_seed(0)
    W0 = torch.randn(5, 4, generator=g, dtype=torch.float64)
    skew = torch.randn(5, 5, generator=g, dtype=torch.float64)
    total = (skew - skew.mT) @ W0  # ∇L + λW
    for rate in (1e-3, 1e-4):
        W = nn.Parameter(W0.clone())
        W.grad = total.clone()
        GramWhitened(torch.optim.SGD([W], lr=rate)).step()
        plain = rate * total.norm()
        assert (W.detach() - W0).norm() < 20 * rate * plain, "second order: the whitened step stays"
    product = W0.mT @ total
    assert (product + product.mT).norm() < 1e-12
    assert product.norm() > 1


def data(n=6, d=5):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_parametrised_weight_is_read_but_has_no_fact():
    model = seeded(lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(5, 4)), nn.Linear(4, 3)))
    y = data(6, 3)
    report = inspect(model, (data(), y), "mse", weight_decay=0.1)
    W = model[0].weight.detach()
    np.testing.assert_allclose(report.matrix("0", "nfm"), (W.mT @ W).numpy(), rtol=1e-10)
    K = report.matrix("0", "ptk")
    np.testing.assert_allclose(report.matrix("0", "agop"), W.mT.numpy() @ K @ W.numpy(), rtol=1e-10)
    with pytest.raises(ValueError, match="parametrisation"):
        report.matrix("0", "fact")
    assert report.matrix("1", "fact").shape == (4, 4)
    with pytest.raises(ValueError, match="initial: the weights of"):
        inspect(model, data(), initial=model.state_dict())


def test_fact_at_rest_for_adamw(rng):
    """Decoupled decay: the preconditioned FACT holds, the plain one does not."""
    model = seeded(lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    X = torch.randn(40, 4, generator=rng, dtype=torch.float64)
    y = X[:, :1] * X[:, 1:2]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1, eps=0.1, betas=(0.9, 0.99))
    for t in range(4000):
        for group in optimizer.param_groups:
            group["lr"] = 3e-2 * 0.999**t + 1e-3
        optimizer.zero_grad()
        F.mse_loss(model(X), y).backward()
        optimizer.step()
    handled = inspect(model, (X, y), "mse", weight_decay=optimizer)
    plain = inspect(model, (X, y), "mse", weight_decay=0.1)
    for entry, naive in zip(handled.rows, plain.rows, strict=True):
        assert entry["fact_cos"] >= 0.999
        assert entry["fact_residual"] <= 0.05 < naive["fact_residual"]
