"""Experiments of paper B, on recursive feature machines; importing the package registers them."""

from gramian.experiments.b_rfm import (
    grokking,
    shared_features,
    simplicity,
    street,
    tickets,
    tickets_why,
)

__all__ = [
    "grokking",
    "shared_features",
    "simplicity",
    "street",
    "tickets",
    "tickets_why",
]
