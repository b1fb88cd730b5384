"""
A first table
=============

Fit scikit-learn's diabetes table with the defaults and look at what was learned: which columns count, how sure that is,
and along which combination of columns the prediction moves.
"""

# %%
# Fit. Nothing to scale, nothing to tune: kernel, bandwidth, ridge and the number of rounds are chosen inside.

from matplotlib import pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from gramian import RFMRegressor
from gramian.report import plot_directions, plot_importance_intervals

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RFMRegressor(preset="fast").fit(X_train, y_train)
f"R² on {len(X_test)} held-out rows: {model.score(X_test, y_test):.2f}"

# %%
# Which columns the prediction depends on, with bootstrap intervals over the rows.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_importance_intervals(model.importances(level=0.9), ax=ax)

# %%
# The strongest learned direction: an eigenvector of the feature matrix M, with named loadings.

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
plot_directions(model, ax=ax)
