"""What flat spaces share that one chart shows whole: an isometry onto R^d, found point by point."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import ROWS, Array, Space
from riemdp.manifolds.capabilities import FlatMean
from riemdp.manifolds.euclidean import column_sums
from riemdp.manifolds.scalars import norm

if TYPE_CHECKING:
    from flint import arb

    _PartOfASpace = Space
else:
    _PartOfASpace = ABC  # a space is FlatChart and Space: two steps deep, not three


class FlatChart(_PartOfASpace):
    """A space with the metric that makes its chart an isometry onto R^d: for a space to inherit before Space.

    Distances, means and laws are those of R^d; docs/proofs/spaces/base.md, section on charts.
    """

    @abstractmethod
    def to_chart(self, points: Array) -> Array:
        """The images (..., dim) of points."""

    @abstractmethod
    def from_chart(self, values: Array) -> Array:
        """The points with these images; NaN where float64 has none."""

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """(0, 0): the space is flat."""
        return (0.0, 0.0)

    @property
    def injectivity_radius(self) -> float:
        """Infinite: straight lines never meet again."""
        return math.inf

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return self.from_chart(self.to_chart(base) + coords)

    def log_coords(self, points: Array, base: Array) -> Array:
        return self.to_chart(points) - self.to_chart(base)

    def log_density(self, coords: Array) -> Array:
        return np.zeros(coords.shape[:-1])

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """In the chart; the computed image of the base is taken as exact."""
        return [c + x for c, x in zip(coords, self.to_chart(base).tolist(), strict=True)]

    def ideal_log_density(self, coords: list[arb]) -> arb:  # noqa: ARG002
        from flint import arb

        return arb(0)

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        return length

    def chart_mean(self, points: Array) -> tuple[Array, float]:
        """The mean of the images of n points, and a bound on the rounding of adding them up."""
        sums = np.array(map_ranges(lambda i, j: column_sums(self.to_chart(points[i:j])), len(points), ROWS))
        total = np.array([math.fsum(column) for column in sums[:, : self.dim].T])
        magnitude = norm(sums[:, self.dim :].sum(axis=0)) / len(points)
        return total / len(points), float(64 * UNIT_ROUNDOFF * magnitude)

    def mean_of_charts(self, points: Array, rounding: float) -> FlatMean:
        """The mean as a point, if the images of the points and of the mean are wrong by `rounding` together."""
        mean, added = self.chart_mean(points)
        return FlatMean(self.from_chart(mean), added + rounding)
