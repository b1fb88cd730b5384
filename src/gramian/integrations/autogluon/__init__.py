"""A model for AutoGluon's ``TabularPredictor``, and the functions it is made of.

Contents: :class:`GramianModel` is the model; :func:`fit_estimator` fits an estimator in AutoGluon's terms (problem
type, validation rows, seconds, cores, free memory), and :func:`fit_bytes` forecasts the memory of that fit. The model
for TabArena, in ``integrations/tabarena`` of the source, is made of the same two functions.

May import ``rfm`` and everything below it.

>>> from gramian.integrations.autogluon import fit_estimator
>>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
>>> fit_estimator("binary", X, y, params={"preset": "fast"}, n_threads=1).predict([[0.5], [2.5]])
array([0, 1])
"""

from gramian.integrations.autogluon.fitting import fit_estimator, make_estimator
from gramian.integrations.autogluon.memory import fit_bytes, forecast_plan
from gramian.integrations.autogluon.model import GramianModel

__all__ = ["GramianModel", "fit_bytes", "fit_estimator", "forecast_plan", "make_estimator"]
