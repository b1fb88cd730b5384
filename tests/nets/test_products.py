"""Parameters that modules multiply by themselves: products are measured, other uses are skipped with a reason."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gramian.nets import inspect
from gramian.nets.products import WeightUses
from nets.models import Experts, Mixture, Router, seeded

X = torch.randn(10, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


class Square(torch.autograd.Function):
    """x W² by hand, which no torch function shows."""

    @staticmethod
    def forward(ctx, x, W):
        ctx.save_for_backward(x, W)
        return x @ (W * W)

    @staticmethod
    def backward(ctx, gradient):
        x, W = ctx.saved_tensors
        return gradient @ (W * W).mT, 2 * W * (x.mT @ gradient)


class Used(nn.Module):
    """A square parameter that is used by a function of the test."""

    def __init__(self, use):
        super().__init__()
        self.W, self.use = nn.Parameter(torch.randn(4, 4)), use
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.use(x, self.W).tanh())


REFUSED = {
    "hidden use": (lambda x, W: x @ W + Square.apply(x, W), "also used in another way"),
    "both orientations": (lambda x, W: x @ W @ W.mT, "'matmul'"),
    "a part": (lambda x, W: F.pad(x @ W[:, :3], (0, 1)), "'matmul'"),
    "parts": (lambda x, W: torch.cat([x @ part for part in W.chunk(2, 1)], 1), "'matmul'"),
    "a function of it": (lambda x, W: x @ W.exp(), "'exp'"),
    "added": (lambda x, W: x + W[0], "'add'"),
    "joined": (lambda x, W: torch.cat([x[:, :3], W[:1, :1].expand(len(x), 1)], 1), "'cat'"),
    "vmap": (lambda x, W: torch.vmap(lambda row: row @ W)(x), "'matmul'"),
    "hidden only": (lambda x, W: Square.apply(x, W), "not torch's"),
    "its own input": (lambda x, W: x + (W @ W).sum(0), "'matmul'"),
    "an input of a layer": (lambda x, W: x + F.linear(W, torch.ones(4, 4).to(W)).sum(0), "'linear'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_uses_are_skipped_with_the_function(name):
    use, words = REFUSED[name]
    report = inspect(seeded(lambda: Used(use)), X)
    assert report.layers == ["head"]
    assert words in report.skipped["W"]


MEASURED = {
    "matmul": lambda x, W: x @ W.mT,
    "linear": lambda x, W: F.linear(input=x, weight=W),
    "from the left": lambda x, W: (W @ x.mT).mT,
    "vector by vector": lambda x, W: torch.stack([W @ row for row in x]),
    "mm": lambda x, W: x.mm(W.T),
    "addmm": lambda x, W: torch.addmm(torch.ones(4).to(W), x, W.t()),
    "einsum": lambda x, W: torch.einsum("ni,oi->no", x, W),
    "einsum, transposed view": lambda x, W: torch.einsum("io,ni->no", W.mT, x),
    "expanded": lambda x, W: torch.bmm(x[:, None], W.mT.expand(len(x), 4, 4))[:, 0],
    "in place after": lambda x, W: (x @ W.mT)[:, None].add_(1)[:, 0],
    "cast to its own type": lambda x, W: x @ W.to(x.dtype).contiguous().mT,
    "in two products": lambda x, W: x @ W.mT + (x.sin() @ W.mT).cos(),
}


@pytest.mark.parametrize("name", MEASURED)
def test_every_spelling_of_a_product_is_that_of_a_linear_layer(name):
    use = MEASURED[name]
    model = seeded(lambda: Used(use))
    y = X[:, :2]
    found = inspect(model, (X, y), "mse", weight_decay=0.1, batch_size=3)
    G = torch.autograd.grad(F.mse_loss(model(X), y), model.W)[0]
    np.testing.assert_allclose(found.matrix("W", "fact"), -10 * (model.W.mT @ G).detach(), rtol=1e-9, atol=1e-14)
    if name == "in two products":
        return
    J = torch.stack([torch.autograd.functional.jacobian(lambda x: model(x[None])[0], x) for x in X])
    agop = torch.einsum("nck,ncl->kl", J, J) / len(X)
    np.testing.assert_allclose(found.matrix("W", "agop"), agop, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.matrix("W", "nfm"), (model.W.mT @ model.W).detach(), rtol=1e-12)


def test_a_product_of_two_parameters_has_no_layer():
    class Low(nn.Module):
        def __init__(self):
            super().__init__()
            self.A, self.B = nn.Parameter(torch.randn(4, 2)), nn.Parameter(torch.randn(2, 4))
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head((x @ (self.A @ self.B)).tanh())

    report = inspect(seeded(Low), X)
    assert report.layers == ["head"]
    assert all("'matmul'" in report.skipped[name] for name in "AB")


def test_a_product_in_another_precision_is_measured():
    model = seeded(lambda: Used(lambda x, W: F.linear(x.float(), W.type(torch.float32)).double()))
    plain = seeded(lambda: Used(F.linear))
    one, two = inspect(model, X), inspect(plain, X)
    assert one.layers == two.layers == ["W", "head"]
    np.testing.assert_allclose(one.matrix("W", "agop"), two.matrix("W", "agop"), rtol=1e-4, atol=1e-6)


def test_features_of_a_plain_product_are_read():
    rows = inspect(seeded(lambda: nn.Sequential(Router(), nn.Linear(3, 2))), (X, torch.arange(10) % 2)).rows
    assert [entry["layer"] for entry in rows] == ["0.kernel", "1"]
    assert not math.isnan(rows[0]["target_linearity"])


def test_a_parameter_that_the_first_batch_does_not_use():
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.W, self.head = nn.Parameter(torch.randn(4, 3)), nn.Linear(3, 2)

        def forward(self, x):
            return self.head((x @ self.W).tanh()) if x.sum() > 0 else self.head(x[:, :3])

    rows = X[X.sum(1) > 0]
    model = seeded(Late)
    late, alone = inspect(model, [-rows.abs(), rows.abs()]), inspect(model, rows.abs())
    np.testing.assert_allclose(late.matrix("W", "agop"), alone.matrix("W", "agop") / 2, rtol=1e-10)


def test_a_weight_that_is_used_outside_its_module_has_no_gradient_of_one_use():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body = nn.Embedding(7, 4), nn.Linear(4, 4)

        def forward(self, ids):
            return F.linear(self.body(self.embed(ids)).tanh().mean(1), self.embed.weight)

    ids = torch.randint(0, 7, (9, 3), generator=torch.Generator().manual_seed(1))
    model, labels = seeded(Tied), torch.arange(9) % 7
    for batch_size in (9, 1):
        report = inspect(model, (ids, labels), "cross_entropy", weight_decay=0.1, batch_size=batch_size)
        with pytest.raises(ValueError, match="a use outside its module"):
            report.matrix("embed", "vcs")
        G = torch.autograd.grad(F.cross_entropy(model(ids), labels), model.embed.weight)[0]
        np.testing.assert_allclose(
            report.matrix("embed", "fact"), -10 * (model.embed.weight @ G.mT).detach(), rtol=1e-9, atol=1e-14
        )
        assert report.matrix("body", "vcs").shape == (4, 4)


def test_routed_rows_have_no_change_since_initialisation():
    inputs = X.reshape(5, 2, 4)
    report = inspect(seeded(Mixture), inputs, initial=seeded(Mixture, seed=3))
    with pytest.raises(ValueError, match="routed"):
        report.matrix("experts.up", "ptk_change")
    assert report.matrix("experts.up", "nfm_change").shape == (12, 12)
    assert report.matrix("router.kernel", "ptk_change").shape == (3, 3)
    assert all(np.isfinite(entry["nfa_cos"]) for entry in report.rows)


def test_an_expert_without_rows_has_no_gradients():
    model = seeded(lambda: Mixture("loop"))
    with torch.no_grad():
        model.router.shift[1] -= 1000
    agop = inspect(model, X.reshape(5, 2, 4)).matrix("experts.up", "agop")
    assert not agop[4:8, 4:8].any()
    assert agop[:4, :4].any()


def test_experts_of_transformers_run_as_a_loop_while_they_are_measured():
    class Fused(Experts):
        """The form of transformers: a configuration chooses the kernel."""

        def __init__(self):
            super().__init__("linear")
            self.config = SimpleNamespace(_experts_implementation="grouped_mm")

        def forward(self, x, chosen, weights):
            kinds.append(self.config._experts_implementation)
            return super().forward(x, chosen, weights)

    kinds = []
    model = seeded(Mixture)
    fused = seeded(Fused)
    fused.load_state_dict(model.experts.state_dict())
    inputs, model.experts = X.reshape(5, 2, 4), fused
    report = inspect(model, inputs)
    assert set(kinds) == {"eager"}
    assert fused.config._experts_implementation == "grouped_mm"
    np.testing.assert_allclose(
        report.matrix("experts.down", "agop"),
        inspect(seeded(Mixture), inputs).matrix("experts.down", "agop"),
        rtol=1e-10,
    )


@pytest.mark.parametrize("own", [False, True])
def test_the_forward_method_of_the_module_is_restored(own):
    model = seeded(lambda: nn.Sequential(Router(), nn.Linear(3, 2)))
    if own:
        patched = model[0].forward
        model[0].forward = patched
    model[1].register_forward_hook(lambda *ignored: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        inspect(model, X)
    assert vars(model[0]).get("forward") is (patched if own else None)
    assert torch._C._len_torch_function_stack() == 0


def test_uses_of_a_weight_are_counted():
    weight = nn.Parameter(torch.ones(2, 2))
    with WeightUses([weight]) as uses:
        view = weight.mT
        _ = torch.ones(1, 2) @ view, weight.detach() + 1, weight.size(0), torch.cat([weight, weight])
    assert uses.count(weight) == 3
