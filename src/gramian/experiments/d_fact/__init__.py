"""Experiments of paper D, on the features at convergence theorem (FACT); importing the package registers them."""

from gramian.experiments.d_fact import (
    agreement,
    layers,
    limit,
    linear,
    minima,
    modular,
    parity,
    separation,
    stability,
    stationary,
    table2,
    table2_order,
    table3,
    theorems,
)

__all__ = [
    "agreement",
    "layers",
    "limit",
    "linear",
    "minima",
    "modular",
    "parity",
    "separation",
    "stability",
    "stationary",
    "table2",
    "table2_order",
    "table3",
    "theorems",
]
