"""What is easily mistaken about records: matrices that are not symmetric, other units, mirrored shapes.

Spaces name those that concern them; `riemdp.check` measures and says them. They are **not private**.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riemdp.manifolds.base import MEMBERSHIP_TOL
from riemdp.manifolds.description import Array, Remark, Seen

MANY = 100.0  # times larger or smaller than expected: no longer a matter of spread
CLOSER = 0.75  # a mirror image must be closer by this factor: symmetric shapes are as close either way


def _skew(space: Any, points: Array, center: Array, radius: float) -> Array:  # noqa: ARG001
    """How far matrices are from symmetric ones: largest |x - xᵀ| over largest |x|."""
    return np.asarray(np.abs(points - points.swapaxes(1, 2)).max(axis=(1, 2)) / np.abs(points).max(axis=(1, 2)))


def _asymmetric(seen: Seen) -> str:
    count = int((seen.values > MEMBERSHIP_TOL).sum())
    return f"{count:,} matrices are not symmetric: a release takes (x + xᵀ)/2; are they covariances?" if count else ""


def _trace(space: Any, points: Array, center: Array, radius: float) -> Array:  # noqa: ARG001
    """Traces of the records, in units of the centre's."""
    return np.asarray(np.trace(points, axis1=1, axis2=2) / np.trace(center))


def _length(space: Any, points: Array, center: Array, radius: float) -> Array:  # noqa: ARG001
    """Lengths of the records, in units of the centre's, or of the radius of a ball around 0."""
    return np.asarray(np.linalg.norm(points, axis=1) / max(float(np.linalg.norm(center)), radius))


def _other_units(seen: Seen) -> str:
    """Most records are outside, and all are far larger or smaller than the centre."""
    among = np.isfinite(seen.distances) & np.isfinite(seen.values) & (seen.values > 0)
    if not among.any() or np.median(seen.distances[among]) <= seen.radius:
        return ""
    factor = float(np.median(seen.values[among]))
    if 1 / MANY < factor < MANY:
        return ""
    return f"Records are about {factor:.1g} times as large as the ball's centre and radius suppose: wrong units?"


def _mirror_distance(space: Any, points: Array, center: Array, radius: float) -> Array:  # noqa: ARG001
    """Distances of the records' mirror images to the centre."""
    finite = np.isfinite(points).all(axis=1, keepdims=True)
    images = np.where(finite, points.conj(), center)
    return np.asarray(np.linalg.norm(space.record_log(images, center)[0], axis=1))


def _mirrored(seen: Seen) -> str:
    """Shapes that fit the centre much better once they are mirrored."""
    among = np.isfinite(seen.distances) & np.isfinite(seen.values)
    distance, mirrored = seen.distances[among], seen.values[among]
    if not among.any() or np.median(mirrored) >= CLOSER * np.median(distance):
        return ""
    count = int((mirrored < distance).sum())
    return (
        f"{count:,} shapes are closer to the centre once they are mirrored (half within {np.median(mirrored):.3g} "
        f"instead of {np.median(distance):.3g}): is the centre, or an axis, mirrored?"
    )


ASYMMETRIC = Remark(_skew, _asymmetric)
UNITS_OF_MATRICES = Remark(_trace, _other_units)
UNITS_OF_VECTORS = Remark(_length, _other_units)
MIRRORED = Remark(_mirror_distance, _mirrored)
