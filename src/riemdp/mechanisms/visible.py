"""Post-processing: what is made of vectors once noise has been added to them.

It may do as it likes with them, halve them too, because they are no longer private; done to a private value the same
would change its sensitivity. So it takes `Visible` vectors and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.balls import Ball
from riemdp.manifolds import Space

Array = NDArray[Any]


@dataclass(frozen=True)
class Visible:
    """Vectors (size, ...) that anyone may see: noise was added to them, or no record has touched them.

    Mechanisms make them where they draw; a test knows every place that does (tests/mechanisms/test_visible.py).
    """

    vectors: Array

    def then(self, function: Callable[[Array], Array]) -> Visible:
        """What a public function makes of them."""
        return Visible(function(self.vectors))


def carry(coords: Visible, footpoint: Array, ball: Ball) -> Array:
    """Points with these coordinates at the footpoint, by exp: there, around the origin, then at the centre."""
    space = ball.space
    if footpoint.any():
        at_foot = Visible(_held(coords, ball.at_origin(footpoint), space))
        coords = at_foot.then(lambda points: space.log_coords(points, space.read(space.origin, "origin")))
    return _held(coords, ball.inner_center, space)


def from_origin(points: Visible, ball: Ball) -> Array:
    """Points around the origin, moved by the isometry that takes it to the ball's centre."""
    space = ball.space
    with np.errstate(all="ignore"):
        coords = points.then(lambda x: space.log_coords(x, space.read(space.origin, "origin")))
    return carry(coords, np.zeros(space.dim), ball)


def _held(visible: Visible, base: Array, space: Space) -> Array:
    """exp of these coordinates, halved where float64 cannot hold the point, at last the base."""
    coords = visible.vectors
    with np.errstate(all="ignore"):
        points = space.exp_coords(coords, base)
        while (lost := ~(held := space.holds(points)) & coords.any(axis=1)).any():
            coords = np.where(lost[:, None], coords / 2, coords)
            points[lost] = space.exp_coords(coords[lost], base)
        points[~held] = base  # at the far end of float64 not even exp(0) is the base
    return points
