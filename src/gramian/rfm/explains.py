"""What both estimators can say about themselves: the methods, with their words; the work is done next door."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from gramian.rfm import directions, explain, importance
from gramian.rfm.directions import Along, Directions, Interactions
from gramian.rfm.explain import Explanation
from gramian.rfm.importance import Importances

E = TypeVar("E", bound="Explains")


class Explains:
    """Explanations of a fitted estimator, exact and immediate. They speak of sensitivity, never of causes."""

    def explain(
        self,
        X: Any,
        output: Any = None,
        n_neighbours: int = 5,
        method: str = "path",
        reference: Any = None,
    ) -> Explanation | list[Explanation]:
        """Take one prediction apart: what each column and each training row adds to it.

        ``"path"``: ``c_j = (z_j − z⁰_j) ∫₀¹ ∂f/∂z_j(z⁰ + t(z − z⁰)) dt`` in standardised columns, from the reference
        row z⁰ on a straight line (integrated gradients, Gauss–Legendre nodes doubled from 32 to 256 until what is
        missing in ``Σ c_j = f(z) − f(z⁰)`` is below 1 %, and recorded as ``gap``). ``"gradient"``: the local
        ``c_j = (z_j − z⁰_j) ∂f/∂z_j(z)``. Contributions of encoded columns are summed to those of the user's columns.

        Parameters
        ----------
        X : one row or a table (n, d)
        output : label, int or None
            The class whose score is explained (by default the predicted one; for two classes the decision score, which
            is that of the second), or the number of a target where there are several.
        n_neighbours : int
            Training rows to name: those that add most, in size, to the prediction.
        method : "path" or "gradient"
        reference : one row, optional
            Where the path starts; by default the mean training row (of encoded columns).

        Returns
        -------
        Explanation, or a list of them where X holds several rows
            ``print`` it, let a notebook show it, or take ``to_pandas()``.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
        >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, 4 * X[:, 0] - X[:, 2])
        >>> why = model.explain([0.5, 0.5, 0.5])
        >>> [round(float(c)) for c in 2 * why.contributions]
        [4, 0, -1]
        >>> near = why.neighbours
        >>> bool(np.isclose(near.offset + near.parts.sum() + near.others, why.prediction))
        True
        """
        check_is_fitted(self)
        return explain.explain_rows(self, X, output, n_neighbours, method, reference)

    def importances(self, n_bootstrap: int = 100, level: float = 0.9, random_state: int = 0) -> Importances:
        """Share of each of the user's columns in the sensitivity of the predictions, with bootstrap intervals.

        ``share_j ∝ Σᵢ wᵢ Σ_c (∂f_c/∂z_j(xᵢ))²`` over training rows (at most 2,000), summed over the encoded columns
        behind column j. Resampling those rows gives the intervals; nothing is refitted.

        Parameters
        ----------
        n_bootstrap : int
            Resamplings.
        level : float
            Share of them within the interval.
        random_state : int
            Seed of the resampling.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
        >>> found = RFMRegressor(preset="fast", n_rounds=1).fit(X, X[:, 1] ** 2).importances()
        >>> found.columns[found.order[0]], bool((found.low <= found.high).all())
        ('x1', True)
        """
        check_is_fitted(self)
        return importance.importances(self, n_bootstrap, level, random_state)

    def directions(self, k: int = 3) -> Directions:
        """The k strongest learned directions with named loadings: eigenvectors of ``feature_matrix_``.

        Where M is the identity (round 0 was kept) or columns were thresholded, those of ``agop_``; ``source`` says so.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(150, 3))
        >>> model = RFMRegressor(preset="fast", update="agop", select_round="last").fit(X, X[:, 0] - X[:, 2])
        >>> abs(model.directions(1).loadings) > 0.5
        array([[ True, False,  True]])
        """
        check_is_fitted(self)
        return directions.directions(self, k)

    def interactions(self, k: int = 10) -> Interactions:
        """The k pairs of columns with the largest joint sensitivity, from the off-diagonal of the learned matrix.

        Read the caveat of :class:`gramian.rfm.directions.Interactions`: the predictions answer to both columns along
        one direction, which a sum of them does as well.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(150, 3))
        >>> model = RFMRegressor(preset="fast", n_rounds=1).fit(X, (X[:, 0] + X[:, 2]) ** 2)
        >>> model.interactions(1).pairs
        (('x0', 'x2'),)
        """
        check_is_fitted(self)
        return directions.interactions(self, k)

    def partial_dependence_along(
        self, direction: int = 0, grid: int = 50, rows: int = 200, output: Any = None, level: float = 0.8
    ) -> Along:
        """Average prediction when training rows are moved along a learned direction v and keep the rest.

        ``mean(s) = avgᵢ f(zᵢ + (s − v·zᵢ) v)`` in standardised columns, for s between the 1 % and 99 % quantiles of
        ``v·z``. Along a single column it is the usual partial dependence.

        Parameters
        ----------
        direction : int
            Number of the direction, 0 for the strongest; see :meth:`directions`.
        grid : int
            Positions.
        rows : int
            Training rows to move, at most.
        output : label or int, optional
            As in :meth:`explain`; needed for more than two classes or targets.
        level : float
            Share of the rows within the band.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(150, 2))
        >>> model = RFMRegressor(preset="fast", update="agop", select_round="last").fit(X, X[:, 0] + X[:, 1])
        >>> along = model.partial_dependence_along(grid=3)
        >>> bool(along.mean[0] < along.mean[1] < along.mean[2])
        True
        """
        check_is_fitted(self)
        return directions.partial_dependence_along(self, direction, grid, rows, output, level)

    def few(self: E, X: Any, y: Any, k: int, **fit_params: Any) -> E:
        """The same estimator fitted anew on the k most important of the user's columns.

        Parameters
        ----------
        X, y
            The training table again, all columns of it: the model keeps no copy of it.
        k : int
            Columns to keep, named in ``selected_columns_`` of the result.
        **fit_params
            For ``fit``, such as ``sample_weight``.

        >>> import numpy as np
        >>> from gramian import RFMRegressor
        >>> X = np.random.default_rng(0).normal(size=(150, 4))
        >>> y = X[:, 3] + X[:, 1]
        >>> small = RFMRegressor(preset="fast", n_rounds=1).fit(X, y).few(X, y, k=2)
        >>> small.selected_columns_, small.n_features_in_
        (('x1', 'x3'), 2)
        """
        check_is_fitted(self)
        return importance.few(self, X, y, k, **fit_params)
