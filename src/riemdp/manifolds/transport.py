"""Parallel transport along a geodesic, in the coordinates of its ends: exact in symmetric spaces."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from riemdp.manifolds.base import Space

Array = NDArray[np.float64]
STEP = 1 / 16  # length of the vectors that are carried along, in units of the space


def transport(space: Space, start: Array, end: Array) -> Array:
    """The orthogonal matrix (dim, dim) that takes coordinates at `start` to those of the transported vector at `end`.

    One rung of the pole ladder: with s the reflection of geodesics in the middle of the geodesic, exp_end(P w) =
    s(exp_start(-w)), which is exact in a symmetric space and of third order in any other. Ends are in the form of the
    primitives. What is not exact, floats included, is mended by making the columns orthonormal.
    """
    if space.is_flat:
        return np.eye(space.dim)
    same = np.eye(space.dim)
    with np.errstate(all="ignore"):
        middle = space.exp_coords(space.log_coords(end, start) / 2, start)
        ahead = space.exp_coords(-STEP * _unit(space) * same, start)
        rungs = space.log_coords(space.exp_coords(-space.log_coords(ahead, middle), middle), end)
    frame, triangle = np.linalg.qr(rungs.T if np.isfinite(rungs).all() else same)  # at the far end of float64
    return np.asarray(frame * np.where(triangle.diagonal() < 0, -1.0, 1.0))


def _unit(space: Space) -> float:
    """A length over which the space is not what it is nearby: that of its curvature, or half of the way round it."""
    curvature = float(np.abs(space.curvature_bounds).max())
    unit = min(curvature**-0.5 if curvature > 0 else math.inf, space.injectivity_radius)
    return unit if math.isfinite(unit) else 1.0
