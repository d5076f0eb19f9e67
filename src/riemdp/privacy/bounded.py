"""The public ball, and private records forced into it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds import Euclidean, Product, Space
from riemdp.manifolds.base import FlatMean, LocalModel, finite_number
from riemdp.manifolds.spd import SPD

Array = NDArray[Any]
ROWS = 4096


@dataclass(frozen=True, eq=False)
class Ball:
    """A closed geodesic ball with a *public* centre and radius: chosen without looking at the data."""

    space: Space
    center: Array
    radius: float

    def __post_init__(self) -> None:
        if not isinstance(self.space, Space):
            raise InputError(f"space = {self.space!r}: pass a space such as SPDAffine(3).")
        radius = finite_number(self.radius, "radius")
        if radius <= 0:
            raise InputError(f"radius = {radius!r}: pass a positive number.")
        if radius >= self.space.uniqueness_radius:
            raise InputError(
                f"radius = {radius!r} is too large for {self.space!r}: means are unique only in balls of radius "
                f"below {self.space.uniqueness_radius:.6g}; pass a smaller one."
            )
        center = self.space._points(self.center, "center")
        if center.shape != self.space._inner_shape:
            raise InputError(f"center has shape {np.shape(self.center)}: pass one point.")
        frozen = np.array(self.space._write(center, self.space.origin))
        frozen.flags.writeable = False
        object.__setattr__(self, "center", frozen)
        object.__setattr__(self, "radius", radius)

    @classmethod
    def from_eigenvalue_bounds(cls, space: Space, low: float, high: float) -> Ball:
        """The smallest ball around a multiple of the identity that holds all spectra within [low, high].

        centre sqrt(low high) I, radius sqrt(k)/2 ln(high/low), in both metrics of SPD(k).
        """
        if not isinstance(space, SPD):
            raise InputError(f"space = {space!r}: eigenvalue bounds make a ball of SPDAffine or SPDLogEuclidean only.")
        lo, hi = finite_number(low, "low"), finite_number(high, "high")
        if not 0 < lo < hi:
            raise InputError(f"low = {lo!r}, high = {hi!r}: pass 0 < low < high.")
        radius = math.sqrt(space.k) / 2 * math.log(hi / lo) * (1 + 2.0**-40)  # not below the exact one
        return cls(space, math.sqrt(lo) * math.sqrt(hi) * np.eye(space.k), radius)

    def footpoint_coords(self, footpoint: Any) -> Array:
        """Coordinates at the centre of a public footpoint (default: the centre itself)."""
        if footpoint is None or self.space.is_flat:  # a flat space has no preferred footpoint
            return np.zeros(self.space.dim)
        point = self.space._points(footpoint, "footpoint")
        if point.shape != self.space._inner_shape:
            raise InputError(f"footpoint has shape {np.shape(footpoint)}: pass one point.")
        return self.space._log(point, self._inner_center)

    @property
    def _inner_center(self) -> Array:
        return self.space._read(self.center, "center")

    def at_origin(self, coords: Array) -> Array:
        """Points with these coordinates at the centre, moved by the isometry that takes it to the origin."""
        return self.space._exp(coords, self.space._read(self.space.origin, "origin"))

    def from_origin(self, points: Array) -> Array:
        """The inverse motion: from around the origin back to around the centre."""
        coords = self.space._log(points, self.space._read(self.space.origin, "origin"))
        return self.space._exp(coords, self._inner_center)


class Bounded:
    """Private records forced into a public ball; shows nothing but sums over all of them.

    Each record is turned, by itself, into its coordinates at the centre, of length at most the radius:
    a record outside is moved along the geodesic to the centre, an unusable one becomes the centre. What was
    done to which record, and to how many, is private: it is not kept. By homogeneity everything else happens
    around the origin of the space, whatever the centre.
    """

    __slots__ = ("_coords", "_points", "ball")

    def __init__(self, X: Any, ball: Ball) -> None:
        if not isinstance(ball, Ball):
            raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
        raw = ball.space._read(X, "X")
        shape = ball.space._inner_shape
        if raw.ndim != len(shape) + 1:
            raise InputError(f"X has shape {np.shape(X)}: pass (n, {', '.join(map(str, ball.space.point_shape))}).")
        self.ball = ball
        self._points: Array | None = None
        self._coords: Array = np.concatenate(map_ranges(lambda i, j: _to_ball(raw[i:j], ball), len(raw), ROWS))

    def __repr__(self) -> str:
        return f"Bounded(n={self.n}, {self.ball.space!r})"

    @property
    def n(self) -> int:
        """Number of records, which is public."""
        return len(self._coords)

    @property
    def space(self) -> Space:
        """Where the records live."""
        return self.ball.space

    def coordinate_mean(self) -> FlatMean:
        """Mean of the coordinates at the centre, with a bound on its rounding error."""
        return Euclidean(self.space.dim)._mean_closed_form(self._coords)

    # --- what the Fréchet solver asks, around the origin (riemdp.statistics.frechet.RecordSums) -------------

    def factors(self) -> list[Bounded]:
        """The records of each factor of a product, in balls of the same radius."""
        assert isinstance(self.space, Product)
        parts = zip(self.space.factors, self.space._split_coords(self._coords), strict=True)
        return [_bounded(coords, Ball(factor, factor.origin, self.ball.radius)) for factor, coords in parts]

    def closed_form(self) -> FlatMean:
        """The mean of a flat space, as a point around the origin."""
        mean = self.coordinate_mean()
        return FlatMean(self.ball.at_origin(mean.point), mean.rounding)

    def start(self) -> Array:
        """A first guess of the mean: the tangent mean."""
        return self.ball.at_origin(self.coordinate_mean().point)

    def model(self, x: Array) -> LocalModel:
        """The Fréchet function around x."""
        if self._points is None:
            blocks = map_ranges(lambda i, j: self.ball.at_origin(self._coords[i:j]), self.n, ROWS)
            self._points = np.concatenate(blocks)
        return self.space._local_model(self._points, x)

    def certify(self, x: Array) -> None:
        """The ball itself proves that the mean is unique (docs/proofs/certificate.md)."""


def _bounded(coords: Array, ball: Ball) -> Bounded:
    part = Bounded.__new__(Bounded)
    part.ball, part._points, part._coords = ball, None, coords
    return part


def _to_ball(raw: Array, ball: Ball) -> Array:
    """Coordinates at the centre of a block of records, each of length at most the radius.

    A function of each record by itself, that never fails: whatever cannot be used gives 0, the centre. The
    length is checked again after the rounding of the scaling.
    """
    space, center = ball.space, ball._inner_center
    axes = tuple(range(1, raw.ndim))
    with np.errstate(all="ignore"):
        finite = np.isfinite(raw).all(axis=axes, keepdims=True)
        points = space._project(np.where(finite, raw, center))
        usable = np.isfinite(points).all(axis=axes, keepdims=True) & finite
        coords = space._log(np.where(usable, points, center), center)
        usable = usable.reshape(-1) & np.isfinite(coords).all(axis=1)
        coords = np.where(usable[:, None], coords, 0.0)
        length = np.linalg.norm(coords, axis=1, keepdims=True)
        coords = np.where(length <= ball.radius, coords, coords * (ball.radius / length * (1 - 2.0**-40)))
        inside = np.linalg.norm(coords, axis=1, keepdims=True) <= ball.radius
        return np.where(inside, coords, 0.0)
