"""Paper D: importing this package enters its experiments in the registry."""

from gramian.experiments.d_fact import depth, laws, linear, minima, modular, parity, separation, settled, table2, table3

__all__ = ["depth", "laws", "linear", "minima", "modular", "parity", "separation", "settled", "table2", "table3"]
