"""Everything a saved model may consist of. A class that an estimator keeps must stand here, or saving says so."""

from __future__ import annotations

from gramian import features, kernels, solvers
from gramian.files import register
from gramian.rfm.blend import Blend
from gramian.rfm.choice import Choice
from gramian.rfm.classifier import RFMClassifier
from gramian.rfm.compression import Compression
from gramian.rfm.data import Scaler
from gramian.rfm.evolution import Evolution
from gramian.rfm.judged import Judged
from gramian.rfm.machine import KernelMachine
from gramian.rfm.regressor import RFMRegressor
from gramian.rfm.rounds import Round, Rounds
from gramian.rfm.selection import HeldOut
from gramian.rfm.targets import TargetTransform
from gramian.rfm.tree import Splits, TreeMachine
from gramian.tables import ColumnRecord, TableEncoder
from gramian.tables.encodings import Category, Date, Number, Ordered

register(
    "kernels",
    kernels.Diagonal,
    kernels.Exponential,
    kernels.ExponentialDot,
    kernels.Full,
    kernels.Gaussian,
    kernels.Identity,
    kernels.KernelOperator,
    kernels.Laplace,
    kernels.LowRank,
    kernels.Lp,
    kernels.Matern,
    kernels.NNGP,
    kernels.NTK,
    kernels.Polynomial,
)
register("features", features.Agop, features.Fact)
register("solvers", solvers.ConjugateGradient, solvers.Direct, solvers.EigenPro, solvers.Nystrom, solvers.Partition)
register("tables", Category, ColumnRecord, Date, Number, Ordered, TableEncoder)
register("rfm", Blend, Compression, Judged, KernelMachine, RFMClassifier, RFMRegressor, Round, Scaler, TargetTransform)
register("rfm", Choice, HeldOut)  # in checkpoints
register("rfm", Evolution, Rounds, Splits, TreeMachine)
