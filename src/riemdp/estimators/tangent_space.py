"""Records as tangent vectors at a private mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from riemdp.arguments import finite_array
from riemdp.balls import Ball
from riemdp.errors import InputError
from riemdp.estimators.base import FitWithoutLabels, PrivateEstimator
from riemdp.manifolds.base import Array
from riemdp.manifolds.upper_triangles import from_upper_triangles, require_matrices, upper_triangles
from riemdp.names import BasisName
from riemdp.statistics.catalogue import require_known


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateTangentSpace(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    FitWithoutLabels,
    PrivateEstimator,
):
    """Tangent vectors at a private mean, for any classifier or regression of vectors after it.

    `fit` releases a private mean as PrivateFrechetMean does. `transform` gives each record's own tangent vector: that
    is NOT private, and neither is what a following step learns from it.

    Parameters
    ----------
    ball : Ball or mapping or callable
        The public ball, as for `PrivateFrechetMean`.
    guarantee : Guarantee or str
        What a fit spends, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    mechanism, calibration, footpoint, statistic, adapt, unit, ledger, note : as of private_mean
        How the mean is released, what `fit(groups=)` protects, and where the guarantee is booked.
    basis : str
        "orthonormal", in which lengths are distances, or "pyriemann" for matrices: the coordinates that pyRiemann's
        TangentSpace gives of the same record at the same mean.

    Attributes
    ----------
    mean_ : array of shape point_shape
        The private mean.
    release_ : Release
        All that may be known of it.
    guarantee_ : Guarantee
        What is proved of the mean, with its assumptions.
    ball_ : Ball
        The public ball.
    n_features_in_ : int
        X.shape[1].

    See Also
    --------
    PrivateFrechetMean : The mean alone.
    PrivateMDM : A classifier that is private as a whole.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0)
    >>> rd.PrivateTangentSpace(ball=ball, guarantee="mu=1").fit_transform(np.tile(np.eye(2), (100, 1, 1))).shape
    (100, 3)
    """

    basis: BasisName = "orthonormal"

    def _public_ball(self, X: Array) -> Ball:
        require_known("basis", self.basis, ["orthonormal", "pyriemann"])
        ball = super()._public_ball(X)
        if self.basis == "pyriemann":
            require_matrices(ball.space)
        return ball

    def transform(self, X: Any) -> Array:
        """The log of each record at `mean_`, in the basis asked for. NOT private.

        A record outside the ball is first moved onto it, an unusable one to its centre, as in `fit`.

        Parameters
        ----------
        X : array of shape (n, *point_shape)
            Records.

        Returns
        -------
        array of shape (n, dim)
            Tangent vectors, one for each record.

        Raises
        ------
        InputError
            If the shape or type of X is not that of records.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0), np.tile(np.eye(2), (100, 1, 1))
        >>> rd.PrivateTangentSpace(ball=ball, guarantee="mu=1").fit(X).transform(X[:5]).shape
        (5, 3)
        """
        with np.errstate(all="ignore"):  # noise may have carried the mean to the end of float64
            coords = self._logs_at_mean(X)
            return coords if self.basis == "orthonormal" else upper_triangles(coords, self.ball_.space, self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """The points whose tangent vectors at `mean_` these are: exp of what `transform` gives. NOT private.

        Parameters
        ----------
        X : array of shape (n, dim)
            Tangent vectors in the basis of `transform`.

        Returns
        -------
        array of shape (n, *point_shape)
            Points. A record comes back as `fit` used it: moved into the ball if it was outside.

        Raises
        ------
        InputError
            If X has another shape, or holds what is no number.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball, X = rd.Ball(rd.SPDAffine(2), center=np.eye(2), radius=1.0), np.tile(np.eye(2), (100, 1, 1))
        >>> fitted = rd.PrivateTangentSpace(ball=ball, guarantee="mu=1").fit(X)
        >>> bool(np.allclose(fitted.inverse_transform(fitted.transform(X)), X))
        True
        """
        check_is_fitted(self)
        space, vectors = self.ball_.space, finite_array(X, "X")
        if vectors.ndim != 2 or vectors.shape[1] != space.dim:
            raise InputError(f"X has shape {vectors.shape}: pass tangent vectors of shape (n, {space.dim}).")
        coords = vectors if self.basis == "orthonormal" else from_upper_triangles(vectors, space, self.mean_)
        return space.exp(space.from_coordinates(coords, self.mean_), self.mean_)

    @property
    def _n_features_out(self) -> int:
        return int(self.ball_.space.dim)
