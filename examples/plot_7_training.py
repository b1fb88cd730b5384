"""
Measurements during training
============================

A ``Monitor`` measures a network every few steps. If the initial weights are large, WᵀW agrees little with AGOP
(UC-NFA), while the change of the weights since initialisation agrees with it from the first steps on (C-NFA). This
is the main result of the alignment paper (A), *Gradient descent induces alignment between weights and the
pre-activation tangents*.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from gramian import Monitor
from gramian.datasets import low_rank_product
from gramian.report import plot_history, plot_trajectory

data = low_rank_product(n=400, d=16, seed=0)
X, y = torch.tensor(data.X, dtype=torch.float32), torch.tensor(data.y, dtype=torch.float32)[:, None]

_, axes = plt.subplots(1, 2, figsize=(6.8, 3.1), layout="constrained", sharey=True)
for ax, scale in zip(axes, (0.3, 1.5), strict=True):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(scale)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    monitor = Monitor(model, (X, y), loss="mse", every=50, optimizer=optimizer)
    for _ in range(1001):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(X), y).backward()
        monitor.step()
        optimizer.step()
    plot_trajectory(monitor, ax, columns=("nfa_cos", "c_nfa_cos"))
    ax.set_xlabel(f"training step (initial weights × {scale:g})")

# %%
# All numbers of a measurement are one flat dict, which experiment trackers take:
for name in ("loss", "0/nfa_cos", "0/c_nfa_cos", "0/effective_rank"):
    print(f"{name:20} {monitor.metrics[name]:.3f}")

# %%
# All layers side by side, with the loss, for the network with large initial weights:
plt.figure(plot_history(monitor))
