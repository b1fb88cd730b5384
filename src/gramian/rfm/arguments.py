"""What the two estimators say of the arguments and attributes they share."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=type)

_ARGUMENTS = """Parameters
    ----------
    preset : "fast", "default" or "best", default="default"
        What competes where ``kernel``, ``update`` and ``n_rounds`` are ``"auto"``, and how many machines may predict
        together: see :mod:`gramian.rfm.presets`.
    kernel : str or Kernel, default="auto"
        A name from :data:`gramian.kernels.BY_NAME` or an object such as ``Laplace(bandwidth=10.0)``. By default the
        Laplace, the ℓ1 and the Gaussian kernel compete.
    update : str or Update, default="auto"
        How the feature matrix is learned: ``"agop"``, ``"agop-diagonal"``, ``"agop-sqrt"``, ``"fact"``,
        ``"fact-geometric"``, or an object such as ``Agop(power=0.5)``. ``"auto"`` chooses between the full AGOP and
        its diagonal.
    n_rounds : int or "auto", default="auto"
        Rounds of feature learning after round 0, which is plain kernel ridge regression; 3 by default.
    select_round : "best" or "last", default="best"
        Keep the earliest round that is as good as the best on held-out rows, or simply the last.
    ridge : float or "auto", default="auto"
        λ in ``K + λI``; ``"auto"`` takes the one with the smallest exact leave-one-out error (of at most 1,000 rows),
        anew in rounds 0 to 2; for class codes the plainest of those as good within a standard error.
    ridge_scaling : None or "n", default=None
        ``"n"`` makes it ``K + nλI``.
    solver : "auto", "direct", "cg", "nystrom", "eigenpro" or Solver, default="auto"
        Direct up to 4,000 rows; beyond, conjugate gradients to the same residual on half the kernel matrix, with a
        direct solve behind them. Where ``max_memory`` does not hold that: without the matrix up to 30,000 rows, and
        Nyström regression beyond (both with a warning).
    encoder : "auto" or TableEncoder, default="auto"
        Turns raw columns into numbers, where there is anything but complete columns of numbers; one of your own, such
        as ``TableEncoder(rank_gauss=True)``, is always used.
    standardize : bool, default=True
        Centre the columns and divide them by their standard deviation first.
    fit_intercept : bool, default=True
        Centre the target before the fit and put its mean back after.
    threshold : float, optional
        RFM-T: after the rounds keep only columns whose diagonal entry of M, scaled to [0, 1], exceeds this (0.05 in
        paper B), and fit the base kernel on them.
    bagging : bool or "auto", default="auto"
        Let the machines of the folds predict beside the one that was fitted on all rows; only ``preset="best"`` does.
    time_limit : float, optional
        Seconds after which nothing new is tried. Round 0 of the first kernel is always finished.
    checkpoint : path, optional
        A folder for finished rounds. The same fit, started again after an interrupt or a crash, goes on from them and
        gives the same model; they are deleted once it is complete. One folder serves any number of fits.
    dtype : "auto", "float32" or "float64", default="auto"
        Working format; ``"auto"`` is float64 up to 1,000 rows. Systems that need it are solved in float64 anyway.
    device : str, default="auto"
    max_memory : int or str, optional
        Bytes, or a string such as ``"8GB"``; 80 % of what is free by default.
    n_threads : int, optional
        Torch threads during fit and predict; put back afterwards. By default torch's own, and 1 up to 1,000 rows.
    n_jobs : int, optional
        Folds fitted side by side, one thread each. The result is the same for any number.
    cluster : "auto" or None, default="auto"
        Inside a Dask ``Client`` its workers fit the folds and sum over blocks of rows (``gramian[dask]``); None keeps
        everything in this process. The model is the same up to round-off.
    random_state : int, RandomState or None, default=0
        For folds and samples. The same data gives the same model unless you ask for another.
    verbose : int, default=0
        1 shows a progress bar, on a terminal and in a notebook.

    Attributes
    ----------
    feature_matrix_ : ndarray (d, d)
        The learned M, in the coordinates of the standardised columns.
    agop_ : ndarray (d, d)
        Average gradient outer product of the fitted predictor, in the same coordinates. At a fixed point of the rounds
        it is proportional to M (or to a power of it).
    feature_importances_ : ndarray (columns,)
        Its diagonal divided by its sum: the share of each of your columns in the predictor's sensitivity.
    encoder_ : TableEncoder or None
        What turned raw columns into numbers; None where all were numbers and none missing.
    components_ : ndarray (k, d)
        Learned directions: eigenvectors of M, strongest first.
    explained_ : ndarray (k,)
        Their weights: eigenvalues of M.
    rounds_ : Rounds, a sequence of Round
        One record per round: ridge, bandwidth, residual, leave-one-out error, held-out score, seconds, bytes.
    best_round_ : int
        The round that was kept.
    evolution_ : Evolution
        M of each round in small: its diagonal, and its block on the columns that matter most.
    kernel_ : Kernel
        With its bandwidth.
    update_ : Update
    ridge_ : float
        The ridge really added to K (``nλ`` with ``ridge_scaling="n"``).
    support_ : ndarray of bool (d,)
        Columns in use; not all of them only with ``threshold``.
    blend_ : Blend
        The machines that predict together, on torch tensors.
    machine_ : KernelMachine
        The best of them.
    row_index_ : ndarray of int
        Where each row the machines stand on is in the table they were fitted to (equal rows are merged).
    n_features_in_ : int
        As in scikit-learn.
    feature_names_in_ : ndarray of str
        As in scikit-learn.
"""


def with_arguments(estimator: T) -> T:
    """Put the shared part of the docstring in its place."""
    if estimator.__doc__ is not None:  # python -OO strips docstrings
        estimator.__doc__ = estimator.__doc__.replace("{arguments}", _ARGUMENTS.rstrip())
    return estimator
