"""Small models of every architecture in the contract, with weights from a private generator."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gramian.nets import inspect


def seeded(build, seed=0, dtype=torch.float64):
    """Build a module without touching the global generator's state."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build().to(dtype)


class Residual(nn.Module):
    """A skip connection, a module used twice, and in-place activations on pre-activations and on the sum."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 6)
        self.shared = nn.Linear(6, 6)
        self.last = nn.Linear(6, 3)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        h = self.act(self.first(x))
        h = h + self.act(self.shared(h))
        h = h + self.shared(h)
        return self.last(torch.nn.functional.relu_(h))


class Block(nn.Module):
    """Token embedding, one transformer block, a head on the mean token."""

    def __init__(self, batch_first=True, norm_first=False):
        super().__init__()
        self.batch_first = batch_first
        self.embed = nn.Embedding(11, 8)
        self.block = nn.TransformerEncoderLayer(
            8, 2, 12, batch_first=batch_first, norm_first=norm_first, activation="gelu"
        )
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        h = self.embed(tokens)
        h = self.block(h if self.batch_first else h.transpose(0, 1))
        return self.head(h.mean(1 if self.batch_first else 0))


class Separate(nn.Module):
    """Cross-attention with its own key and value sizes: separate q, k, v weights."""

    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(6, 2, kdim=4, vdim=5, batch_first=True)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        out, _ = self.attn(x, x[..., :4], x[..., :5], need_weights=False)
        return self.head(out.mean(1))


class Cross(nn.Module):
    """Fused weights with a query that differs from key and value, and with three different inputs."""

    def __init__(self, three=False):
        super().__init__()
        self.three = three
        self.attn = nn.MultiheadAttention(6, 2, bias=False)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        x = x.transpose(0, 1)
        memory = 2 * x[1:]
        out, _ = self.attn(x, memory, memory.tanh() if self.three else memory)
        return self.head(out.mean(0))


class Recurrent(nn.Module):
    """A recurrent module over a sequence, and a head on its outputs and its last states."""

    def __init__(self, kind=nn.LSTM, start=False, packed=False, **options):
        super().__init__()
        self.start, self.packed = start, packed
        self.inner = kind(3, 4, **options)
        width = (options.get("proj_size") or 4) * (2 if options.get("bidirectional") else 1)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        inner = self.inner
        hx = None
        if self.start:
            count = inner.num_layers * (2 if inner.bidirectional else 1)
            h = x.sum((1, 2)).sin()[None, :, None].expand(count, -1, inner.proj_size or inner.hidden_size)
            hx = (h, h[..., :1].expand(-1, -1, inner.hidden_size).cos()) if isinstance(inner, nn.LSTM) else h
        x = x if inner.batch_first else x.transpose(0, 1)
        if self.packed:
            time = 1 if inner.batch_first else 0
            lengths = 1 + (x[..., 0] > 0).sum(time).clamp(max=x.shape[time] - 1)
            x = pack_padded_sequence(x, lengths, batch_first=inner.batch_first, enforce_sorted=False)
        out, last = inner(x, hx)
        if self.packed:
            out, _ = pad_packed_sequence(out, batch_first=inner.batch_first)
        last = last if isinstance(last, tuple) else (last,)
        rest = sum(T.sin().sum((0, 2)) for T in last)
        return self.head(out.sum(1 if inner.batch_first else 0).tanh()) + rest[:, None]


class Cells(nn.Module):
    """A cell in a loop over steps."""

    def __init__(self, kind=nn.LSTMCell, **options):
        super().__init__()
        self.cell, self.head = kind(3, 4, **options), nn.Linear(4, 2)

    def forward(self, x):
        state = None
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.head(state[0] if isinstance(state, tuple) else state)


class Bags(nn.Module):
    """Bags of tokens, with a weight for each token."""

    def __init__(self, mode="sum", weighted=True):
        super().__init__()
        self.bag = nn.EmbeddingBag(11, 4, mode=mode, padding_idx=2)
        self.weighted, self.head = weighted, nn.Linear(4, 2)

    def forward(self, ids):
        weights = (1 + ids.to(self.head.weight)) / 5 if self.weighted else None
        return self.head(self.bag(ids, per_sample_weights=weights).tanh())


class Pairs(nn.Module):
    """A bilinear map of two views of every position."""

    def __init__(self):
        super().__init__()
        self.both, self.head = nn.Bilinear(3, 2, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.both(x[..., :3], x[..., 3:]).tanh().mean(1))


class Experts(nn.Module):
    """Stacks of expert matrices (E, m, k) or (E, k, m), through which each row goes to the two experts it scores best.

    ``how`` is the way of the product: a loop over experts with F.linear or with ``@``, or dense products of all rows
    with all experts.
    """

    def __init__(self, how="linear", experts=3):
        super().__init__()
        self.how = how
        self.up = nn.Parameter(torch.randn(experts, 5, 4) if how == "linear" else torch.randn(experts, 4, 5))
        self.down = nn.Parameter(torch.randn(experts, 4, 5) if how == "linear" else torch.randn(experts, 5, 4))

    def matrices(self, p):
        return p if self.how == "linear" else p.mT

    def forward(self, x, chosen, weights):
        if self.how == "bmm":
            x = x.expand(len(self.up), -1, -1)
            out = torch.bmm(torch.bmm(x, self.up).tanh(), self.down)
        elif self.how == "einsum":
            out = torch.einsum("enh,ehd->end", torch.einsum("nd,edh->enh", x, self.up).tanh(), self.down)
        elif self.how == "matmul":
            out = (x @ self.up).tanh() @ self.down
        else:
            return self.loop(x, chosen, weights)
        dense = x.new_zeros(x.shape[-2], len(self.up)).scatter(1, chosen, weights)
        return torch.einsum("end,ne->nd", out, dense)

    def loop(self, x, chosen, weights):
        total = torch.zeros_like(x)
        for e in chosen.unique():
            row, place = torch.where(chosen == e)
            if self.how == "linear":
                h = F.linear(F.linear(x[row], self.up[e]).tanh(), self.down[e])
            else:
                h = (x[row] @ self.up[e]).tanh() @ self.down[e]
            total = total.index_add(0, row, h * weights[row, place, None])
        return total

    def naive(self, name, probes, x, chosen, weights):
        routed = self.how in ("linear", "loop")
        total = torch.zeros_like(x)
        up, down = self.matrices(self.up), self.matrices(self.down)
        for e in range(len(self.up)):
            score = (weights * (chosen == e)).sum(1)
            row = torch.where((chosen == e).any(1))[0] if routed else torch.arange(len(x))
            h = probes.product((f"{name}.up", e), x[row], up[e], None).tanh()
            h = probes.product((f"{name}.down", e), h, down[e], None)
            total = total.index_add(0, row, h * score[row, None])
        return total


class Mixture(nn.Module):
    """A router by a parameter of its own, and experts on every token."""

    def __init__(self, how="linear"):
        super().__init__()
        self.router, self.experts, self.head = Router(), Experts(how), nn.Linear(4, 2)

    def forward(self, x):
        flat = x.reshape(-1, 4)
        scores, chosen = self.router(flat).softmax(-1).topk(2)
        return self.head(self.experts(flat, chosen, scores).reshape(x.shape).mean(1))


class Router(nn.Module):
    """A product with a parameter of its own, stored as (inputs, outputs)."""

    def __init__(self):
        super().__init__()
        self.kernel, self.shift = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(3))

    def forward(self, x):
        return x @ self.kernel + self.shift

    def naive(self, name, probes, x):
        return probes.product(f"{name}.kernel", x, self.kernel.mT, self.shift)


def transposed():
    return nn.Sequential(
        nn.ConvTranspose2d(4, 6, (3, 2), (2, 3), padding=(1, 0), output_padding=(1, 2), groups=2, dilation=(1, 2)),
        nn.Tanh(), nn.ConvTranspose2d(6, 2, 1, padding=1, bias=False), nn.ReLU(inplace=True),
        nn.Flatten(), nn.LazyLinear(2),
    )  # fmt: skip


def transposed_line():
    return nn.Sequential(
        nn.ConvTranspose1d(2, 3, 2, dilation=3, padding=2), nn.Tanh(),
        nn.Unflatten(2, (2, 2, 1)), nn.ConvTranspose3d(3, 2, (1, 2, 1), stride=(1, 1, 2)),
        nn.Flatten(), nn.LazyLinear(2),
    )  # fmt: skip


def mlp():
    return nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), nn.ReLU(inplace=True),
        nn.Conv2d(6, 4, (2, 2), dilation=(1, 2), bias=False), nn.ReLU(),
        nn.Flatten(), nn.LazyLinear(3),
    )  # fmt: skip


def conv1d():
    return nn.Sequential(
        nn.Conv1d(3, 4, 3, padding=2, dilation=2), nn.SiLU(), nn.Conv1d(4, 2, 2, stride=3), nn.Flatten()
    )


def conv3d():
    return nn.Sequential(
        nn.Conv3d(2, 4, (2, 1, 2), groups=2, padding=(1, 0, 0)), nn.Tanh(), nn.Flatten(), nn.LazyLinear(2)
    )


INPUTS = torch.randn(20, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
LABELS = torch.arange(20) % 3


def full_report(model=None, start=None):
    """A report with everything measured: loss, weight decay, initial weights, classes."""
    model = model or seeded(mlp)
    initial = start or seeded(mlp, seed=9)
    return inspect(model, (INPUTS, LABELS), "cross_entropy", weight_decay=0.1, initial=initial)


def _data(shape, n=6, seed=1):
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _tokens(n=6):
    return torch.randint(0, 11, (n, 4), generator=torch.Generator().manual_seed(1))


CASES = {
    "mlp": (mlp, lambda: _data((5,))),
    "residual": (Residual, lambda: _data((5,))),
    "cnn": (cnn, lambda: _data((4, 7, 9))),
    "conv1d": (conv1d, lambda: _data((3, 8))),
    "conv3d": (conv3d, lambda: _data((2, 3, 3, 3))),
    "transformer": (Block, _tokens),
    "transformer, tokens first": (lambda: Block(batch_first=False, norm_first=True), _tokens),
    "attention, separate": (Separate, lambda: _data((4, 6))),
    "attention, cross": (Cross, lambda: _data((4, 6))),
    "attention, three inputs": (lambda: Cross(three=True), lambda: _data((4, 6))),
    "transposed convolution": (transposed, lambda: _data((4, 3, 2))),
    "transposed convolution, 1 and 3": (transposed_line, lambda: _data((2, 5))),
    "bilinear": (Pairs, lambda: _data((3, 5))),
    "bags": (Bags, _tokens),
    "bags, mean": (lambda: Bags("mean", weighted=False), _tokens),
    "lstm": (lambda: Recurrent(batch_first=True, num_layers=2, bidirectional=True), lambda: _data((3, 3))),
    "lstm, projected": (lambda: Recurrent(proj_size=2, start=True, bias=False), lambda: _data((3, 3))),
    "lstm, packed": (lambda: Recurrent(packed=True, bidirectional=True, proj_size=2), lambda: _data((4, 3))),
    "gru": (lambda: Recurrent(nn.GRU, bidirectional=True, start=True, batch_first=True), lambda: _data((3, 3))),
    "rnn": (lambda: Recurrent(nn.RNN, num_layers=2, nonlinearity="relu", packed=True), lambda: _data((4, 3))),
    "lstm cell": (Cells, lambda: _data((3, 3))),
    "gru cell": (lambda: Cells(nn.GRUCell, bias=False), lambda: _data((3, 3))),
    "rnn cell": (lambda: Cells(nn.RNNCell), lambda: _data((3, 3))),
    "experts": (Mixture, lambda: _data((3, 4))),
    "experts, transposed": (lambda: Mixture("loop"), lambda: _data((3, 4))),
    "experts, bmm": (lambda: Mixture("bmm"), lambda: _data((3, 4))),
    "experts, matmul": (lambda: Mixture("matmul"), lambda: _data((3, 4))),
    "experts, einsum": (lambda: Mixture("einsum"), lambda: _data((3, 4))),
}
