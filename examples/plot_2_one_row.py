"""
Explanation of one prediction
=============================

The contribution of each column to one prediction, and the predictions along a learned direction.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gramian import RFMRegressor
from gramian.report import plot_explanation, plot_partial_dependence

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = RFMRegressor(preset="fast", random_state=0).fit(X, y)

# %%
# One patient
# -----------
# The contributions sum to the difference between this prediction and that for the mean patient. They are gradients of
# the model, integrated along the line from one to the other.
_, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
plot_explanation(model.explain(X.iloc[[3]]), ax)

# %%
# The same as a table, with the training rows of the largest contributions:
print(model.explain(X.iloc[[3]]))

# %%
# All patients, along the strongest direction
# -------------------------------------------
# Every training row is moved along the direction and is otherwise unchanged; the band contains 80 % of the rows.
_, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
plot_partial_dependence(model.partial_dependence_along(), ax)
