"""gramian: feature learning with kernel machines and in networks.

>>> from sklearn.datasets import load_diabetes
>>> from gramian import RFMRegressor
>>> X, y = load_diabetes(return_X_y=True, as_frame=True)
>>> model = RFMRegressor().fit(X, y)
>>> model.feature_names_in_[model.feature_importances_.argmax()] in ("bmi", "s5")
True
"""

from gramian.core.plugins import register_plugin
from gramian.core.version import __version__
from gramian.nets import FeatureReport, Monitor, compare, inspect
from gramian.rfm import RFMClassifier, RFMRegressor, load

__all__ = ["FeatureReport", "Monitor", "RFMClassifier", "RFMRegressor", "__version__", "compare", "inspect", "load"]

# The one place that knows the whole house: rooms above answer for packages that rooms below only meet.
register_plugin("dask", "gramian.distributed")
register_plugin("distributed", "gramian.distributed")
register_plugin("matplotlib", "gramian.report.overview")
