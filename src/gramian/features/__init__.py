"""Feature matrices (pure functions of arrays) and the updates that turn them into the next metric.

``matrices`` defines the matrices of all papers once, for kernel machines and networks: AGOP of the RFM paper (B), eNFA
and FACT of the FACT paper (D), the virtual covariance shift of the weight-Gram paper (E). ``updates`` are the rules of
the training rounds. May import ``core`` only: never a kernel, a solver or a network.

>>> import torch
>>> from gramian.features import agop
>>> agop(torch.ones(5, 1, 2))
tensor([[1., 1.],
        [1., 1.]])
"""

from gramian.features.matrices import (
    agop,
    agop_from_moments,
    backward_fact,
    enfa,
    enfa_from_moments,
    fact,
    fact_from_moments,
    fact_geometric,
    fact_symmetric,
    gradient_second_moment,
    nfm,
    vcs_from_moments,
    virtual_covariance_shift,
)
from gramian.features.updates import BY_NAME, Agop, Fact, Factored, Update

__all__ = [
    "BY_NAME",
    "Agop",
    "Fact",
    "Factored",
    "Update",
    "agop",
    "agop_from_moments",
    "backward_fact",
    "enfa",
    "enfa_from_moments",
    "fact",
    "fact_from_moments",
    "fact_geometric",
    "fact_symmetric",
    "gradient_second_moment",
    "nfm",
    "vcs_from_moments",
    "virtual_covariance_shift",
]
