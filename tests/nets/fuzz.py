"""Random small modules for the comparison with the naive reading: layers of all kinds, composed at random.

A state of the generator is (kind, shape): vectors (d,), sequences (T, d) or images (C, H, W) per sample. Every block
takes one state to another.
"""

import random
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from nets.models import Experts, Recurrent


class Step(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class Twice(nn.Module):
    """A module that is used twice, with an activation between."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(torch.tanh(self.inner(x)))


class Low(nn.Linear):
    """A low-rank update by a subclass."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.A, self.B = nn.Parameter(torch.randn(1, inputs)), nn.Parameter(torch.randn(outputs, 1))

    def forward(self, x):
        return super().forward(x) + x @ self.A.mT @ self.B.mT

    def naive(self, name, probes, x):
        rows = probes.product(name, x.reshape(-1, x.shape[-1]), self.weight + self.B @ self.A, self.bias)
        return rows.reshape(*x.shape[:-1], -1)


class Tripled(nn.Linear):
    """A constant factor by a subclass."""

    def forward(self, x):
        return 3 * super().forward(x)

    def naive(self, name, probes, x):
        rows = probes.product(name, x.reshape(-1, x.shape[-1]), self.weight, self.bias)
        return 3 * rows.reshape(*x.shape[:-1], -1)


class Squashed(nn.Linear):
    """A subclass that is not linear, which must be skipped."""

    def forward(self, x):
        return torch.sin(super().forward(x))

    def naive(self, name, probes, x):
        rows = probes.product(name, x.reshape(-1, x.shape[-1]), self.weight, self.bias)
        return torch.sin(rows).reshape(*x.shape[:-1], -1)


class Kernel(nn.Module):
    """A product with a parameter of its own, in one of several spellings."""

    def __init__(self, inputs, outputs, how):
        super().__init__()
        self.how = how
        self.kernel = nn.Parameter(
            torch.randn(outputs, inputs) if how in ("linear", "left") else torch.randn(inputs, outputs)
        )

    def forward(self, x):
        if self.how == "linear":
            return F.linear(x, self.kernel)
        if self.how == "left":
            return (self.kernel @ x.mT).mT
        if self.how == "einsum":
            letters = "ntd"[-x.ndim :] if x.ndim > 1 else "d"
            letters = letters if x.ndim == 3 else "nd"
            return torch.einsum(f"{letters},dk->{letters[:-1]}k", x, self.kernel)
        return x @ self.kernel

    def naive(self, name, probes, x):
        W = self.kernel if self.how in ("linear", "left") else self.kernel.mT
        return probes.product(f"{name}.kernel", x.reshape(-1, x.shape[-1]), W, None).reshape(*x.shape[:-1], -1)


class Scaled(nn.Module):
    """A matrix that scales entries, which must be skipped."""

    def __init__(self, T, d):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(T, d))

    def forward(self, x):
        return x * self.gain


class Places(nn.Module):
    """Position embeddings that all samples share."""

    def __init__(self, T, d, leading):
        super().__init__()
        self.pos, self.leading = nn.Embedding(T, d), leading

    def forward(self, x):
        ids = torch.arange(x.shape[1])
        return x + self.pos(ids[None] if self.leading else ids)


class Queries(nn.Module):
    """Attention of learned queries, projected once for all samples."""

    def __init__(self, d, count):
        super().__init__()
        self.query = nn.Parameter(torch.randn(count, d))
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d, bias=False)

    def forward(self, x):
        return (self.q(self.query) @ self.k(x).mT).softmax(-1) @ x


class Attention(nn.Module):
    def __init__(self, d, first):
        super().__init__()
        self.attn, self.first = nn.MultiheadAttention(d, 2, batch_first=first), first

    def forward(self, x):
        x = x if self.first else x.transpose(0, 1)
        out = self.attn(x, x, x, need_weights=False)[0]
        return out if self.first else out.transpose(0, 1)


class Routed(nn.Module):
    """Experts on every token, with a router."""

    def __init__(self, how):
        super().__init__()
        self.router, self.experts = nn.Linear(4, 3), Experts(how)

    def forward(self, x):
        flat = x.reshape(-1, 4)
        scores, chosen = self.router(flat).softmax(-1).topk(2)
        return self.experts(flat, chosen, scores).reshape(x.shape)


class Sequences(nn.Module):
    """A fused recurrent module; its outputs at all steps."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        first = self.inner.batch_first
        out = self.inner(x if first else x.transpose(0, 1))[0]
        return out if first else out.transpose(0, 1)


class Cell(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        state = self.inner(x)
        state = self.inner(x.sin(), state)
        return state[0] if isinstance(state, tuple) else state


class Product(nn.Module):
    """A bilinear map of two halves."""

    def __init__(self, d, outputs):
        super().__init__()
        self.half, self.both = d // 2, nn.Bilinear(d // 2, d - d // 2, outputs)

    def forward(self, x):
        return self.both(x[..., : self.half].contiguous(), x[..., self.half :])


class Tokens(nn.Module):
    """Token embeddings, tied to a score of the vocabulary by a product outside the module if ``tied``."""

    def __init__(self, d, tied):
        super().__init__()
        self.embed, self.tied = nn.Embedding(7, d), tied

    def forward(self, ids):
        x = self.embed(ids)
        return x + (F.linear(x, self.embed.weight).softmax(-1) @ self.embed.weight.detach()) if self.tied else x


class Bag(nn.Module):
    def __init__(self, d, mode, weighted):
        super().__init__()
        self.bag, self.weighted = nn.EmbeddingBag(7, d, mode=mode), weighted

    def forward(self, ids):
        weights = 1 + ids.to(self.bag.weight).sin() if self.weighted else None
        return self.bag(ids, per_sample_weights=weights)


class TiedPair(nn.Module):
    """Two modules with one weight."""

    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, d), nn.Linear(d, d, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Branches(nn.Module):
    """Two modules on the same input, side by side or summed."""

    def __init__(self, a, b, joined):
        super().__init__()
        self.a, self.b, self.joined = a, b, joined

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        return torch.cat([a, b], -1) if self.joined else a + b


class Checkpointed(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)

    def naive(self, name, probes, x):
        return self.inner(x)


class AddedInPlace(nn.Module):
    """A residual sum in place, and a slice that is written into."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        z = self.inner(x)
        z += x
        z[..., 0] *= 2
        return z


class ClassToken(nn.Module):
    """A learned token before the others."""

    def __init__(self, d):
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, d))

    def forward(self, x):
        return torch.cat([self.token.expand(len(x), -1, -1), x], 1)


class PairAttention(nn.Module):
    """Scores between tokens by a parameter between two of them."""

    def __init__(self, d):
        super().__init__()
        self.between = nn.Parameter(torch.randn(d, d))

    def forward(self, x):
        return (x @ self.between @ x.mT).softmax(-1) @ x

    def naive(self, name, probes, x):
        z = probes.product(f"{name}.between", x.reshape(-1, x.shape[-1]), self.between.mT, None)
        return (z.reshape(x.shape) @ x.mT).softmax(-1) @ x


class FuzzModel(nn.Module):
    """Blocks in a row, and a head on the mean, the sum or all of the positions."""

    def __init__(self, blocks, head, pool):
        super().__init__()
        self.blocks, self.head, self.pool = nn.ModuleList(blocks), head, pool

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.pool(x))


def _activation(rng):
    return rng.choice([nn.ReLU(), nn.ReLU(inplace=True), nn.Tanh(), nn.GELU(), nn.LeakyReLU(0.1, inplace=True)])


def _linear(rng, a, b):
    """A linear layer in one of its forms."""
    kind = rng.choice(
        ["plain"] * 4 + ["no bias", "hook factor", "hook offset", "hook sine", "low", "tripled", "squashed", "frozen"]
        + ["matmul", "linear", "left", "einsum", "weight norm"]
    )  # fmt: skip
    if kind in ("matmul", "linear", "left", "einsum"):
        return Kernel(a, b, kind)
    module = {"low": Low, "tripled": Tripled, "squashed": Squashed}.get(kind, nn.Linear)(a, b)
    if kind == "no bias":
        module = nn.Linear(a, b, bias=False)
    hooks = {
        "hook factor": lambda m, i, o: -2 * o,
        "hook offset": lambda m, i, o: o + 1,
        "hook sine": lambda m, i, o: o.sin(),
    }
    if kind in hooks:
        module.register_forward_hook(hooks[kind])
    if kind == "frozen":
        module.requires_grad_(False)
    if kind == "weight norm":
        module = parametrizations.weight_norm(module)
    return module


def _vector_block(rng, d):
    b = rng.randint(2, 6)
    choices = {
        "linear": lambda: (nn.Sequential(_linear(rng, d, b), _activation(rng)), b),
        "residual": lambda: (Residual(nn.Sequential(_linear(rng, d, d), _activation(rng), _linear(rng, d, d))), d),
        "twice": lambda: (Twice(nn.Linear(d, d)), d),
        "tied": lambda: (TiedPair(d), d),
        "bilinear": lambda: (Product(d, b), b),
        "cell": lambda: (Cell(rng.choice([nn.LSTMCell, nn.GRUCell, nn.RNNCell])(d, b)), b),
        "norm": lambda: (rng.choice([nn.LayerNorm(d), nn.BatchNorm1d(d), nn.Dropout(0.5)]), d),
        "branches": lambda: (Branches(_linear(rng, d, b), _linear(rng, d, b), True), 2 * b),
        "checkpointed": lambda: (Checkpointed(nn.Sequential(nn.Linear(d, b), _activation(rng))), b),
        "added in place": lambda: (AddedInPlace(nn.Linear(d, d)), d),
    }
    # Layer norm of two features is nearly a sign, whose gradients float32 cannot hold.
    name = rng.choice([key for key in choices if not (key == "bilinear" and d < 2) and not (key == "norm" and d < 3)])
    module, width = choices[name]()
    return module, ("vector", (width,))


def _sequence_block(rng, T, d):
    b = rng.choice([2, 4, 6])
    recurrent = rng.choice([nn.LSTM, nn.GRU, nn.RNN])
    both, groups = rng.random() < 0.4, rng.choice([1, 2]) if d % 2 == 0 else 1
    encoder = partial(nn.TransformerEncoderLayer, d, 2, 5, batch_first=True)
    choices = {
        "linear": lambda: (nn.Sequential(_linear(rng, d, b), _activation(rng)), (T, b)),
        "residual": lambda: (Residual(nn.Sequential(_linear(rng, d, d), _activation(rng))), (T, d)),
        "recurrent": lambda: (
            Sequences(recurrent(d, b, rng.randint(1, 2), bidirectional=both, batch_first=rng.random() < 0.5)),
            (T, b * (2 if both else 1)),
        ),
        "projected": lambda: (Sequences(nn.LSTM(d, b, proj_size=1, batch_first=True)), (T, 1)),
        "conv": lambda: (
            nn.Sequential(Step(lambda x: x.mT), nn.Conv1d(d, b, 2, padding=1, groups=groups), Step(lambda x: x.mT)),
            (T + 1, b),
        ),
        "places": lambda: (Places(T, d, rng.random() < 0.5), (T, d)),
        "queries": lambda: (Queries(d, 2), (2, d)),
        "scaled": lambda: (Scaled(T, d), (T, d)),
        "attention": lambda: (Attention(d, rng.random() < 0.5), (T, d)),
        "transformer": lambda: (encoder(norm_first=rng.random() < 0.5), (T, d)),
        "experts": lambda: (Routed(rng.choice(["linear", "loop", "bmm", "matmul", "einsum"])), (T, d)),
        "norm": lambda: (nn.LayerNorm(d), (T, d)),
        "branches": lambda: (Branches(_linear(rng, d, b), _linear(rng, d, b), False), (T, b)),
        "checkpointed": lambda: (Checkpointed(nn.Sequential(nn.Linear(d, b), _activation(rng))), (T, b)),
        "checkpointed steps": lambda: (Checkpointed(Sequences(recurrent(d, b))), (T, b)),
        "added in place": lambda: (AddedInPlace(_linear(rng, d, d)), (T, d)),
        "token": lambda: (ClassToken(d), (T + 1, d)),
        "pair attention": lambda: (PairAttention(d), (T, d)),
    }  # fmt: skip
    possible = [
        key
        for key in choices
        if not (key in ("attention", "transformer") and d % 2) and not (key == "experts" and d != 4)
        and not (key in ("norm", "transformer") and d < 3)
    ]  # fmt: skip
    module, shape = choices[rng.choice(possible)]()
    return module, ("sequence", shape)


def _image_block(rng, C, H, W):
    b = rng.choice([2, 4])
    groups = 2 if C % 2 == 0 and rng.random() < 0.4 else 1
    kernel, stride, dilation = rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 2)
    if rng.random() < 0.2:
        return nn.BatchNorm2d(C), ("image", (C, H, W))
    if rng.random() < 0.5 or min(H, W) < 4:
        padding = rng.randint(0, dilation * (kernel - 1))
        module = nn.ConvTranspose2d(
            C, b, kernel, stride, padding, output_padding=rng.randint(0, max(stride, dilation) - 1), groups=groups,
            bias=rng.random() < 0.5, dilation=dilation,
        )  # fmt: skip
    else:
        module = nn.Conv2d(C, b, kernel, stride, rng.randint(0, 1), dilation, groups, rng.random() < 0.5)
    with torch.no_grad():
        try:
            shape = tuple(module(torch.zeros(1, C, H, W)).shape[1:])
        except RuntimeError:  # no position is left
            shape = (b, 0, 0)
    if max(shape[1:]) > 9 or min(shape[1:]) < 1:
        return nn.Dropout(0.1), ("image", (C, H, W))
    return nn.Sequential(module, _activation(rng)), ("image", shape)


def random_model(seed):
    """A random model, its inputs (n, …) in float64 or whole numbers, and a description."""
    rng = random.Random(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        n = rng.randint(3, 5)
        start = rng.choice(["vector", "sequence", "sequence", "image", "tokens", "bag", "packed"])
        blocks = []
        if start in ("tokens", "bag"):
            T, d = rng.randint(2, 4), rng.choice([2, 4])
            X = torch.randint(0, 7, (n, T))
            if start == "bag":
                mode = rng.choice(["sum", "mean"])
                blocks.append(Bag(d, mode, mode == "sum" and rng.random() < 0.5))
                state = ("vector", (d,))
            else:
                blocks.append(Tokens(d, rng.random() < 0.3))
                state = ("sequence", (T, d))
        elif start == "packed":
            X = torch.randn(n, 4, 3, dtype=torch.float64)
            kind = rng.choice([nn.LSTM, nn.GRU, nn.RNN])
            blocks.append(
                Recurrent(kind, packed=True, bidirectional=rng.random() < 0.5, num_layers=rng.randint(1, 2),
                          start=rng.random() < 0.5, batch_first=rng.random() < 0.5)
            )  # fmt: skip
            state = ("vector", (2,))
        else:
            shape = {"vector": (rng.randint(2, 6),), "sequence": (rng.randint(2, 4), rng.choice([2, 4])),
                     "image": (rng.choice([1, 2, 4]), rng.randint(2, 5), rng.randint(2, 5))}[start]  # fmt: skip
            X = torch.randn(n, *shape, dtype=torch.float64)
            state = (start, shape)
        for _ in range(rng.randint(1, 4)):
            kind, shape = state
            make = {"vector": _vector_block, "sequence": _sequence_block, "image": _image_block}[kind]
            block, state = make(rng, *shape)
            blocks.append(block)
        kind, shape = state
        pool = {"vector": lambda x: x, "sequence": lambda x: x.mean(1), "image": lambda x: x.mean((2, 3))}[kind]
        width = shape[0] if kind in ("vector", "image") else shape[1]
        if kind != "vector" and rng.random() < 0.3:
            pool, width = (lambda x: x.flatten(1)), torch.Size(shape).numel()
        model = FuzzModel(blocks, nn.Linear(width, rng.randint(1, 3)), pool)
        for buffer in model.buffers():
            if buffer.is_floating_point():  # statistics of batch norms
                buffer.uniform_(0.5, 2)
    return model, X, rng.choice([torch.float64, torch.float64, torch.float32])
