"""The optimiser wrapper: its laws, and that it behaves as a torch optimiser."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gramian.optim import GramWhitened

# Newton–Schulz must get there by itself: a silent success of its fallback would test the SVD twice.
pytestmark = pytest.mark.filterwarnings("error:Newton")

METHODS = ["svd", "newton-schulz"]
BASES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-2),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}


def mlp(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 4), nn.Tanh(), nn.Linear(4, 1)).double()


def data(seed=1, n=64):
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, 6, generator=g, dtype=torch.float64)
    return X, (X[:, :1] * X[:, 1:2]).tanh()


def loss_of(net, X, y):
    return (net(X) - y).square().mean()


def one_step(net, optimizer, X, y):
    optimizer.zero_grad()
    loss = loss_of(net, X, y)
    loss.backward()
    optimizer.step()
    return loss.item()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_each_step_has_the_bases_gram_and_is_nearer_the_start(base, method):
    X, y = data()
    whitened, plain = mlp(), mlp()
    start = [p.detach().clone() for p in plain.parameters()]
    one_step(whitened, GramWhitened(BASES[base](whitened.parameters()), method=method), X, y)
    one_step(plain, BASES[base](plain.parameters()), X, y)
    for W0, W, P in zip(start, whitened.parameters(), plain.parameters(), strict=True):
        if W.ndim == 1:
            assert torch.equal(W, P), "a bias gets the base's step as it is"
        else:
            assert_close(W.mT @ W, P.mT @ P, atol=1e-11, rtol=0)
            assert (W - W0).norm() <= (P - W0).norm() + 1e-12
    assert not torch.equal(whitened[0].weight, plain[0].weight), "the step was rotated"


@pytest.mark.parametrize("method", METHODS)
def test_convolution_weights_are_flattened_to_out_by_in(method):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Conv2d(3, 4, 2).double()
    plain = copy.deepcopy(net)
    X = torch.randn(5, 3, 6, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for model, wrap in ((net, lambda b: GramWhitened(b, method=method)), (plain, lambda b: b)):
        optimizer = wrap(torch.optim.SGD(model.parameters(), lr=0.1))
        model(X).square().mean().backward()
        optimizer.step()
    W, P = net.weight.flatten(1), plain.weight.flatten(1)
    assert W.shape == (4, 12)
    assert_close(W.mT @ W, P.mT @ P, atol=1e-12, rtol=0)
    assert torch.equal(net.bias, plain.bias)


def test_memory_layout_does_not_matter():
    """A channels-last convolution weight has other strides and must get the same step."""
    results = []
    for layout in (torch.contiguous_format, torch.channels_last):
        g = torch.Generator().manual_seed(0)
        start = torch.randn(4, 3, 2, 2, generator=g, dtype=torch.float64).contiguous(memory_format=layout)
        W = nn.Parameter(start)
        optimizer = GramWhitened(torch.optim.SGD([W], lr=0.1))
        (W * torch.randn(4, 3, 2, 2, generator=g, dtype=torch.float64)).sum().backward()
        optimizer.step()
        results.append(W.detach().contiguous())
    assert_close(results[0], results[1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("base", ["momentum", "adam"])
def test_training_works_about_as_well_as_the_base(base):
    """Paper E, Fig. 2: the Gram-changing part of the step suffices. Both must cut the loss tenfold here."""
    X, y = data(n=128)
    for wrap in (lambda b: b, GramWhitened):
        net = mlp()
        optimizer = wrap(BASES[base](net.parameters()))
        first = loss_of(net, X, y).item()
        for _ in range(150):
            one_step(net, optimizer, X, y)
        assert loss_of(net, X, y).item() < first / 10


def test_only_chosen_parameters_are_whitened():
    X, y = data()
    net, plain = mlp(), mlp()
    one_step(net, GramWhitened(BASES["sgd"](net.parameters()), whiten=[net[2].weight]), X, y)
    one_step(plain, BASES["sgd"](plain.parameters()), X, y)
    same = [torch.equal(a, b) for a, b in zip(net.parameters(), plain.parameters(), strict=True)]
    assert same == [True, True, False, True, True, True]


def test_frozen_and_gradientless_weights_keep_their_bits():
    X, y = data()
    net = mlp()
    net[0].weight.requires_grad_(False)
    before = net[0].weight.clone()
    one_step(net, GramWhitened(BASES["sgd"](net.parameters())), X, y)
    assert torch.equal(net[0].weight, before)


@pytest.mark.parametrize("method", METHODS)
def test_a_zero_weight_can_leave_zero(method):
    W = nn.Parameter(torch.zeros(3, 6, dtype=torch.float64))
    optimizer = GramWhitened(torch.optim.SGD([W], lr=0.5), method=method)
    X, _ = data()
    Y = X[:, :3]
    for _ in range(200):
        optimizer.zero_grad()
        (X @ W.mT - Y).square().mean().backward()
        optimizer.step()
    assert (X @ W.mT - Y).square().mean() < 1e-3


@pytest.mark.parametrize("base", ["momentum", "adam"])
def test_state_dict_round_trip_continues_the_same_run(base):
    X, y = data()
    net = mlp()
    optimizer = GramWhitened(BASES[base](net.parameters()))
    for _ in range(3):
        one_step(net, optimizer, X, y)
    buffer = io.BytesIO()
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    buffer.seek(0)
    saved = torch.load(buffer, weights_only=True)
    other = mlp(seed=5)
    resumed = GramWhitened(BASES[base](other.parameters()))
    other.load_state_dict(saved["net"])
    resumed.load_state_dict(saved["optimizer"])
    for _ in range(3):
        one_step(net, optimizer, X, y)
        one_step(other, resumed, X, y)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


def test_state_dict_is_the_bases_and_loads_either_way():
    X, y = data()
    net = mlp()
    optimizer = GramWhitened(BASES["adam"](net.parameters()))
    one_step(net, optimizer, X, y)
    plain = BASES["adam"](mlp().parameters())
    plain.load_state_dict(optimizer.state_dict())
    again = GramWhitened(BASES["adam"](mlp().parameters()))
    again.load_state_dict(plain.state_dict())
    first = next(iter(optimizer.state_dict()["state"].values()))["exp_avg"]
    assert torch.equal(next(iter(again.state_dict()["state"].values()))["exp_avg"], first)
    assert again.state is again.base.state


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_copies_step_alike(how):
    X, y = data()
    net = mlp()
    optimizer = GramWhitened(BASES["adam"](net.parameters()), whiten=[net[0].weight], method="newton-schulz")
    one_step(net, optimizer, X, y)
    # Model and optimiser are copied together, so that they still share their parameters.
    pair = (net, optimizer)
    other, twin = pickle.loads(pickle.dumps(pair)) if how == "pickle" else copy.deepcopy(pair)
    assert twin.method == "newton-schulz"
    assert twin.whitened[0] is other[0].weight
    one_step(net, optimizer, X, y)
    one_step(other, twin, X, y)
    assert torch.equal(net[0].weight, other[0].weight)


def test_closure_with_lbfgs():
    X, y = data()
    net = mlp()
    optimizer = GramWhitened(torch.optim.LBFGS(net.parameters(), max_iter=5))
    calls = []

    def closure():
        optimizer.zero_grad()
        loss = loss_of(net, X, y)
        loss.backward()
        calls.append(loss.item())
        return loss

    first = optimizer.step(closure)
    assert first.item() == calls[0]
    assert len(calls) > 1
    for _ in range(5):
        optimizer.step(closure)
    assert calls[-1] < calls[0]


@pytest.mark.parametrize("make", [
    lambda o: torch.optim.lr_scheduler.StepLR(o, 1, gamma=0.5),
    lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda t: 0.5**t),
    lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
    lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.2, total_steps=10),
])  # fmt: skip
def test_schedulers_drive_the_base(make, recwarn):
    X, y = data()
    net, plain = mlp(), mlp()
    optimizer, twin = GramWhitened(BASES["sgd"](net.parameters())), BASES["sgd"](plain.parameters())
    schedule, twin_schedule = make(optimizer), make(twin)
    for _ in range(4):
        one_step(net, optimizer, X, y)
        schedule.step()
        twin.step()
        twin_schedule.step()
    assert optimizer.base.param_groups[0]["lr"] == twin.param_groups[0]["lr"]
    assert optimizer.base.param_groups[0]["lr"] != 0.1
    assert not [w for w in recwarn if "lr_scheduler" in str(w.message)]


def test_a_plateau_scheduler_lowers_the_rate_of_the_base():
    optimizer = GramWhitened(BASES["sgd"](mlp().parameters()))
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.1)
    for _ in range(3):
        schedule.step(1.0)
    assert optimizer.param_groups[0]["lr"] < 0.1


def test_add_param_group():
    X, y = data()
    net, extra, bias = mlp(), nn.Parameter(torch.eye(3)), nn.Parameter(torch.ones(3))
    optimizer = GramWhitened(BASES["sgd"](net.parameters()))
    optimizer.add_param_group({"params": [extra, bias], "lr": 0.7})
    assert optimizer.base.param_groups[1]["lr"] == 0.7
    assert any(p is extra for p in optimizer.whitened)
    assert not any(p is bias for p in optimizer.whitened)
    other = nn.Parameter(torch.eye(2))
    optimizer.add_param_group({"params": [other]}, whiten=[])
    assert not any(p is other for p in optimizer.whitened)
    with pytest.raises(ValueError, match="two or more dimensions"):
        optimizer.add_param_group({"params": [scale := nn.Parameter(torch.ones(2))]}, whiten=[scale])
    assert len(optimizer.param_groups) == 3, "the refused group is not half added"
    one_step(net, optimizer, X, y)


def test_step_hooks_and_zero_grad():
    X, y = data()
    net = mlp()
    optimizer = GramWhitened(BASES["sgd"](net.parameters()))
    assert isinstance(optimizer, torch.optim.Optimizer)
    seen = []
    pre = optimizer.register_step_pre_hook(lambda *_: seen.append("pre"))
    optimizer.register_step_post_hook(lambda *_: seen.append("post"))
    one_step(net, optimizer, X, y)
    pre.remove()
    one_step(net, optimizer, X, y)
    assert seen == ["pre", "post", "post"]
    optimizer.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert "SGD" in repr(optimizer)


def test_wrapping_keeps_a_base_that_has_already_stepped():
    X, y = data()
    net = mlp()
    base = BASES["adam"](net.parameters())
    one_step(net, base, X, y)
    state = base.state[net[0].weight]["exp_avg"].clone()
    optimizer = GramWhitened(base)
    assert torch.equal(optimizer.state[net[0].weight]["exp_avg"], state)


def test_float32_and_bfloat16_train():
    for dtype in (torch.float32, torch.bfloat16):
        W = nn.Parameter(torch.eye(4, 6, dtype=dtype))
        optimizer = GramWhitened(torch.optim.SGD([W], lr=0.1))
        W.float().sum().square().backward()
        optimizer.step()
        assert W.dtype == dtype
        assert bool(torch.isfinite(W).all())


def test_wrong_arguments_are_refused():
    net = mlp()
    base = BASES["sgd"](net.parameters())
    with pytest.raises(TypeError, match="base_optimizer"):
        GramWhitened(net.parameters())
    with pytest.raises((ValueError, TypeError), match="newton-schulz"):
        GramWhitened(base, method="qr")
    with pytest.raises(ValueError, match="two or more dimensions"):
        GramWhitened(base, whiten=[net[0].bias])
    with pytest.raises(ValueError, match="not one the base optimiser holds"):
        GramWhitened(base, whiten=[nn.Parameter(torch.eye(2))])
    with pytest.raises(TypeError, match=r"whiten=\[weight\]"):
        GramWhitened(base, whiten=net[0].weight)


def test_divergence_is_named():
    W = nn.Parameter(torch.eye(2))
    optimizer = GramWhitened(torch.optim.SGD([W], lr=1.0))
    W.grad = torch.full((2, 2), float("inf"))
    with pytest.raises(FloatingPointError, match="diverged"):
        optimizer.step()
