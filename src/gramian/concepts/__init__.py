"""Concepts in language models: hidden states, probes, detectors and directions to steer with.

May import every package below ``distributed``, ``report``, ``bench`` and ``cli``; ``transformers`` is never imported
here, a model is any ``nn.Module`` and a tokenizer any callable with the signature of Hugging Face's.

>>> from torch import nn
>>> from gramian.concepts import block_names
>>> block_names(nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])}))
('layers.0', 'layers.1')
"""

from gramian.concepts.activations import Activations, collect
from gramian.concepts.concept import Concept
from gramian.concepts.directions import LayerDirection
from gramian.concepts.fitting import fit_concept
from gramian.concepts.layers import block_names
from gramian.concepts.probe import ProbeOptions

__all__ = ["Activations", "Concept", "LayerDirection", "ProbeOptions", "block_names", "collect", "fit_concept"]
