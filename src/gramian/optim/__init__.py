"""Optimisers that move a weight only as far as its Gram matrix requires.

The package holds one wrapper, :class:`GramWhitened` of the weight-Gram paper (E), the choice of the weights that it
whitens in a model, and its two functions of linear algebra. May import ``core`` and ``features`` only.

>>> import torch
>>> from gramian.optim import GramWhitened
>>> net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
>>> optimizer = GramWhitened.for_model(net, torch.optim.AdamW)
>>> net(torch.eye(3)).square().sum().backward(); optimizer.step()
"""

from gramian.optim.matrix_form import MatrixForm, matrix_forms
from gramian.optim.polar import nearest_with_gram, polar
from gramian.optim.whitened import GramWhitened

__all__ = ["GramWhitened", "MatrixForm", "matrix_forms", "nearest_with_gram", "polar"]
