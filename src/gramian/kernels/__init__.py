"""Kernels, metrics on their inputs, and products with kernel matrices.

May import ``core`` only.

>>> import torch
>>> from gramian.kernels import Laplace, as_metric
>>> X = torch.tensor([[0.0, 0.0], [1.0, 5.0]])
>>> Laplace(bandwidth=1.0)(X, metric=as_metric(torch.tensor([1.0, 0.0])))
tensor([[1.0000, 0.3679],
        [0.3679, 1.0000]])
"""

from gramian.kernels.base import Kernel, SmoothKernel
from gramian.kernels.gradients import GradientMoments, fact_sum, gradient_moments, gradient_rows
from gramian.kernels.inner import ExponentialDot, Polynomial
from gramian.kernels.lp import Lp
from gramian.kernels.metric import Diagonal, Full, Identity, LowRank, Metric, as_metric
from gramian.kernels.ntk import NNGP, NTK
from gramian.kernels.operator import KernelOperator
from gramian.kernels.radial import Exponential, Gaussian, Laplace, Matern
from gramian.kernels.scored import ColumnScores, ScoredLp

BY_NAME: dict[str, Kernel] = {
    "laplace": Laplace(),
    "gaussian": Gaussian(),
    "exponential": Exponential(),
    "matern": Matern(),
    "lp": Lp(),
    "scored-lp": ScoredLp(),
    "polynomial": Polynomial(),
    "exponential-dot": ExponentialDot(),
    "ntk": NTK(),
    "nngp": NNGP(),
}
"""Kernels with their default options, by the names that an estimator accepts."""

__all__ = [
    "BY_NAME",
    "NNGP",
    "NTK",
    "ColumnScores",
    "Diagonal",
    "Exponential",
    "ExponentialDot",
    "Full",
    "Gaussian",
    "GradientMoments",
    "Identity",
    "Kernel",
    "KernelOperator",
    "Laplace",
    "LowRank",
    "Lp",
    "Matern",
    "Metric",
    "Polynomial",
    "ScoredLp",
    "SmoothKernel",
    "as_metric",
    "fact_sum",
    "gradient_moments",
    "gradient_rows",
]
