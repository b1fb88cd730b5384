"""Measurements of what every layer of a PyTorch network has learned.

:func:`inspect` measures a model on data, :class:`Monitor` does so during training, :func:`compare` compares two
checkpoints, or a network with a kernel machine. :func:`inspect_weights` measures the weights of a checkpoint without
data, and :func:`inspect_checkpoints` all checkpoints of a run. The way of the data is ``capture`` (hooks) → ``collect``
(sums over batches) → ``matrices`` (the table of feature matrices) → ``metrics`` (one row per layer) → ``report``.
May import ``core``, ``display``, ``features`` and ``files`` only.

>>> import torch
>>> from gramian.nets import inspect
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
>>> report = inspect(model, torch.eye(4))
>>> report.matrix("0", "agop").shape
(4, 4)
"""

from gramian.nets.checkpoints import WeightReport, inspect_weights
from gramian.nets.compare import Comparison, compare
from gramian.nets.geometry import FeatureMoments, balancedness, neural_collapse, surrogate, target_linearity
from gramian.nets.inspection import inspect
from gramian.nets.layer_forms import LayerForm, register_layer
from gramian.nets.monitor import Monitor
from gramian.nets.options import InspectOptions
from gramian.nets.report import FeatureReport
from gramian.nets.trajectory import Trajectory, inspect_checkpoints

__all__ = [
    "Comparison",
    "FeatureMoments",
    "FeatureReport",
    "InspectOptions",
    "LayerForm",
    "Monitor",
    "Trajectory",
    "WeightReport",
    "balancedness",
    "compare",
    "inspect",
    "inspect_checkpoints",
    "inspect_weights",
    "neural_collapse",
    "register_layer",
    "surrogate",
    "target_linearity",
]
