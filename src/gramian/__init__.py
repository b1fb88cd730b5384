"""gramian: feature learning with kernel machines and in networks.

>>> from sklearn.datasets import load_diabetes
>>> from gramian import RFMRegressor
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = RFMRegressor(preset="fast").fit(X, y)
>>> model.feature_names_in_[model.feature_importances_.argmax()] in ("bmi", "s5")
True
"""

from typing import TYPE_CHECKING

from gramian.core.lazy import lazily
from gramian.core.plugins import register_figures, register_plugin
from gramian.core.version import __version__

if TYPE_CHECKING:
    from gramian.nets import FeatureReport, Monitor, compare, inspect
    from gramian.rfm import RFMClassifier, RFMRegressor, RFMSearch, load
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "gramian.nets": ["FeatureReport", "Monitor", "compare", "inspect"],
            "gramian.rfm": ["RFMClassifier", "RFMRegressor", "RFMSearch", "load"],
        },
        subpackages=["concepts", "features", "files", "kernels", "nets", "rfm", "solvers", "tables"],
    )

__all__ = [
    "FeatureReport",
    "Monitor",
    "RFMClassifier",
    "RFMRegressor",
    "RFMSearch",
    "__version__",
    "compare",
    "inspect",
    "load",
]

# The packages below look these modules up by the third-party package they are for, instead of importing upwards.
register_plugin("dask", "gramian.distributed")
register_plugin("distributed", "gramian.distributed")
register_figures(
    "gramian.report",
    {
        "Along": "plot_partial_dependence",
        "Directions": "plot_directions",
        "Explanation": "plot_explanation",
        "Importances": "plot_importance_intervals",
        "Interactions": "plot_interactions",
        "PermutationImportances": "plot_permutation_importances",
        "Reliability": "plot_reliability",
    },
)
