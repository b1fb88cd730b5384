"""
Do probabilities mean what they say?
====================================

Of the rows whose class was given 80 %, about 80 % should be of that class. A fitted classifier knows its predictions
for rows it was not fitted to (its folds), so no extra data is needed to look; more than two classes are no obstacle.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gramian import RFMClassifier
from gramian.report import ReliabilityDisplay

X, y = load_digits(return_X_y=True)
model = RFMClassifier(preset="fast", n_rounds=1).fit(X[:300], y[:300])

# %%
# Left the folds of the fit, right rows that came later. Lines are 90 % intervals, the area of a dot is the share of
# rows in its bin.
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4), layout="constrained")
ReliabilityDisplay.from_estimator(model, bins=5, ax=left)
ReliabilityDisplay.from_estimator(model, X[300:], y[300:], bins=5, ax=right)
