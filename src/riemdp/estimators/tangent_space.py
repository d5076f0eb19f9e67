"""Records as tangent vectors at a private mean."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from riemdp.estimators.base import PrivateEstimator
from riemdp.manifolds.base import Array


class PrivateTangentSpace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Tangent vectors at a private mean, for any classifier or regression of vectors after it.

    `fit` releases a private mean as PrivateFrechetMean does, whose arguments and attributes it has. `transform`
    gives each record's own tangent vector: that is NOT private, and neither is what a following step learns from it.
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Release a private mean of the records X (n, *point_shape); y is ignored."""
        return self._fit_mean(X)

    def transform(self, X: Any) -> Array:
        """log of each record at `mean_`, in an orthonormal basis (n, dim): lengths are distances. NOT private.

        A record outside the ball is first moved onto it, an unusable one to its centre, as in `fit`.
        """
        points, space = self._points(X), self.ball_.space
        return np.asarray(space.log_coords(points, space.read(self.mean_, "mean_")))

    @property
    def _n_features_out(self) -> int:
        return int(self.ball_.space.dim)
