"""Experiments of paper E, on the weight Gram matrix; importing the package registers them."""

from gramian.experiments.e_gram import (
    bounds,
    collapse,
    grokking,
    growth,
    identities,
    layerwise,
    pairs,
    regimes,
    shift_pictures,
    swiss,
    virtual_updates,
)

__all__ = [
    "bounds",
    "collapse",
    "grokking",
    "growth",
    "identities",
    "layerwise",
    "pairs",
    "regimes",
    "shift_pictures",
    "swiss",
    "virtual_updates",
]
