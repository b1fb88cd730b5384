"""Naive float64 twins: each formula as a mathematician would type it, one pair at a time, gradients by autograd."""

import math

import torch

from gramian import kernels as k


def value(kernel, M, x, z):
    """k(x, z) of one pair; differentiable in x."""
    name, delta = type(kernel).__name__, x - z
    if name == "Lp":
        u = M.diagonal().sqrt() * delta
        r = u.abs().pow(kernel.p).sum().pow(1 / kernel.p)
        return torch.exp(-((r / kernel.length) ** kernel.exponent))
    if name in ("Laplace", "Gaussian", "Exponential", "Matern"):
        if not bool((delta != 0).any()):
            return (x * 0).sum() + 1  # φ(0) = 1, and by convention no gradient
        r = (delta @ M @ delta).sqrt()
        a = math.sqrt(2 * getattr(kernel, "nu", 1)) * r / kernel.length
        return {
            "Laplace": lambda: torch.exp(-r / kernel.length),
            "Gaussian": lambda: torch.exp(-(r**2) / (2 * kernel.length**2)),
            "Exponential": lambda: torch.exp(-((r / kernel.length) ** kernel.exponent)),
            "Matern": lambda: (1 + a + (a**2 / 3 if kernel.nu == 2.5 else 0)) * torch.exp(-a),
        }[name]()
    t = x @ M @ z
    if name == "Polynomial":
        return (t + kernel.offset) ** kernel.degree
    if name == "ExponentialDot":
        return torch.exp(t / kernel.scale)
    norms = (x @ M @ x).sqrt() * (z @ M @ z).sqrt()
    rho = t / norms
    h = rho
    for _ in range(kernel.depth):
        theta = rho.clamp(-1, 1).arccos()
        rho = (theta.sin() + (math.pi - theta) * rho) / math.pi
        h = h * (1 - theta / math.pi) + rho
    return norms * (h if name == "NTK" else rho)


def matrix(kernel, M, X, Z):
    return torch.stack([torch.stack([value(kernel, M, x, z) for z in Z]) for x in X])


def gradients(kernel, M, X, Z, coef):
    """∂f_c/∂x of f_c(x) = Σⱼ coef_jc k(x, zⱼ) at each row of X, shape (n, c, d)."""
    out = []
    for x in X:
        x = x.clone().requires_grad_(True)
        f = sum(value(kernel, M, x, z) * a for z, a in zip(Z, coef, strict=True))
        out.append(torch.stack([torch.autograd.grad(fc, x, retain_graph=True)[0] for fc in f]))
    return torch.stack(out)


def agop(G):
    """Sum of outer products, one at a time."""
    return sum(torch.outer(g, g) for row in G for g in row) / len(G)


KERNELS = [
    k.Laplace(2.0),
    k.Gaussian(1.5),
    k.Exponential(2.0, 0.8),
    k.Exponential(2.0, 1.7),
    k.Matern(2.0, 1.5),
    k.Matern(2.0, 2.5),
    k.Lp(2.0),
    k.Lp(2.0, 1.5, 1.2),
    k.Lp(2.0, 2.0, 0.7),
    k.Polynomial(1, 0.0),
    k.Polynomial(3, 1.0),
    k.ExponentialDot(3.0),
    k.NTK(1),
    k.NTK(3),
    k.NTK(5),
    k.NNGP(1),
    k.NNGP(4),
]
METRICS = ["identity", "diagonal", "full", "low-rank"]


def metric(name, d, rng):
    draw = torch.randn(d, d, generator=rng, dtype=torch.float64) / d**0.5
    return {
        "identity": lambda: k.Identity(d),
        "diagonal": lambda: k.Diagonal(draw[0].abs()),
        "full": lambda: k.as_metric(draw @ draw.T),
        "low-rank": lambda: k.LowRank(draw[:, : max(1, d // 2)]),
    }[name]()


PAIRS = [
    (kernel, name)
    for kernel in KERNELS
    for name in METRICS
    if name in ("identity", "diagonal") or not kernel.needs_axis_aligned_metric
]
