"""Seeded synthetic tasks whose true features are known, and readers for public data on the local disk.

May import ``core`` and ``tables``. Nothing here downloads anything: public data is looked for in the folder
``GRAMIAN_DATA``.

>>> from gramian.datasets import hermite_index
>>> data = hermite_index(n=200, seed=0)
>>> data.X.shape, data.subspace.shape, data.egop.shape
((200, 10), (10, 1), (10, 10))
"""

from gramian.datasets.base import Dataset, Split
from gramian.datasets.boolean import low_rank_product, sparse_parity
from gramian.datasets.composed import mark_class, marked_pixels, pair_by_class, resized, street_numbers, unit_rows
from gramian.datasets.conll import TaggedSentences, conll2003
from gramian.datasets.gaussian import gated_product, hermite_index, staircase
from gramian.datasets.images import cifar10, cifar100, mnist
from gramian.datasets.modular import modular_arithmetic
from gramian.datasets.public import (
    covertype,
    diamonds,
    grinsztajn,
    grinsztajn_names,
    sst2,
    uci,
    uci_names,
    uci_regression,
    uci_regression_names,
)
from gramian.datasets.spiral import swiss_roll

__all__ = [
    "Dataset",
    "Split",
    "TaggedSentences",
    "cifar10",
    "cifar100",
    "conll2003",
    "covertype",
    "diamonds",
    "gated_product",
    "grinsztajn",
    "grinsztajn_names",
    "hermite_index",
    "low_rank_product",
    "mark_class",
    "marked_pixels",
    "mnist",
    "modular_arithmetic",
    "pair_by_class",
    "resized",
    "sparse_parity",
    "sst2",
    "staircase",
    "street_numbers",
    "swiss_roll",
    "uci",
    "uci_names",
    "uci_regression",
    "uci_regression_names",
    "unit_rows",
]
