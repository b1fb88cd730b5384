"""Optimisers that move a weight only as far as its Gram matrix requires.

The package holds one wrapper, :class:`GramWhitened` of the weight-Gram paper (E), and its two functions of linear
algebra. May import ``core`` and ``features`` only.

>>> import torch
>>> from gramian.optim import GramWhitened
>>> W = torch.nn.Parameter(torch.eye(3))
>>> optimizer = GramWhitened(torch.optim.SGD([W], lr=0.1))
>>> W.square().sum().backward(); optimizer.step()
"""

from gramian.optim.polar import nearest_with_gram, polar
from gramian.optim.whitened import GramWhitened

__all__ = ["GramWhitened", "nearest_with_gram", "polar"]
