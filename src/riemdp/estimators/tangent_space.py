"""Records as tangent vectors at a private mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from riemdp.accounting.guarantee import Guarantee
from riemdp.arguments import finite_array
from riemdp.errors import InputError
from riemdp.estimators.base import PrivateEstimator
from riemdp.manifolds.base import Array
from riemdp.manifolds.upper_triangles import from_upper_triangles, require_matrices, upper_triangles
from riemdp.privacy.bounded import Ball
from riemdp.privacy.ledger import Ledger
from riemdp.statistics.adaptation import Adaptation
from riemdp.statistics.catalogue import require_known
from riemdp.written import BallMapping


class PrivateTangentSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Tangent vectors at a private mean, for any classifier or regression of vectors after it.

    `fit` releases a private mean as PrivateFrechetMean does, whose arguments and attributes it has. `transform`
    gives each record's own tangent vector: that is NOT private, and neither is what a following step learns from it.

    `basis` is "orthonormal", in which lengths are distances, or "pyriemann" for matrices: the coordinates that
    pyRiemann's TangentSpace gives of the same record at the same mean.
    """

    def __init__(
        self,
        *,
        ball: Ball | BallMapping | Callable[[int], Ball],
        guarantee: Guarantee | str,
        mechanism: str = "auto",
        calibration: str = "analytic",
        footpoint: Any = None,
        statistic: str = "frechet-mean",
        adapt: bool | Adaptation = False,
        unit: str | None = None,
        basis: str = "orthonormal",
        ledger: Ledger | None = None,
        note: str = "",
    ) -> None:
        super().__init__(
            ball=ball, guarantee=guarantee, mechanism=mechanism, calibration=calibration,
            footpoint=footpoint, statistic=statistic, adapt=adapt, unit=unit, ledger=ledger, note=note,
        )  # fmt: skip
        self.basis = basis

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Release a private mean of the records X (n, *point_shape), or of the people of groups (n,); y is ignored."""
        require_known("basis", self.basis, ["orthonormal", "pyriemann"])
        return self._fit_mean(X, groups)

    def _public_ball(self, X: Array) -> Ball:
        ball = super()._public_ball(X)
        if self.basis == "pyriemann":
            require_matrices(ball.space)
        return ball

    def transform(self, X: Any) -> Array:
        """log of each record at `mean_`, in the basis asked for (n, dim). NOT private.

        A record outside the ball is first moved onto it, an unusable one to its centre, as in `fit`.
        """
        points, space = self._points(X), self.ball_.space
        coords = np.asarray(space.log_coords(points, space.read(self.mean_, "mean_")))
        return coords if self.basis == "orthonormal" else upper_triangles(coords, space, self.mean_)

    def inverse_transform(self, X: Any) -> Array:
        """The points whose tangent vectors at `mean_` these are: exp of what `transform` gives. NOT private.

        Parameters
        ----------
        X : array of shape (n, dim)
            Tangent vectors in the basis of `transform`.

        Returns
        -------
        array of shape (n, *point_shape)
            A record comes back as `fit` used it: moved into the ball if it was outside.

        Raises
        ------
        InputError
            If X has another shape, or holds what is no number.
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
