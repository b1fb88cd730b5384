"""
A network, layer by layer
=========================

``inspect`` runs a trained network once over data and tells, for every layer, whether its weights show what the outputs
answer to (the neural feature ansatz), whether training has come to rest there (FACT), how many directions it uses, and
how linear the target is in its features.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

from gramian import inspect
from gramian.report import AlignmentDisplay, GeometryDisplay, RanksDisplay, SpectraDisplay

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
AlignmentDisplay.from_report(report, ax=left)
RanksDisplay.from_report(report, ax=right)

# %%
# Features and the target, and spectra
# ------------------------------------
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3), layout="constrained")
GeometryDisplay.from_report(report, ax=left)
SpectraDisplay.from_report(report, ax=right)

# %%
# All of it in one figure
# -----------------------
plt.figure(report.plot())
