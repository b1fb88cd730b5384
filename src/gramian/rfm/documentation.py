"""Documentation of the parameters and attributes that both estimators share."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=type)

_PARAMETERS = """preset : "fast", "default" or "best", default="default"
        The kernels, updates and rounds that compete where ``kernel``, ``update`` and ``n_rounds`` are ``"auto"``, and
        the number of models that may predict together: see :data:`gramian.rfm.options.PRESETS`.
    kernel : str or Kernel, default="auto"
        A name from :data:`gramian.kernels.BY_NAME` or an object such as ``Laplace(bandwidth=10.0)``. By default the
        Laplace, the ℓ1 and the Gaussian kernel compete, and for columns with long tails the ℓ1 kernel of their normal
        scores.
    update : str or Update, default="auto"
        The update of the feature matrix: ``"agop"``, ``"agop-diagonal"``, ``"agop-sqrt"``, ``"fact"``,
        ``"fact-geometric"``, or an object such as ``Agop(power=0.5)``. With ``"auto"`` the full AGOP and its diagonal
        compete.
    n_rounds : int or "auto", default="auto"
        Rounds of feature learning after round 0, which is plain kernel ridge regression; 3 by default.
    select_round : "best" or "last", default="best"
        Select the earliest round within one standard error of the best on held-out rows, or the last round.
    metric : str or callable, default="auto"
        The loss on held-out rows by which rounds, candidates and their average are selected: ``"log_loss"``,
        ``"brier"``, ``"auc"`` or ``"accuracy"`` for classes, ``"rmse"`` or ``"mae"`` (in the units of y) for numbers,
        or a function ``loss(y_true, y_pred)`` that is to be small; for classes ``y_pred`` are probabilities. ``"auto"``
        is the squared error of the coded target, which selects as well as the log loss and costs less. Ridge and
        bandwidth are always selected by squared errors.
    ridge : float or "auto", default="auto"
        λ in ``K + λI``. ``"auto"`` selects it by the exact leave-one-out error (of at most 1,000 rows) in rounds 0 to
        2. For classification we take the simplest setting within one standard error of the best.
    ridge_scaling : None or "n", default=None
        ``"n"`` makes it ``K + nλI``.
    solver : "auto", "direct", "cg", "nystrom", "eigenpro", "tree" or an object, default="auto"
        Direct up to 4,000 rows; beyond, conjugate gradients to the same residual on half the kernel matrix, which fall
        back to a direct solve. Where ``max_memory`` is too small for that: without the matrix up to 30,000 rows, and a
        tree of exact machines (``TreePartition``) or Nyström regression beyond, with a warning.
    encoder : "auto" or TableEncoder, default="auto"
        Turns raw columns into numbers, where there is anything but complete columns of numbers; your own, such as
        ``TableEncoder(rank_gauss=True)``, is always used.
    standardize : bool, default=True
        Centre the columns and divide them by their standard deviation first.
    fit_intercept : bool, default=True
        Centre the target before the fit and add its mean to predictions.
    feature_threshold : float, optional
        RFM-T: after the rounds keep only columns whose diagonal entry of M, scaled to [0, 1], exceeds this threshold
        (0.05 in the RFM paper), and fit the base kernel on them.
    bagging : bool or "auto", default="auto"
        Average each selected model with its copies from the folds; only ``preset="best"`` does so by default.
    time_limit : float, optional
        Seconds for ``fit``, reading of the table included; predictions and pages are extra. A solve begins only where
        the forecast of its time fits into the limit, else a part of the rows is solved: a warning and ``fitted_rows_``
        say how many. Only reading the table and round 0 of the first candidate, on at most 4,000 rows where the limit
        is short, are always finished.
    checkpoint : path, optional
        A folder for finished rounds. The same fit, started again after an interrupt or a crash, continues from them and
        gives the same model; they are deleted once it is complete. One folder serves any number of fits.
    dtype : "auto", "float32" or "float64", default="auto"
        Working format; ``"auto"`` is float64 up to 1,000 rows. Systems that need float64 are solved in it anyway.
    device : str, default="auto"
        The torch device.
    max_memory : int or str, optional
        Bytes, or a string such as ``"8GB"``; 80 % of the free memory by default.
    n_threads : int, optional
        Torch threads during fit and predict. By default torch's own, and 1 up to 1,000 rows.
    n_jobs : int, optional
        Folds fitted in parallel, one thread each. The result does not depend on it.
    cluster : "auto" or None, default="auto"
        Inside a Dask ``Client`` its workers fit the folds and sum over blocks of rows (``gramian[dask]``); None uses
        this process only. The model is the same up to round-off.
    random_state : int, RandomState or None, default=0
        Seed of folds and samples. The same data gives the same model unless you pass another seed.
    verbose : int, default=0
        1 shows a progress bar on a terminal and in a notebook, and a line at its end; elsewhere each round logs a line,
        to the handlers of :mod:`logging` or, without any, to the standard error. 2 logs the lines in any case."""

_ATTRIBUTES = """model_ : FittedRFM
        The fitted model as a value: preprocessing, target coding, ensemble, features, history, holdout predictions.
    plan_ : Plan
        What was done with this number of rows, and why.
    fitted_rows_ : int
        Number of rows of the table for which the final model was solved: all of them, without those that a large fit
        holds out, or a part where ``time_limit`` or Ctrl-C ended the fit. Equal rows count each, a weight of 2 twice.
    feature_matrix_ : ndarray (d, d)
        The learned M, in the coordinates of the standardised columns.
    agop_ : ndarray (d, d)
        Average gradient outer product of the fitted predictor, in the same coordinates. At a fixed point of the rounds
        it is proportional to M (or to a power of it).
    feature_importances_ : ndarray (columns,)
        Its diagonal divided by its sum: the share of each of your columns in the predictor's sensitivity.
    encoder_ : TableEncoder or None
        The fitted encoder of raw columns; None where all columns are complete numbers.
    components_ : ndarray (k, d)
        Learned directions: eigenvectors of M, largest eigenvalue first.
    eigenvalues_ : ndarray (k,)
        Their eigenvalues.
    rounds_ : Rounds, a sequence of Round
        One record per round: ridge, bandwidth, residual, leave-one-out error, held-out score, seconds, bytes.
    best_round_ : int
        The selected round.
    evolution_ : Evolution
        M of each round in small: its diagonal, and its block on the columns that matter most.
    kernel_ : Kernel
        The selected kernel with its bandwidth.
    update_ : Update
        The selected update.
    ridge_ : float
        The ridge added to K (``nλ`` with ``ridge_scaling="n"``).
    support_ : ndarray of bool (d,)
        Columns in use; not all of them only with ``feature_threshold``.
    ensemble_ : Ensemble
        The models that predict together, on torch tensors.
    machine_ : KernelMachine or TreeMachine
        The best of them.
    dual_coef_ : ndarray (n,) or (n, c)
        Coefficients of the training rows on the scaled target, where a single kernel machine predicts; see
        ``KernelRidge``.
    X_fit_ : ndarray (n, columns in use)
        The training rows of these coefficients, encoded and standardised.
    row_index_ : ndarray of int
        The position of each of these rows in the table that was fitted (equal rows are merged).
    n_features_in_ : int
        As in scikit-learn.
    feature_names_in_ : ndarray of str
        As in scikit-learn."""


def documented(estimator: T) -> T:
    """Insert the shared parameters and attributes into the docstring of an estimator."""
    if estimator.__doc__ is not None:  # python -OO strips docstrings
        text = estimator.__doc__.replace("{parameters}", _PARAMETERS)
        estimator.__doc__ = text.replace("{attributes}", _ATTRIBUTES)
    return estimator
