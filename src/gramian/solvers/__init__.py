"""Solvers of ``(K + λI) α = Y``: one per file behind one interface, each with a record of the solve.

May import ``core`` and ``kernels``.

>>> import torch
>>> from gramian.kernels import KernelOperator, Laplace
>>> from gramian.solvers import Direct, RidgeSystem
>>> K = KernelOperator(Laplace(1.0), torch.linspace(0, 1, 5, dtype=torch.float64)[:, None])
>>> Direct().solve(RidgeSystem(K, torch.ones(5, 1, dtype=torch.float64), ridge=0.1)).info.status
'solved in float64'
"""

from gramian.solvers.base import SingularKernelError, Solution, SolveInfo, Solver, Workspace
from gramian.solvers.cg import ConjugateGradient
from gramian.solvers.direct import Direct
from gramian.solvers.eigenpro import EigenPro
from gramian.solvers.nystrom import Nystrom
from gramian.solvers.ridge_path import SPECTRAL_ROWS, RidgePath, RidgePoint
from gramian.solvers.system import RidgeSystem, StreamedSystem

BY_NAME: dict[str, Solver] = {
    "direct": Direct(),
    "cg": ConjugateGradient(),
    "nystrom": Nystrom(),
    "eigenpro": EigenPro(),
}
"""Solvers with their default options, by the names that an estimator accepts."""

__all__ = [
    "BY_NAME",
    "SPECTRAL_ROWS",
    "ConjugateGradient",
    "Direct",
    "EigenPro",
    "Nystrom",
    "RidgePath",
    "RidgePoint",
    "RidgeSystem",
    "SingularKernelError",
    "Solution",
    "SolveInfo",
    "Solver",
    "StreamedSystem",
    "Workspace",
]
