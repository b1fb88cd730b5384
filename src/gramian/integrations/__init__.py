"""Adapters to tools outside this library: AutoGluon and TabArena, MLflow, and the Hugging Face Hub.

Contents: ``autogluon`` has a model for AutoGluon's predictor, ``mlflow`` saves and logs models in MLflow's format, and
``hub`` writes a model card beside a model file and uploads both. Each tool is an extra, imported when its adapter
is used; an ImportError names the line that installs it. The adapters pass data and settings on to the estimators, and
contain no training of their own. For Optuna see :func:`gramian.rfm.search.published_space`.

May import ``rfm`` and everything below it.

>>> import tempfile
>>> from pathlib import Path
>>> from sklearn.datasets import load_diabetes
>>> from gramian import RFMRegressor
>>> from gramian.integrations.hub import save_for_hub
>>> model = RFMRegressor(preset="fast", n_rounds=1).fit(*load_diabetes(return_X_y=True, as_frame=True))
>>> with tempfile.TemporaryDirectory() as folder:
...     sorted(path.name for path in save_for_hub(model, Path(folder) / "diabetes").iterdir())
['README.md', 'model.gramian']
"""
