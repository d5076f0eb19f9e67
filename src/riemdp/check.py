"""The curator's own look at the records before a release. Not private: keep what it says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.io.rows import Rows
from riemdp.manifolds import Euclidean, KendallShapes
from riemdp.manifolds.base import MEMBERSHIP_TOL
from riemdp.manifolds.spd import SPD
from riemdp.privacy.bounded import Ball, Bounded, logs_at_center
from riemdp.privacy.written import BallMapping, as_ball

Array = NDArray[Any]
QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)
MANY = 100.0  # times larger or smaller than expected: no longer a matter of spread
CLOSER = 0.75  # a mirror image must be closer by this factor: symmetric shapes are as close either way


@dataclass(frozen=True)
class Check:
    """How records lie in a ball. **Not private**: for the curator's eyes, never to publish or to choose a ball by."""

    n: int
    unusable: int  # not finite, or no point of the space: a release takes the ball's centre instead
    outside: int  # a release moves them onto the ball's rim
    radius: float
    distances: dict[float, float]  # quantiles of the distances of usable records to the centre
    findings: tuple[str, ...] = ()  # what looks wrong with the data or the ball, in words

    @property
    def inside(self) -> int:
        """Records that a release uses as they are."""
        return self.n - self.unusable - self.outside

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        quantiles = {f"{level:g}": value for level, value in self.distances.items()}
        known = vars(self) | {"inside": self.inside, "distances": quantiles, "findings": list(self.findings)}
        return {"riemdp": "check", "private": False} | known

    def __str__(self) -> str:
        quantiles = ", ".join(f"{q:.0%}: {value:.4g}" for q, value in self.distances.items())
        return (
            f"NOT PRIVATE. {self.n:,} records: {self.inside:,} in the ball, {self.outside:,} outside (a release moves "
            f"them onto its rim), {self.unusable:,} unusable (a release takes the centre instead). Distances to the "
            f"centre, quantiles {quantiles or 'none'}; radius {self.radius:.4g}."
        ) + "".join(f" {text}" for text in self.findings)


def check(X: Any, ball: Ball | BallMapping) -> Check:
    """Look at the records X (n, *point_shape): what a release in this ball would do to them. Not private.

    `findings` name what is easily mistaken: matrices that are not symmetric, other units than the centre's, shapes
    that are mirror images of the centre's kind.
    """
    ball = as_ball(ball)
    looks = Looks(*Rows(Bounded(X, ball)._raw, (partial(_looks, ball),)).all().T)
    usable = looks.distance[looks.is_usable]
    levels = np.quantile(usable, QUANTILES).tolist() if usable.size else []
    return Check(
        n=len(looks.distance),
        unusable=len(looks.distance) - usable.size,
        outside=int((usable > ball.radius).sum()),
        radius=ball.radius,
        distances=dict(zip(QUANTILES, levels, strict=False)),
        findings=tuple(text for find in (_asymmetric, _other_units, _mirrored) if (text := find(looks, ball))),
    )


@dataclass(frozen=True, eq=False)
class Looks:
    """What is looked at, by record; NaN where it makes no sense."""

    distance: Array  # to the centre; NaN for records that a release replaces by it
    skew: Array  # of a matrix: largest |x - xᵀ| over largest |x|
    size: Array  # in sizes of the centre, or of the ball around 0
    mirrored: Array  # distance of the mirror image to the centre

    @property
    def is_usable(self) -> Array:
        """Mask of the records that a release can use."""
        return np.isfinite(self.distance)


def _looks(ball: Ball, raw: Array) -> Array:
    coords, usable = logs_at_center(raw, ball)
    distance = np.where(usable, np.linalg.norm(coords, axis=1), np.nan)
    points = ball.space.read(raw, "X")
    return np.column_stack([distance, _skew(points, ball), _size(points, ball), _mirror_distance(points, ball)])


# --- one record at a time ------------------------------------------------------------------------------------


def _skew(points: Array, ball: Ball) -> Array:
    if not isinstance(ball.space, SPD):
        return np.full(len(points), np.nan)
    return np.asarray(np.abs(points - points.swapaxes(1, 2)).max(axis=(1, 2)) / np.abs(points).max(axis=(1, 2)))


def _size(points: Array, ball: Ball) -> Array:
    center = ball.inner_center
    if isinstance(ball.space, SPD):
        return np.asarray(np.trace(points, axis1=1, axis2=2) / np.trace(center))
    if isinstance(ball.space, Euclidean):
        return np.asarray(np.linalg.norm(points, axis=1) / max(float(np.linalg.norm(center)), ball.radius))
    return np.full(len(points), np.nan)


def _mirror_distance(points: Array, ball: Ball) -> Array:
    if not isinstance(ball.space, KendallShapes):
        return np.full(len(points), np.nan)
    return np.asarray(np.linalg.norm(logs_at_center(points.conj(), ball)[0], axis=1))


# --- all of them -----------------------------------------------------------------------------------------------


def _asymmetric(looks: Looks, ball: Ball) -> str:  # noqa: ARG001
    count = int((looks.skew > MEMBERSHIP_TOL).sum())
    return f"{count:,} matrices are not symmetric: a release takes (x + xᵀ)/2; are they covariances?" if count else ""


def _other_units(looks: Looks, ball: Ball) -> str:
    """Most records are outside, and all are far larger or smaller than the centre."""
    seen = looks.is_usable & np.isfinite(looks.size) & (looks.size > 0)
    if not seen.any() or np.median(looks.distance[seen]) <= ball.radius:
        return ""
    factor = float(np.median(looks.size[seen]))
    if 1 / MANY < factor < MANY:
        return ""
    return f"Records are about {factor:.1g} times as large as the ball's centre and radius suppose: wrong units?"


def _mirrored(looks: Looks, ball: Ball) -> str:  # noqa: ARG001
    """Shapes that fit the centre much better once they are mirrored."""
    seen = looks.is_usable & np.isfinite(looks.mirrored)
    distance, mirrored = looks.distance[seen], looks.mirrored[seen]
    if not seen.any() or np.median(mirrored) >= CLOSER * np.median(distance):
        return ""
    count = int((mirrored < distance).sum())
    return (
        f"{count:,} shapes are closer to the centre once they are mirrored (half within {np.median(mirrored):.3g} "
        f"instead of {np.median(distance):.3g}): is the centre, or an axis, mirrored?"
    )
