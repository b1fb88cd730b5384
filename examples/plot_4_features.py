"""
Learned and true features
=========================

On synthetic data the learned features can be compared with the true ones: for
:math:`y = He_2(u \\cdot x) + He_4(u \\cdot x)` the expected gradient outer product is a multiple of :math:`uu^\\top`.
Over pixels, the learned matrix shows which of them matter.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

from gramian import RFMClassifier, RFMRegressor
from gramian.core import cosine
from gramian.datasets import hermite_index
from gramian.report import plot_feature_matrix, plot_image_features

data = hermite_index(n=500, seed=0)
model = RFMRegressor(kernel="gaussian", update="agop", n_rounds=4).fit(data.X, data.y)

# %%
# Left: the true matrix; right: the matrix learned from 500 rows.
_, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.1), layout="constrained")
left.set_title("truth")
right.set_title(f"learned (cosine {cosine(torch.tensor(model.feature_matrix_), torch.tensor(data.egop)):.3f})")
plot_feature_matrix(data.egop / data.egop.max(), left, scale_bar=False)
plot_feature_matrix(model, right, scale_bar=False)

# %%
# Handwritten digits: the pixels that distinguish an 8 from the other digits, and the strongest direction.
X, y = load_digits(return_X_y=True)
digits = RFMClassifier(kernel="laplace", update="agop", n_rounds=2, standardize=False).fit(X[:500] / 16, y[:500] == 8)
_, axes = plt.subplots(1, 3, figsize=(6.8, 2.5), layout="constrained")
axes[0].imshow(X[8].reshape(8, 8), cmap="gray_r")
axes[0].set(title="an 8", xticks=[], yticks=[])
axes[1].set_title("weights of pixels")
axes[2].set_title("first direction")
plot_image_features(digits, axes[1], shape=(8, 8))
plot_image_features(digits, axes[2], shape=(8, 8), what="eigenvector")
