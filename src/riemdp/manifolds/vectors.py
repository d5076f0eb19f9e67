"""Points that are vectors of d numbers, with the metric of R^d: what Euclidean space and the torus have in common."""

from __future__ import annotations

import numpy as np

from riemdp.arguments import whole_number
from riemdp.manifolds.base import Array


class Vectors:
    """Facts of points with d coordinates, in which the metric is that of R^d everywhere."""

    d: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", whole_number(self.d, "d", 1))

    @property
    def dim(self) -> int:
        """d, the number of coordinates."""
        return self.d

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(d,): a point is its coordinates."""
        return (self.d,)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """(0, 0): no plane is curved."""
        return (0.0, 0.0)

    @property
    def origin(self) -> Array:
        """The vector 0, all of whose coordinates are 0."""
        return np.zeros(self.d)

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return np.broadcast_to(vectors, np.broadcast_shapes(vectors.shape, base.shape))

    def from_coords(self, coords: Array, base: Array) -> Array:
        return np.broadcast_to(coords, np.broadcast_shapes(coords.shape, base.shape))
