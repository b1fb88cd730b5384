"""The optimiser wrapper: its laws, and that it behaves as a torch optimiser."""

import copy
import io
import pickle
from functools import partial

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from gramian.optim import GramWhitened, MatrixForm, nearest_with_gram


@pytest.fixture(autouse=True)
def seeded():
    """Layers and data are drawn from torch's generator, which is given back as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


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
    for model, wrap in ((net, lambda b: GramWhitened(b, whiten=[net.weight], method=method)), (plain, lambda b: b)):
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
        optimizer = GramWhitened(torch.optim.SGD([W], lr=0.1), whiten=[W])
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
    with pytest.raises(ValueError, match="does not fit"):
        GramWhitened(base, whiten={net[0].weight: MatrixForm((2, 9, 6))})
    with pytest.raises(ValueError, match=r"for_model\(model, base\)"):
        GramWhitened(torch.optim.SGD(nn.Conv2d(2, 3, 2).parameters(), lr=0.1))
    with pytest.raises(TypeError, match=r"functools\.partial"):
        GramWhitened.for_model(net, lambda parameters: list(parameters))
    with pytest.raises(ValueError, match=r"no weight to whiten.*the head"):
        GramWhitened.for_model(nn.Linear(3, 2), torch.optim.AdamW)


def test_divergence_is_named():
    W = nn.Parameter(torch.eye(2))
    optimizer = GramWhitened(torch.optim.SGD([W], lr=1.0))
    W.grad = torch.full((2, 2), float("inf"))
    with pytest.raises(FloatingPointError, match="diverged"):
        optimizer.step()


class Experts(nn.Module):
    """A mixture of experts as transformers stores it: one parameter (E, h, d) for all, rows routed by their sign."""

    def __init__(self, experts=3, inputs=4, outputs=6):
        super().__init__()
        self.up_proj = nn.Parameter(torch.randn(experts, outputs, inputs))

    def forward(self, x):
        return torch.einsum("ehd,nd->neh", self.up_proj, x).tanh().sum(1)


def after_one_step(build, inputs, method="svd"):
    """The start, the model after the base's step, and the model after the whitened step, in float64."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        start = build().double()
        x = torch.randn(*inputs, dtype=torch.float64)
    plain, whitened = copy.deepcopy(start), copy.deepcopy(start)
    base = partial(torch.optim.SGD, lr=0.3, momentum=0.9)
    optimizer = GramWhitened.for_model(whitened, base, method=method)
    for model, stepping in ((plain, base(plain.parameters())), (whitened, optimizer)):
        model(x).square().sum().backward()
        stepping.step()
    return start, plain, whitened


def assert_whitened(W0, plain, whitened):
    """One matrix: the Gram is the base's, and the formula of paper E by SVD in float64 gives the same matrix."""
    assert_close(whitened.mT @ whitened, plain.mT @ plain, atol=1e-10, rtol=1e-10)
    U, S, Vh = torch.linalg.svd(W0 @ plain.mT)
    rank = min(W0.shape)
    assert_close(U[:, :rank] @ Vh[:rank] @ plain, whitened, atol=1e-8, rtol=0)
    assert (whitened - W0).norm() <= (plain - W0).norm() + 1e-12
    assert S[rank - 1] > 1e-6, "the case is not a tie"


@pytest.mark.parametrize("method", METHODS)
def test_experts_are_whitened_one_by_one(method):
    """As one matrix (E, h·d) they were rotated into each other: the Gram of each expert was 3 to 8 % wrong."""
    start, plain, whitened = after_one_step(lambda: nn.Sequential(Experts(), nn.Linear(6, 2)), (20, 4), method)
    for e in range(3):
        assert_whitened(start[0].up_proj[e], plain[0].up_proj[e], whitened[0].up_proj[e])
    assert torch.equal(whitened[1].weight, plain[1].weight), "the head is left to the base"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolutions_are_whitened_on_their_outputs(groups, method):
    """The weight is (in, out/groups, k, k): its second dimension has the neurons."""

    def build():
        return nn.Sequential(nn.ConvTranspose2d(4, 6, 2, groups=groups), nn.Tanh(), nn.Conv2d(6, 1, 2))

    start, plain, whitened = after_one_step(build, (5, 4, 3, 3), method)
    for g in range(groups):
        rows = slice(g * 4 // groups, (g + 1) * 4 // groups)
        assert_whitened(*(m[0].weight[rows].movedim(1, 0).flatten(1) for m in (start, plain, whitened)))
        # The Gram of the input channels alone is a sum of its entries. It was 50 % wrong.
        channels = [torch.einsum("iokl,jokl->ij", m[0].weight[rows], m[0].weight[rows]) for m in (plain, whitened)]
        assert_close(channels[1], channels[0], atol=1e-10, rtol=0)


@pytest.mark.parametrize("method", METHODS)
def test_grouped_convolutions_are_whitened_by_group(method):
    def build():
        return nn.Sequential(nn.Conv1d(4, 6, 3, groups=2), nn.Tanh(), nn.Conv1d(6, 1, 2))

    start, plain, whitened = after_one_step(build, (5, 4, 8), method)
    for rows in (slice(0, 3), slice(3, 6)):
        assert_whitened(*(m[0].weight[rows].flatten(1) for m in (start, plain, whitened)))


def test_attention_and_gates_are_whitened_apart():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
            self.memory = nn.LSTM(4, 5, batch_first=True)
            self.head = nn.Linear(5, 2)

        def forward(self, x):
            return self.head(self.memory(self.attention(x, x, x)[0])[0])

    start, plain, whitened = after_one_step(Net, (6, 3, 4))
    for name, parts in (("attention.in_proj_weight", 3), ("memory.weight_ih_l0", 4), ("memory.weight_hh_l0", 4)):
        for matrices in zip(*(m.get_parameter(name).chunk(parts) for m in (start, plain, whitened)), strict=True):
            assert_whitened(*matrices)


class Tokens(nn.Module):
    """A language model with a head tied to its embedding."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(50, 6), nn.Embedding(7, 6)
        self.norm, self.hidden, self.head = nn.LayerNorm(6), nn.Linear(6, 6), nn.Linear(6, 50, bias=False)
        self.head.weight = self.token.weight

    def forward(self, t):
        return self.head(self.hidden(self.norm(self.token(t) + self.position.weight[: t.shape[1]])))


def test_for_model_leaves_embeddings_head_and_vectors_to_the_base():
    start = Tokens()
    plain, whitened = copy.deepcopy(start), copy.deepcopy(start)
    base = partial(torch.optim.SGD, lr=0.1)
    t = torch.randint(0, 3, (4, 5), generator=torch.Generator().manual_seed(0))
    optimizer = GramWhitened.for_model(whitened, base)
    for model, stepping in ((plain, base(plain.parameters())), (whitened, optimizer)):
        model(t).square().sum().backward()
        stepping.step()
    same = {name for name, p in whitened.named_parameters() if torch.equal(p, plain.get_parameter(name))}
    assert same == {name for name, _ in plain.named_parameters()} - {"hidden.weight"}
    assert [p is whitened.hidden.weight for p in optimizer.whitened] == [True]


def test_for_model_accepts_an_optimiser_with_groups_of_its_own():
    X, y = data()
    net = mlp()
    base = torch.optim.SGD([{"params": net[0].parameters(), "lr": 0.3}, {"params": net[4].parameters()}], lr=0.01)
    optimizer = GramWhitened.for_model(net, base)
    assert optimizer.base is base
    assert [p is net[0].weight for p in optimizer.whitened] == [True], "net[2] is not trained, net[4] is the head"
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    one_step(net, optimizer, X, y)
    schedule.step()
    assert [group["lr"] for group in base.param_groups] == [0.15, 0.005]


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "state_dict"])
def test_copies_of_an_optimiser_for_a_model_step_alike(how):
    def build():
        return nn.Sequential(nn.ConvTranspose1d(2, 3, 2), nn.Tanh(), nn.Flatten(), nn.Linear(12, 1)).double()

    base = partial(torch.optim.AdamW, lr=0.1)
    net = build()
    optimizer = GramWhitened.for_model(net, base, method="newton-schulz")
    x = torch.randn(8, 2, 3, dtype=torch.float64)

    def move(model, stepping):
        stepping.zero_grad()
        model(x).square().mean().backward()
        stepping.step()

    move(net, optimizer)
    if how == "state_dict":
        other = build()
        twin = GramWhitened.for_model(other, base, method="newton-schulz")
        other.load_state_dict(net.state_dict())
        twin.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    else:
        pair = (net, optimizer)
        other, twin = pickle.loads(pickle.dumps(pair)) if how == "pickle" else copy.deepcopy(pair)
    assert twin.forms == optimizer.forms == [MatrixForm((1, 2, 3, 2), transposed=True)]
    move(net, optimizer)
    move(other, twin)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


def test_add_param_group_takes_forms():
    experts = nn.Parameter(torch.randn(2, 3, 4, dtype=torch.float64))
    optimizer = GramWhitened(BASES["sgd"](mlp().parameters()))
    with pytest.raises(ValueError, match="stack of experts"):
        optimizer.add_param_group({"params": [experts]})
    optimizer.add_param_group({"params": [experts]}, whiten={experts: MatrixForm((2, 3, 4))})
    start = experts.detach().clone()
    experts.grad = torch.randn_like(experts)
    plain = start - 0.1 * experts.grad
    optimizer.step()
    assert_close(experts.detach(), nearest_with_gram(start, plain), atol=1e-12, rtol=0)


def test_an_expert_without_rows_keeps_its_bits():
    experts = nn.Parameter(torch.randn(3, 4, 5))
    for method in METHODS:
        before = experts.detach().clone()
        optimizer = GramWhitened(
            torch.optim.SGD([experts], lr=0.1), whiten={experts: MatrixForm((3, 4, 5))}, method=method
        )
        experts.grad = torch.randn_like(experts)
        experts.grad[1] = 0
        optimizer.step()
        assert [torch.equal(a, b) for a, b in zip(experts, before, strict=True)] == [False, True, False]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_gradients_without_full_rank_are_safe(rank, method):
    """Zero gradients, and weights that start at zero, at low rank or with dead rows."""
    g = torch.Generator().manual_seed(rank)
    gradient = torch.randn(6, rank, generator=g) @ torch.randn(rank, 4, generator=g)
    for start in (torch.zeros(6, 4), torch.eye(6, 4), gradient, torch.randn(6, 4, generator=g)):
        for W0, G in ((start, gradient), (start.mT, gradient.mT)):
            W = nn.Parameter(W0.clone().contiguous())
            W.grad = G.clone().contiguous()
            GramWhitened(torch.optim.SGD([W], lr=0.5), method=method).step()
            plain = W0 - 0.5 * G
            assert_close(W.mT @ W, plain.mT @ plain, atol=2e-5, rtol=2e-5)


class Waits(TorchDispatchMode):
    """Counts the operations that bring a number of a tensor to the host, which is a wait for the device."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name in ("_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero"):
            self.found.append(name)
        return function(*args, **(kwargs or {}))


def test_newton_schulz_steps_do_not_wait_for_the_device():
    net = mlp().float()
    X, y = (part.float() for part in data())
    # AdamW counts its steps in a tensor on the host, which it may read; plain descent reads nothing.
    optimizers = {m: GramWhitened.for_model(net, partial(torch.optim.SGD, lr=0.1), method=m) for m in METHODS}
    loss_of(net, X, y).backward()
    waits = {}
    for method, optimizer in optimizers.items():
        with Waits() as waits[method]:
            optimizer.step()
    assert waits["newton-schulz"].found == []
    assert waits["svd"].found, "the counter counts"


def test_a_step_on_the_meta_device():
    net = mlp().float().to("meta")
    optimizer = GramWhitened.for_model(net, partial(torch.optim.SGD, lr=0.1, momentum=0.9), method="newton-schulz")
    net(torch.empty(5, 6, device="meta")).sum().backward()
    optimizer.step()
    assert len(optimizer.whitened) == 2


def test_newton_schulz_hands_on_a_nan_as_the_base_does():
    W = nn.Parameter(torch.eye(2))
    W.grad = torch.full((2, 2), float("nan"))
    GramWhitened(torch.optim.SGD([W], lr=1.0), method="newton-schulz").step()
    assert bool(W.isnan().any())
