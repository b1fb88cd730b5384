"""Experiments of paper E, on the weight Gram matrix and target linearity; importing the package registers them."""

from gramian.experiments.e_gram import (
    generation,
    linearity,
    linearity_why,
    random_labels,
    transformer_layers,
    whitening,
)

__all__ = ["generation", "linearity", "linearity_why", "random_labels", "transformer_layers", "whitening"]
