"""
Features of the first layer
===========================

The feature matrices of one layer, and the strongest directions of a layer with image input, drawn as images.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from gramian import inspect
from gramian.report import plot_layer, plot_layer_directions, plot_layer_matrix, plot_spectra

X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, weight_decay=3e-3)
for _ in range(800):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(X[:800]), y[:800]).backward()
    optimizer.step()
report = inspect(model, (X[:800], y[:800]), loss="cross_entropy", weight_decay=optimizer)

# %%
# WᵀW, the average gradient outer product (AGOP), and FACT, which equals WᵀW once training has converged:
_, axes = plt.subplots(1, 3, figsize=(6.8, 2.6), layout="constrained")
for ax, name in zip(axes, ("nfm", "agop", "fact"), strict=True):
    plot_layer_matrix(report, ax, layer="0", name=name)

# %%
# Over pixels: the diagonals as images, then the five strongest directions of AGOP with their shares.
_, axes = plt.subplots(1, 3, figsize=(6.8, 2.6), layout="constrained")
for ax, name in zip(axes, ("nfm", "agop", "fact"), strict=True):
    plot_layer_matrix(report, ax, layer="0", name=name, shape=(8, 8))
_, ax = plt.subplots(figsize=(6.8, 1.8), layout="constrained")
plot_layer_directions(report, ax, shape=(8, 8))

# %%
# The outputs are sensitive to few directions; the weights use more.
_, ax = plt.subplots(figsize=(4.6, 3), layout="constrained")
plot_spectra(report, ax, layers=["0"], names=("nfm", "agop"))

# %%
# All matrices of a layer in one figure
# -------------------------------------
plt.figure(plot_layer(report, "0"))
