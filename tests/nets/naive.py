"""The dumb twin of inspect: one sample at a time, one output at a time, in float64, through probes on layer
inputs.

Every layer is rewritten as ``Z = (H + P) Wᵀ + b`` with a zero leaf P, so that ∂f/∂P is the gradient with
respect to the layer's input through this layer alone; ``Z + Q`` does the same on the output side. Nothing is
shared with gramian.
"""

from __future__ import annotations

import math
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn


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
    if isinstance(module, nn.Linear):

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
            virtual = h - step / n * v
            found["vcs"] += outer(virtual, virtual) - outer(h, h)
        if lam is not None:
            found["fact"], found["bfact"] = -cross / lam, -bcross / lam
    return found
