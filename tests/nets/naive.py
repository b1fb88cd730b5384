"""The dumb twin of inspect: one sample at a time, one output at a time, in float64, through probes on layer
inputs.

Every layer is rewritten as ``Z = (H + P) Wᵀ + b`` with a zero leaf P, so that ∂f/∂P is the gradient with
respect to the layer's input through this layer alone; ``Z + Q`` does the same on the output side. Nothing is
shared with gramian.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import PackedSequence


class Probes:
    """Rows H, and leaves P (input side) and Q (output side), of every call of every layer, for one sample."""

    def __init__(self):
        self.H, self.P, self.Q, self.W = defaultdict(list), defaultdict(list), defaultdict(list), {}

    def product(self, name, H, W, b):
        """H (rows, k) → rows of Z, with the probes in place."""
        H = H.to(W)
        P = torch.zeros_like(H, requires_grad=True)
        Q = torch.zeros(H.shape[0], W.shape[0], dtype=W.dtype, requires_grad=True)
        self.H[name].append(H.detach())
        self.P[name].append(P)
        self.Q[name].append(Q)
        self.W[name] = W.detach()
        Z = (H + P) @ W.mT + Q
        return Z if b is None else Z + b


def patches(x, kernel, stride, padding, dilation):
    """(1, C, *space) → (positions, C · kernel) and the output's spatial shape, by a convolution with unit
    kernels."""
    C, size = x.shape[1], math.prod(kernel)
    unit = torch.eye(C * size, dtype=x.dtype).reshape(C * size, C, *kernel)
    conv = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
    out = conv(x, unit, stride=stride, padding=padding, dilation=dilation)
    return out[0].flatten(1).mT, out.shape[2:]


def naive_forward(name, module, probes):
    if hasattr(module, "naive"):  # a module of the tests with a twin of its own

        def forward(*args):
            return module.naive(name, probes, *args)

    elif isinstance(module, nn.Linear):

        def forward(x):
            rows = probes.product(name, x.reshape(-1, x.shape[-1]), module.weight, module.bias)
            return rows.reshape(*x.shape[:-1], -1)

    elif isinstance(module, nn.Conv1d | nn.Conv2d | nn.Conv3d):

        def forward(x):
            parts = []
            for g, (xg, Wg) in enumerate(
                zip(x.chunk(module.groups, 1), module.weight.chunk(module.groups, 0), strict=True)
            ):
                H, space = patches(xg, module.kernel_size, module.stride, module.padding, module.dilation)
                Z = probes.product((name, g) if module.groups > 1 else name, H, Wg.flatten(1), None)
                parts.append(Z.mT.reshape(1, -1, *space))
            out = torch.cat(parts, 1)
            return out if module.bias is None else out + module.bias.reshape(1, -1, *[1] * len(space))

    elif isinstance(module, nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d):

        def forward(x):
            return transposed_convolution(name, module, probes, x)

    elif isinstance(module, nn.Bilinear):

        def forward(x1, x2):
            H = torch.stack([torch.outer(a, b).flatten() for a, b in zip(_rows(x1), _rows(x2), strict=True)])
            rows = probes.product(name, H, module.weight.flatten(1), module.bias)
            return rows.reshape(*x1.shape[:-1], -1)

    elif isinstance(module, nn.EmbeddingBag):

        def forward(ids, offsets=None, per_sample_weights=None):
            bags = []
            for j, bag in enumerate(ids):
                weights = (
                    torch.ones(len(bag)).to(module.weight) if per_sample_weights is None else per_sample_weights[j]
                )
                keep = bag != (-1 if module.padding_idx is None else module.padding_idx)
                one_hot = F.one_hot(bag, module.num_embeddings).to(module.weight) * (weights * keep)[:, None]
                bags.append(one_hot.sum(0) / (keep.sum().clamp(min=1) if module.mode == "mean" else 1))
            return probes.product(name, torch.stack(bags), module.weight.mT, None)

    elif isinstance(module, nn.RNNBase):

        def forward(x, hx=None):
            return recurrent(name, module, probes, x, hx)

    elif isinstance(module, nn.RNNCellBase):

        def forward(x, hx=None):
            state = hx if isinstance(hx, tuple) else None if hx is None else (hx,)
            if state is None:
                state = tuple(x.new_zeros(1, module.hidden_size) for _ in range(2))
            new = step(name, module, "", probes, x, state)
            return new if isinstance(module, nn.LSTMCell) else new[0]

    elif isinstance(module, nn.Embedding):

        def forward(x):
            one_hot = F.one_hot(x.reshape(-1), module.num_embeddings)
            return probes.product(name, one_hot, module.weight.mT, None).reshape(*x.shape, -1)

    elif isinstance(module, nn.MultiheadAttention):

        def forward(query, key, value, **ignored):
            E, heads = module.embed_dim, module.num_heads
            if module.in_proj_weight is not None:
                weights = module.in_proj_weight.chunk(3)
            else:
                weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
            biases = module.in_proj_bias.chunk(3) if module.in_proj_bias is not None else [None] * 3
            split = []
            for letter, x, W, b in zip("qkv", (query, key, value), weights, biases, strict=True):
                x = x[0] if module.batch_first else x[:, 0]
                Z = probes.product(f"{name}.{letter}_proj", x, W, b)
                split.append(Z.reshape(-1, heads, E // heads).transpose(0, 1))
            q, k, v = split
            mixed = torch.softmax(q @ k.mT / math.sqrt(E // heads), -1) @ v
            rows = mixed.transpose(0, 1).reshape(-1, E)
            out = probes.product(f"{name}.out_proj", rows, module.out_proj.weight, module.out_proj.bias)
            return (out[None] if module.batch_first else out[:, None]), None

    else:
        return None
    return forward


def _rows(x):
    return x.reshape(-1, x.shape[-1])


def transposed_convolution(name, module, probes, x):
    """Every input position times the weights gives a patch; patches are added up, and the padding is cut off."""
    dims = len(module.kernel_size)
    space, out_space = x.shape[2:], []
    for j in range(dims):
        reach = (space[j] - 1) * module.stride[j] + module.dilation[j] * (module.kernel_size[j] - 1) + 1
        out_space.append(reach - 2 * module.padding[j] + module.output_padding[j])
    parts = []
    for g, (xg, Wg) in enumerate(zip(x.chunk(module.groups, 1), module.weight.chunk(module.groups, 0), strict=True)):
        H = xg[0].flatten(1).mT
        Z = probes.product((name, g) if module.groups > 1 else name, H, Wg.flatten(1).mT, None)
        Z = Z.reshape(*space, Wg.shape[1], *module.kernel_size)
        out = {}
        for position in itertools.product(*map(range, space)):
            for offset in itertools.product(*map(range, module.kernel_size)):
                place = tuple(
                    p * s + o * d - q
                    for p, s, o, d, q in zip(
                        position, module.stride, offset, module.dilation, module.padding, strict=True
                    )
                )
                if all(0 <= p < size for p, size in zip(place, out_space, strict=True)):
                    out[place] = out.get(place, 0) + Z[(*position, slice(None), *offset)]
        zero = torch.zeros(Wg.shape[1]).to(x)
        flat = [out.get(place, zero) for place in itertools.product(*map(range, out_space))]
        parts.append(torch.stack(flat, 1).reshape(1, -1, *out_space))
    result = torch.cat(parts, 1)
    return result if module.bias is None else result + module.bias.reshape(1, -1, *[1] * dims)


def step(name, module, key, probes, x, state):
    """One step of a recurrent module for one sample, gate by gate."""

    def product(side, H):
        bias = getattr(module, f"bias_{side}{key}", None)
        label = f"{name}.weight_{side}{key}"
        return probes.product(label, H, getattr(module, f"weight_{side}{key}"), bias)

    a, b = product("ih", x), product("hh", state[0])
    n = module.hidden_size
    if "LSTM" in type(module).__name__:
        i, f, o = (torch.sigmoid((a + b)[:, j * n : (j + 1) * n]) for j in (0, 1, 3))
        c = f * state[1] + i * torch.tanh((a + b)[:, 2 * n : 3 * n])
        h = o * torch.tanh(c)
        return (product("hr", h) if getattr(module, "proj_size", 0) else h), c
    if "GRU" in type(module).__name__:
        r, z = (torch.sigmoid((a + b)[:, j * n : (j + 1) * n]) for j in (0, 1))
        new = torch.tanh(a[:, 2 * n :] + r * b[:, 2 * n :])
        return ((1 - z) * new + z * state[0],)
    return (torch.relu(a + b) if module.nonlinearity == "relu" else torch.tanh(a + b),)


def recurrent(name, module, probes, x, hx):
    """One sample through all layers and directions, step by step; a packed sequence of one sample is its steps."""
    packed = x if not isinstance(x, torch.Tensor) else None
    steps = list(packed.data) if packed is not None else list(x[0] if module.batch_first else x[:, 0])
    directions = 2 if module.bidirectional else 1
    sizes = [module.proj_size or module.hidden_size, module.hidden_size]
    states = None if hx is None else (hx if isinstance(hx, tuple) else (hx,))
    final = []
    for layer in range(module.num_layers):
        found = []
        for d in range(directions):
            index = layer * directions + d
            first = (
                tuple(steps[0].new_zeros(1, size) for size in sizes)
                if states is None
                else tuple(T[index] for T in states)
            )
            state, outputs = first, [None] * len(steps)
            for t in range(len(steps))[:: -1 if d else 1]:
                key = f"_l{layer}{'_reverse' if d else ''}"
                state = step(name, module, key, probes, steps[t][None], state)
                outputs[t] = state[0][0]
            found.append(outputs)
            final.append(state)
        steps = [torch.cat(parts) for parts in zip(*found, strict=True)]
    out = torch.stack(steps)
    if packed is not None:
        out = PackedSequence(out, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    else:
        out = out[None] if module.batch_first else out[:, None]
    hidden = tuple(torch.stack(parts) for parts in zip(*final, strict=True))
    return out, hidden if isinstance(module, nn.LSTM) else hidden[0]


def measure(model, xs, ys=None, loss=None):
    """Per layer: lists over samples of H (rows, k), G (rows, c, k), D (rows, c, m), V (rows, k), Vz (rows,
    m).

    ``loss(f, y)`` is one sample's loss. ``xs`` holds one batch-of-one input per sample.
    """
    found = defaultdict(lambda: defaultdict(list))
    weights = {}
    for i, x in enumerate(xs):
        probes = Probes()
        patched = []
        try:
            inside = set()
            for name, module in model.named_modules():
                if isinstance(module, nn.MultiheadAttention):
                    inside.add(module.out_proj)
                forward = None if module in inside else naive_forward(name, module, probes)
                if forward is not None:
                    module.forward = forward
                    patched.append(module)
            f = model(x).flatten()
        finally:
            for module in patched:
                del module.forward
        weights |= probes.W
        names = list(probes.W)
        P = [p for name in names for p in probes.P[name]]
        Q = [q for name in names for q in probes.Q[name]]

        def by_name(grads, leaves, names=names, source=probes.P):
            at = {id(leaf): g for leaf, g in zip(leaves, grads, strict=True)}
            return {name: torch.cat([at[id(leaf)] for leaf in source[name]]) for name in names}

        G, D = [], []
        for c in range(f.shape[0]):
            grads = torch.autograd.grad(f[c], P + Q, retain_graph=True, allow_unused=True)
            grads = [g if g is not None else torch.zeros_like(t) for g, t in zip(grads, P + Q, strict=True)]
            G.append(by_name(grads[: len(P)], P))
            D.append(by_name(grads[len(P) :], Q, source=probes.Q))
        for name in names:
            found[name]["H"].append(torch.cat(probes.H[name]))
            found[name]["G"].append(torch.stack([g[name] for g in G], 1))
            found[name]["D"].append(torch.stack([d[name] for d in D], 1))
        if loss is not None:
            grads = torch.autograd.grad(loss(f, ys[i]), P + Q, allow_unused=True)
            grads = [g if g is not None else torch.zeros_like(t) for g, t in zip(grads, P + Q, strict=True)]
            V, Vz = by_name(grads[: len(P)], P), by_name(grads[len(P) :], Q, source=probes.Q)
            for name in names:
                found[name]["V"].append(V[name])
                found[name]["Vz"].append(Vz[name])
    return found, weights


def matrices(rows, W, lam=None, step=1.0):
    """All feature matrices of one layer by loops over samples, positions and outputs, straight from
    MATH.md."""
    n = len(rows["H"])
    outer = torch.outer

    def zeros(d):
        return torch.zeros(d, d, dtype=torch.float64)

    m, k = W.shape
    found = {"nfm": W.mT @ W, "bnfm": W @ W.mT}
    found["agop"], found["ptk"], found["agop_centered"] = zeros(k), zeros(m), zeros(k)
    G = torch.cat(rows["G"])
    mean = G.mean(0)
    for g, d in zip(G, torch.cat(rows["D"]), strict=True):
        for c in range(g.shape[0]):
            found["agop"] += outer(g[c], g[c]) / n
            found["ptk"] += outer(d[c], d[c]) / n
            found["agop_centered"] += outer(g[c] - mean[c], g[c] - mean[c]) / n
    if rows["V"]:
        found["enfa"], found["benfa"], found["vcs"] = zeros(k), zeros(m), zeros(k)
        cross, bcross = zeros(k), zeros(m)
        for h, v, vz in zip(*(torch.cat(rows[key]) for key in ("H", "V", "Vz")), strict=True):
            h = h.double()
            found["enfa"] += outer(v, v) / n
            found["benfa"] += outer(vz, vz) / n
            cross += outer(v, h) / n
            bcross += outer(W @ h, vz) / n
            shift = -step / n * v  # h⁺h⁺ᵀ − hhᵀ with h⁺ = h + shift, expanded: the difference would lose small shifts
            found["vcs"] += outer(shift, h) + outer(h, shift) + outer(shift, shift)
        if lam is not None:
            found["fact"], found["bfact"] = -cross / lam, -bcross / lam
    return found
