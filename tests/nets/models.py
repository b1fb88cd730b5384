"""Small models of every architecture in the contract, with weights from a private generator."""

import torch
from torch import nn

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
}
