"""Paper C: importing this package enters its experiments in the registry."""

from gramian.experiments.c_deep_nfa import curves, nonlinear, powers, sampled, tables, theorems, why

__all__ = ["curves", "nonlinear", "powers", "sampled", "tables", "theorems", "why"]
