"""
What a model learned from a table
=================================

A recursive feature machine is a kernel machine that learns which directions of its input matter. After the fit it can
say which columns it answers to, along which combinations of them, and what the learning brought.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from gramian import RFMClassifier
from gramian.report import DirectionsDisplay, ImportancesDisplay, RoundsDisplay, plot_importances

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = RFMClassifier(preset="fast").fit(X, y)
print(model.summary())

# %%
# Which columns
# -------------
# The share of each column in the sensitivity of the predictions, with intervals from resampled rows.
_, ax = plt.subplots(figsize=(6.8, 4), layout="constrained")
ImportancesDisplay.from_estimator(model, ax=ax, top=10)

# %%
# Without intervals, at once, and for anything that has ``feature_importances_``:
_, ax = plt.subplots(figsize=(6.8, 3), layout="constrained")
plot_importances(model, ax, top=6)

# %%
# Along which directions
# ----------------------
# Eigenvectors of the learned matrix, on the columns that carry them.
_, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
DirectionsDisplay.from_estimator(model, k=2, ax=ax)

# %%
# Was it worth it?
# ----------------
# Round 0 is plain kernel ridge regression. Each further round looks through the features the last one found; the round
# that predicts held-out rows best is kept.
_, ax = plt.subplots(figsize=(4.6, 3), layout="constrained")
RoundsDisplay.from_estimator(model, ax=ax)
