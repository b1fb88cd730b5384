"""
Why this prediction?
====================

What each column adds to one prediction, and how predictions change along the direction a model has learned.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from gramian import RFMRegressor
from gramian.report import AlongDisplay, ExplanationDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = RFMRegressor(preset="fast", random_state=0).fit(X, y)

# %%
# One patient
# -----------
# Contributions add up to the difference between this prediction and that for the mean patient: they are gradients of
# the model integrated along the way from one to the other.
_, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
ExplanationDisplay.from_estimator(model, X.iloc[[3]], ax=ax)

# %%
# The same as a table, with the training rows that add most:
print(model.explain(X.iloc[[3]]))

# %%
# All patients, along the strongest direction
# -------------------------------------------
# Every training row is moved along the direction and keeps the rest; the band holds 80 % of the rows.
_, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
AlongDisplay.from_estimator(model, ax=ax)
