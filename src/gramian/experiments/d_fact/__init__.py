"""Paper D: importing this package enters its experiments in the registry."""

from gramian.experiments.d_fact import modular, separation, table2

__all__ = ["modular", "separation", "table2"]
