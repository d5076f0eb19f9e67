"""Records as coordinates along the directions in which they vary most: principal geodesics, learnt privately."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from riemdp.accounting.guarantee import Guarantee
from riemdp.arguments import finite_array, whole_number
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.estimators.base import FitWithoutLabels, PrivateEstimator
from riemdp.manifolds.base import Array
from riemdp.names import MechanismName, SecondMoments
from riemdp.privacy.ledger import Ledger
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.summary import private_summary


class PrivatePGA(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    FitWithoutLabels,
    PrivateEstimator,
):
    """Principal geodesic analysis: mean, modes and their variances in one private release.

    `fit` releases a `private_summary`. `transform` gives each record's own coordinates along the modes: that is NOT
    private, and neither is what a following step learns from it.

    If people have several records each, give `fit` an id for each record: `fit(X, groups=ids)` protects a person with
    all of their records, and the modes are those of people.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball, as for `PrivateFrechetMean`.
    guarantee : Guarantee or str
        What a fit spends, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    n_components : int, optional
        How many modes, the largest first; without it those that are larger than what noise alone makes, which may be
        none.
    second : {"auto", "full", "diagonal"}
        Which second moments are released; "diagonal" in many dimensions, whose modes are coordinates. See
        `private_summary`.
    mechanism : {"auto", "wrapped-gaussian", "wrapped-laplace"}
        Which noise; "auto" takes the one with the smaller predicted error of the mean.
    adapt, unit, ledger, note : as of private_summary
        Whether to look for a private ball first, what `fit(groups=)` protects, where the guarantee is booked, and
        which data these are.

    Attributes
    ----------
    mean_ : array of shape point_shape
        The private mean.
    components_ : array of shape (n_components, *point_shape)
        Orthonormal tangent vectors at `mean_`: the modes.
    explained_variance_ : array of shape (n_components,)
        Of the records along each mode, cleared of noise.
    explained_variance_ratio_ : array of shape (n_components,)
        The same as shares of the whole variance.
    release_ : Summary
        All that may be known of them.
    guarantee_, ball_, n_features_in_ : as of PrivateFrechetMean
        What is proved, the public ball, and X.shape[1].

    See Also
    --------
    private_summary : The same as a function.
    PrivateTangentSpace : All coordinates at a private mean.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Euclidean(3), np.zeros(3), 4.0)
    >>> X = np.random.default_rng(0).normal(size=(5000, 3)) * [1.0, 0.5, 0.1]
    >>> model = rd.PrivatePGA(ball=ball, guarantee=rd.GDP(1.0), n_components=2).fit(X)
    >>> model.transform(X).shape, model.components_.shape
    ((5000, 2), (2, 3))
    """

    def __init__(
        self,
        *,
        ball: Any,
        guarantee: Guarantee | str,
        n_components: int | None = None,
        second: SecondMoments = "auto",
        mechanism: MechanismName = "auto",
        adapt: bool | Adaptation = False,
        unit: str | None = None,
        ledger: Ledger | None = None,
        note: str = "",
    ) -> None:
        self.ball = ball
        self.guarantee = guarantee
        self.n_components = n_components
        self.second = second
        self.mechanism = mechanism
        self.adapt = adapt
        self.unit = unit
        self.ledger = ledger
        self.note = note

    def _fit_records(self, X: Any, groups: Any) -> Self:
        """Mean, modes and variances."""
        asked = {"second": self.second, "mechanism": self.mechanism, "adapt": self.adapt}
        self._fit_release(X, groups, private_summary, **asked)
        modes = self.release_.modes(self.n_components)
        self.components_, self.explained_variance_ = modes.directions, modes.variances
        self.explained_variance_ratio_ = modes.ratios
        spread = self.release_.spread
        self._axes = spread.directions[:, spread.chosen(self.n_components)]  # in orthonormal coordinates at the mean
        return self

    def _public_ball(self, X: Array) -> Ball:
        """The ball, if there are modes, and its space has so many: nothing is spent on others."""
        if self.second == "trace":
            raise InputError("second = 'trace' tells no modes: pass 'auto', 'full' or 'diagonal'.")
        ball = super()._public_ball(X)
        if self.n_components is not None and whole_number(self.n_components, "n_components", 1) > ball.space.dim:
            dim, space = ball.space.dim, ball.space
            raise InputError(f"n_components = {self.n_components}: {space!r} has {dim} dimensions; pass at most {dim}.")
        return ball

    def transform(self, X: Any) -> Array:
        """Coordinates of each record along the modes, from `mean_`. NOT private.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records; one outside the ball is moved onto it, an unusable one to its centre, as in `fit`.

        Returns
        -------
        array of shape (n, n_components)
            Lengths along each mode, of the record's log at the mean.

        Raises
        ------
        InputError
            If the shape or type of X is not that of records.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.Euclidean(2), np.zeros(2), 4.0), np.random.default_rng(0).normal(size=(5000, 2))
        >>> rd.PrivatePGA(ball=ball, guarantee="mu=1", n_components=1).fit(X).transform(X[:5]).shape
        (5, 1)
        """
        with np.errstate(all="ignore"):  # noise may have carried the mean to the end of float64
            return np.asarray(self._logs_at_mean(X) @ self._axes)

    def inverse_transform(self, X: Any) -> Array:
        """The points that these coordinates along the modes lead to, from `mean_`. NOT private.

        Parameters
        ----------
        X : array of shape (n, n_components)
            Coordinates along the modes.

        Returns
        -------
        array of shape (n, *point_shape)
            Points. With all components a record comes back as `fit` used it; with fewer, what they tell of it.

        Raises
        ------
        InputError
            If X has another shape, or holds what is no number.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.Euclidean(2), np.zeros(2), 9.0), np.random.default_rng(0).normal(size=(5000, 2))
        >>> fitted = rd.PrivatePGA(ball=ball, guarantee="mu=1", n_components=2).fit(X)
        >>> bool(np.allclose(fitted.inverse_transform(fitted.transform(X)), X))
        True
        """
        check_is_fitted(self)
        space, count, lengths = self.ball_.space, len(self.components_), finite_array(X, "X")
        if lengths.ndim != 2 or lengths.shape[1] != count:
            raise InputError(f"X has shape {lengths.shape}: pass coordinates of shape (n, {count}), one for each mode.")
        return space.exp(space.from_coordinates(lengths @ self._axes.T, self.mean_), self.mean_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
