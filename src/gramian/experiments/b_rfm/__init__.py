"""Experiments of paper B, on recursive feature machines (RFM); importing the package registers them."""

from gramian.experiments.b_rfm import fig5, gradient, metrics, propositions, sample_complexity, theorem1

__all__ = ["fig5", "gradient", "metrics", "propositions", "sample_complexity", "theorem1"]
