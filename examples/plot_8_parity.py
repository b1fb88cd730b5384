"""
Three bits of twenty: sparse parity
===================================

The label is the product of three of twenty bits, so no single bit has information about it. From 400 rows, a plain
kernel machine (round 0) predicts hardly better than chance. Within a few rounds a recursive feature machine finds the
three bits, with AGOP and with FACT, and then predicts every label. This is shown in Fig. 1 and 5 of the FACT paper (D),
*FACT: the Features At Convergence Theorem for neural networks*.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from gramian import RFMClassifier
from gramian.datasets import sparse_parity
from gramian.features import Agop, Fact
from gramian.kernels import Gaussian
from gramian.report import plot_feature_matrix
from gramian.report.style import BLUE, ORANGE, finish

n, rounds = 400, 6
data = sparse_parity(n + 500, d=20, k=3, seed=0)
X, y, X_out, y_out = data.X[:n], data.y[:n], data.X[n:], data.y[n:]
support = np.flatnonzero(np.diag(data.egop))
updates = {"AGOP^½": Agop(power=0.5, scale="mean"), "FACT": Fact(geometric=True, scale="mean")}


def fit(update, n_rounds):
    """Fit a model with a given number of rounds."""
    return RFMClassifier(
        kernel=Gaussian(5.0), update=update, ridge=1e-8, n_rounds=n_rounds, select_round="last", standardize=False
    ).fit(X, y)


# %%
# Accuracy on new rows (solid) and the share of the three true bits in the trace of M (dashed), round by round:
_, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
last = {}
for (name, update), colour in zip(updates.items(), (BLUE, ORANGE), strict=True):
    models = [fit(update, k) for k in range(rounds + 1)]
    diagonals = [np.diag(model.feature_matrix_) for model in models]
    ax.plot([model.score(X_out, y_out) for model in models], "o-", color=colour, label=f"{name}: accuracy")
    ax.plot(
        [d[support].sum() / d.sum() for d in diagonals], "s--", color=colour, label=f"{name}: share of the three bits"
    )
    last[name] = models[-1]
ax.xaxis.set_major_locator(MaxNLocator(integer=True))
ax.set(xlabel="round", ylim=(0, 1.03))
ax.legend(frameon=False, fontsize=7)
finish(ax, grid="y")

# %%
# The numbers of the three bits:
print(support)

# %%
# The learned matrices after six rounds:
_, axes = plt.subplots(1, 2, figsize=(6.8, 3.1), layout="constrained")
for ax, (name, model) in zip(axes, last.items(), strict=True):
    plot_feature_matrix(model, ax, scale_bar=False)
    ax.set_title(f"M learned with {name}")
