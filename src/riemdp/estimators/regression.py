"""Private geodesic regression as an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.estimators.base import PrivateEstimator, all_or_nothing
from riemdp.io.sources import is_dask
from riemdp.manifolds.base import Array
from riemdp.privacy.ledger import Ledger
from riemdp.statistics.regression import private_regression
from riemdp.summaries.regression import Regression
from riemdp.written import BallMapping


class PrivateGeodesicRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """How points change with one number, privately: `private_regression` as an estimator.

    The other way round than scikit-learn's regressors: `fit(X, y)` takes the points as X and their numbers t as y, and
    `predict(t)` gives points. A fit that the ledger refuses raises BudgetExceeded and changes nothing.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball, as for `PrivateFrechetMean`.
    guarantee : Guarantee or str
        What a fit spends, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    t_bounds : tuple of float
        The least and the largest t, public.
    adapt : bool
        Whether to spend part of the guarantee on a private radius of the residuals.
    ledger : Ledger, optional
        From which the guarantee is reserved before any noise is drawn.
    note : str
        Which data these are, for the ledger.
    unit : str, optional
        With `fit(groups=)`: what is protected, "patient" say, instead of "group".

    Attributes
    ----------
    value_ : array of shape point_shape
        The point at the middle of the bounds.
    velocity_ : array of shape point_shape
        Tangent vector there, per unit of t.
    r_squared_ : float
        The share of the variance that the geodesic explains, privately.
    release_ : Regression
        All that may be known of the fit.
    guarantee_, ball_, n_features_in_ : as of PrivateFrechetMean
        What is proved, the public ball, and X.shape[1].

    See Also
    --------
    private_regression : The same as a function.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> t = np.random.default_rng(0).uniform(0.0, 10.0, 2000)
    >>> model = rd.PrivateGeodesicRegression(
    ...     ball=rd.Ball(rd.Euclidean(1), [0.5], 1.0), guarantee=rd.GDP(1.0), t_bounds=(0.0, 10.0)
    ... ).fit(t[:, None] / 10, t)
    >>> model.predict([0.0, 5.0, 10.0]).shape
    (3, 1)
    """

    def __init__(
        self,
        *,
        ball: Ball | BallMapping | Callable[[int], Ball],
        guarantee: Guarantee | str,
        t_bounds: tuple[float, float],
        adapt: bool = False,
        ledger: Ledger | None = None,
        note: str = "",
        unit: str | None = None,
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.t_bounds = t_bounds
        self.adapt = adapt
        self.ledger = ledger
        self.note = note
        self.unit = unit

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    release_: Regression

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Release a private geodesic.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            The records, points of the space.
        y : array of shape (n,)
            Their numbers t. One outside the bounds is moved onto them, one that is no number to their middle.
        groups : sequence of ids, of shape (n,), optional
            Whose record each is; the guarantee then protects a person with any number of records.

        Returns
        -------
        PrivateGeodesicRegression
            Itself, fitted.

        Raises
        ------
        InputError, MechanismError, BudgetExceeded
            As `private_regression` does; nothing is then changed. Values never raise.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, t = rd.Ball(rd.Euclidean(1), [0.0], 1.0), np.linspace(-1, 1, 1000)
        >>> rd.PrivateGeodesicRegression(ball=ball, guarantee="mu=1", t_bounds=(-1, 1)).fit(t[:, None], t).release_.n
        1000
        """
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: pass one number for each record.")
        with all_or_nothing(self):
            records = self._dask_array(X) if is_dask(X) else self._validated(X)
            ball = self._public_ball(records)
            asked: dict[str, Any] = {"t_bounds": self.t_bounds, "adapt": self.adapt}
            asked |= {"groups": groups, "unit": self.unit, "ledger": self.ledger, "note": self.note}
            fit = private_regression(records, y, ball, self.guarantee, **asked)
            self.release_, self.ball_, self.guarantee_ = fit, ball, fit.guarantee
            self.value_, self.velocity_, self.r_squared_ = fit.value, fit.velocity, fit.r_squared
        return self

    def predict(self, t: Any) -> Array:
        """Points of the geodesic: post-processing, which costs nothing.

        Parameters
        ----------
        t : array of shape (m,)
            Numbers.

        Returns
        -------
        array of shape (m, *point_shape)
            A point for each.

        Raises
        ------
        InputError
            If t are not finite numbers.

        Examples
        --------
        >>> model.predict([20.0, 90.0])  # doctest: +SKIP
        """
        check_is_fitted(self)
        return np.asarray(self.release_.predict(t))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the variance of other records that the geodesic explains. NOT private.

        Parameters
        ----------
        X : array of shape (m, *point_shape)
            Records.
        y : array of shape (m,)
            Their numbers t.
        sample_weight : array of shape (m,), optional
            Of the records.

        Returns
        -------
        float
            1 - mean squared distance to the geodesic over that to the middle of these records' own best point, which
            is the geodesic's at their mean t.

        Examples
        --------
        >>> model.score(X, t)  # doctest: +SKIP
        """
        points, space = self._points(X), self.ball_.space
        numbers = np.asarray(y, dtype=np.float64)
        along = space.read(self.predict(numbers), "t")
        middle = space.read(self.predict(np.average(numbers, weights=sample_weight)), "t")
        squares = [np.average(space.distance(base, points) ** 2, weights=sample_weight) for base in (along, middle)]
        return float(1 - squares[0] / squares[1])
