"""Experiments of paper D, on the features at convergence theorem (FACT); importing the package registers them."""

from gramian.experiments.d_fact import (
    layers,
    linear,
    minima,
    modular,
    parity,
    separation,
    stationary,
    table2,
    table3,
    theorems,
)

__all__ = [
    "layers",
    "linear",
    "minima",
    "modular",
    "parity",
    "separation",
    "stationary",
    "table2",
    "table3",
    "theorems",
]
