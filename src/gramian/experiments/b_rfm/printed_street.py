"""The printed values of Fig. 11, on SVHN."""

from __future__ import annotations

ACCURACIES = {
    "nn": (0.7761, 0.7872, 0.7932, 0.7903),
    "ntk": (0.7361, 0.7366, 0.7356, 0.7353),
    "ntk on features": (0.8228, 0.7988, 0.7942, 0.7889),
    "laplace on features": (0.7955, 0.7922, 0.7890, 0.7865),
}
"""Accuracies of Fig. 11 for depths 1 to 4."""
ERRORS = {
    "nn": (0.0538, 0.0476, 0.0413, 0.0405),
    "ntk": (0.0547, 0.0543, 0.0541, 0.0539),
    "ntk on features": (0.0466, 0.0474, 0.0469, 0.0467),
    "laplace on features": (0.0347, 0.0364, 0.0376, 0.0381),
}
"""Mean squared errors of Fig. 11 for depths 1 to 4."""
LAPLACE = (0.6676, 0.0549)
"""Accuracy and mean squared error of the Laplace kernel."""
