"""
A network, layer by layer
=========================

``inspect`` runs a trained network once over data and measures for every layer: whether its weights agree with the
sensitivity of the outputs (the neural feature ansatz, NFA), whether its training has converged (FACT), how many
directions it uses, and how linear the target is in its features.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from gramian import inspect
from gramian.report import plot_alignment, plot_geometry, plot_ranks, plot_report, plot_spectra

X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X / 16, dtype=torch.float32), torch.tensor(y)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, weight_decay=1e-3)
for _ in range(600):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(X[:800]), y[:800]).backward()
    optimizer.step()

report = inspect(model, (X[:800], y[:800]), loss="cross_entropy", weight_decay=optimizer)
print(report)

# %%
# Alignment and ranks
# -------------------
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3), layout="constrained")
plot_alignment(report, left)
plot_ranks(report, right)

# %%
# Features and the target, and spectra
# ------------------------------------
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3), layout="constrained")
plot_geometry(report, left)
plot_spectra(report, right)

# %%
# All of it in one figure
# -----------------------
plt.figure(plot_report(report))
