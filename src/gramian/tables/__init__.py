"""Raw tables to numbers and back: encoding, missing values, scaling, labels and targets, names.

May import ``core`` only. pandas and polars are recognised, but not required.

>>> from gramian.tables import TableEncoder, needs_encoding
>>> rows = [[1.5, "red"], [None, "blue"], [0.5, "red"]]
>>> needs_encoding(rows)
True
>>> TableEncoder().fit_transform(rows)
array([[1.5, 0. , 1. ],
       [1. , 1. , 0. ],
       [0.5, 0. , 1. ]])
"""

from gramian.tables.columns import needs_encoding
from gramian.tables.encoder import ColumnRecord, TableEncoder
from gramian.tables.labels import encode_labels, label_codes, read_target
from gramian.tables.unseen import unseen_levels

__all__ = [
    "ColumnRecord",
    "TableEncoder",
    "encode_labels",
    "label_codes",
    "needs_encoding",
    "read_target",
    "unseen_levels",
]
