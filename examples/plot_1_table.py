"""
Features learned from a table
=============================

A recursive feature machine (RFM) is a kernel machine that learns which directions of its input matter. After the fit,
figures show the columns to which its predictions are sensitive, the learned directions, and the gain from them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from gramian import RFMClassifier
from gramian.report import (
    plot_directions,
    plot_importance_intervals,
    plot_importances,
    plot_interactions,
    plot_permutation_importances,
    plot_rounds,
)

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = RFMClassifier(preset="fast").fit(X, y)
print(model.summary())

# %%
# Importances
# -----------
# The share of each column in the sensitivity of the predictions, with intervals from refits to parts of the rows.
_, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
plot_importance_intervals(model.importances(), ax, top=10)

# %%
# Without intervals, this needs no resampling and works for every model with ``feature_importances_``:
_, ax = plt.subplots(figsize=(6.8, 3), layout="constrained")
plot_importances(model, ax, top=6)

# %%
# What the score loses when the entries of a column are permuted is another measure. It is small for columns that
# others can replace.
_, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
plot_permutation_importances(model.permutation_importances(), ax, top=8)

# %%
# Directions
# ----------
# Eigenvectors of the learned matrix, and their loadings on the columns.
_, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
plot_directions(model.directions(2), ax)

# %%
# Pairs of columns whose changes act together:
_, ax = plt.subplots(figsize=(6.8, 3.2), layout="constrained")
plot_interactions(model.interactions(6), ax)

# %%
# Rounds
# ------
# Round 0 is plain kernel ridge regression. Each further round uses the features that the previous round has learned.
# The round is selected by its error on holdout rows.
_, ax = plt.subplots(figsize=(4.6, 3), layout="constrained")
plot_rounds(model, ax)
