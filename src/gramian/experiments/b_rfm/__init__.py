"""Experiments of paper B, on recursive feature machines; importing the package registers them."""

from gramian.experiments.b_rfm import (
    grokking,
    simplicity,
)

__all__ = [
    "grokking",
    "simplicity",
]
