"""
A kernel machine and a network learn the same features
======================================================

The matrix that a recursive feature machine learns resembles WᵀW of the first layer of a network that was trained on the
same data. This is the main result of the RFM paper (B), *Feature learning in neural networks and kernel machines that
recursively learn features*.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

from gramian import RFMRegressor, compare, inspect
from gramian.datasets import low_rank_product
from gramian.report import plot_feature_matrix, plot_layer_matrix

data = low_rank_product(n=500, d=12, seed=0)
machine = RFMRegressor(kernel="gaussian", update="agop", n_rounds=3, standardize=False).fit(data.X, data.y)

X, y = torch.tensor(data.X, dtype=torch.float32), torch.tensor(data.y, dtype=torch.float32)[:, None]
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, weight_decay=1e-3)
for _ in range(800):
    optimizer.zero_grad()
    nn.functional.mse_loss(network(X), y).backward()
    optimizer.step()
report = inspect(network, (X, y), loss="mse")

# %%
_, axes = plt.subplots(1, 3, figsize=(6.8, 2.6), layout="constrained")
plot_feature_matrix(machine, axes[0], scale_bar=False)
axes[0].set_title("M of the kernel machine", fontsize=9)
axes[0].set(xticks=[], yticks=[])
for ax, name in zip(axes[1:], ("nfm", "agop"), strict=True):
    plot_layer_matrix(report, ax, layer="0", name=name)

# %%
print(compare(machine, report))
