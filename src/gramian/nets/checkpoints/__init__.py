"""Checkpoints on disk: weights read one tensor at a time, reports on them without data, and models built from folders.

:func:`inspect_weights` measures the weight matrices of a file, a folder of Hugging Face or a state dict;
:func:`load_pretrained` and :func:`text_batches` make a model and its data from a folder and texts.

>>> import torch
>>> from gramian.nets.checkpoints import inspect_weights
>>> inspect_weights(torch.nn.Linear(3, 2)).layers
['model']
"""

from gramian.nets.checkpoints.opening import CheckpointLike, open_checkpoint
from gramian.nets.checkpoints.pretrained import load_pretrained, load_tokenizer
from gramian.nets.checkpoints.report import WeightRecord, WeightReport
from gramian.nets.checkpoints.texts import Texts, read_texts, text_batches
from gramian.nets.checkpoints.weights import inspect_weights

__all__ = [
    "CheckpointLike",
    "Texts",
    "WeightRecord",
    "WeightReport",
    "inspect_weights",
    "load_pretrained",
    "load_tokenizer",
    "open_checkpoint",
    "read_texts",
    "text_batches",
]
