"""
Calibration of probabilities
============================

Of the rows whose predicted class has a probability of 80 %, about 80 % should be of that class. A fitted classifier has
out-of-fold predictions for its training rows, so no extra data are needed to check this. Any number of classes works.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from gramian import RFMClassifier
from gramian.report import plot_reliability

X, y = load_digits(return_X_y=True)
model = RFMClassifier(preset="fast", n_rounds=1).fit(X[:300], y[:300])

# %%
# Left: out-of-fold predictions; right: new rows. Lines are 90 % intervals; the area of a dot is the share of rows in
# its bin.
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.4), layout="constrained")
plot_reliability(model.reliability(bins=5), left)
plot_reliability(model.reliability(X[300:], y[300:], bins=5), right)
