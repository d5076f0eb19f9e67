"""The public ball, and private records forced into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.manifolds import Euclidean, Product, Space
from riemdp.manifolds.base import FlatMean, LocalModel, finite_number
from riemdp.manifolds.spd import SPD

Array = NDArray[Any]
# Between these, no square or sum of lengths within the ball under- or overflows.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-100, 1e100
# A length computed to be below this share of the radius is below the radius, for up to 2^12 coordinates and more.
INSIDE = 1 - 2.0**-41
# Records handled at a time: enough for the compiled kernels, little beside the records themselves.
BLOCK = 2**14


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
        if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
            raise InputError(f"radius = {radius!r}: pass a positive number, neither below 1e-100 nor above 1e100.")
        if radius >= self.space.uniqueness_radius:
            raise InputError(
                f"radius = {radius!r} is too large for {self.space!r}: means are unique only in balls of radius "
                f"below {self.space.uniqueness_radius:.6g}; pass a smaller one."
            )
        center = one_point(self.space, self.center, "center")
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
        half = (math.log(hi) - math.log(lo)) / 2 + 2.0**-40  # not below the exact one
        radius = math.sqrt(space.k) * half
        return cls(space, math.sqrt(lo) * math.sqrt(hi) * np.eye(space.k), radius)

    def footpoint_coords(self, footpoint: Any) -> Array:
        """Coordinates at the centre of a public footpoint (default: the centre itself)."""
        if footpoint is None:
            return np.zeros(self.space.dim)
        point = one_point(self.space, footpoint, "footpoint")
        with np.errstate(all="ignore"):
            coords = self.space._log(point, self._inner_center)
        if not np.isfinite(coords).all():
            raise InputError("footpoint is too far from the ball for float64: pass a nearer one.")
        return np.zeros_like(coords) if self.space.is_flat else coords  # flat: all footpoints do the same

    @property
    def _inner_center(self) -> Array:
        return self.space._read(self.center, "center")

    def at_origin(self, coords: Array) -> Array:
        """Points with these coordinates at the centre, moved by the isometry that takes it to the origin."""
        return self.space._exp(coords, self.space._read(self.space.origin, "origin"))


class Bounded:
    """Private records forced into a public ball; shows nothing but sums over all of them.

    Each record is turned, by itself, into its coordinates at the centre, of length at most the radius:
    a record outside is moved along the geodesic to the centre, an unusable one becomes the centre. What was
    done to which record, and to how many, is private: it is not kept. By homogeneity everything else happens
    around the origin of the space, whatever the centre.
    """

    def __init__(self, X: Any, ball: Ball) -> None:
        if not isinstance(ball, Ball):
            raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
        with np.errstate(all="ignore"):  # a number beyond float64 is a record like any other
            self._raw = ball.space._read(X, "X")
        if self._raw.ndim != len(ball.space._inner_shape) + 1:
            raise InputError(f"X has shape {np.shape(X)}: pass (n, {', '.join(map(str, ball.space.point_shape))}).")
        self.ball, self.n = ball, len(self._raw)

    def __repr__(self) -> str:
        return f"Bounded(n={self.n}, {self.ball.space!r})"

    @cached_property
    def _coords(self) -> Array:
        return _by_blocks(lambda rows: _to_ball(self._raw[rows], self.ball), self.n)

    @cached_property
    def _points(self) -> Array:
        return _by_blocks(lambda rows: self.ball.at_origin(self._coords[rows]), self.n)

    @property
    def space(self) -> Space:
        """Where the records live."""
        return self.ball.space

    def coordinate_mean(self) -> FlatMean:
        """Mean of the coordinates at the centre, with a bound on its rounding error."""
        return Euclidean(self.space.dim)._mean_closed_form(self._coords)

    def mean_of(self, per_record: Callable[[Array], Array]) -> Array:
        """Mean over the records of vectors that each one's coordinates at the centre are mapped to."""
        vectors = _by_blocks(lambda rows: per_record(self._coords[rows]), self.n)
        return Euclidean(vectors.shape[1])._mean_closed_form(vectors).point

    # --- what adaptation asks (docs/proofs/quantile.md) ------------------------------------------------------

    def moved(self, ball: Ball) -> Bounded:
        """The same records forced into another ball of the space."""
        return _bounded(ball, self.n, _raw=self._raw)

    def shrunk(self, radius: float) -> Bounded:
        """The same records forced into a smaller ball with the same centre."""
        ball = Ball(self.space, self.ball.center, radius)
        return _bounded(ball, self.n, _raw=self._raw, _coords=_clipped(self._coords, ball.radius))

    def outside(self, radii: Sequence[float]) -> list[int]:
        """How many records are farther from the centre than each of the radii, all below the ball's own."""
        length = np.linalg.norm(self._coords, axis=1)
        return [int(np.count_nonzero(length > radius)) for radius in radii]

    # --- what the Fréchet solver asks, around the origin (riemdp.statistics.frechet.RecordSums) -------------

    def factors(self) -> list[Bounded]:
        """The records of each factor of a product, in balls of the same radius."""
        assert isinstance(self.space, Product)
        parts = zip(self.space.factors, self.space._split_coords(self._coords), strict=True)
        radius = self.ball.radius
        return [_bounded(Ball(factor, factor.origin, radius), self.n, _coords=coords) for factor, coords in parts]

    def closed_form(self) -> FlatMean:
        """The mean of a flat space, as a point around the origin."""
        mean = self.coordinate_mean()
        return FlatMean(self.ball.at_origin(mean.point), mean.rounding)

    def start(self) -> Array:
        """A first guess of the mean: the tangent mean."""
        return self.ball.at_origin(self.coordinate_mean().point)

    def model(self, x: Array) -> LocalModel:
        """The Fréchet function around x."""
        return self.space._local_model(self._points, x)

    def certify(self, x: Array, model: LocalModel) -> None:
        """The ball itself proves that the mean is unique (docs/proofs/certificate.md)."""


def one_point(space: Space, value: Any, name: str) -> Array:
    """The value as one point of the space, in the form of its primitives."""
    point = space._points(value, name)
    if point.shape != space._inner_shape:
        raise InputError(f"{name} has shape {np.shape(value)}: pass one point.")
    return point


def _bounded(ball: Ball, n: int, **known: Array) -> Bounded:
    """Records that were read before, by their raw form or by their coordinates at the centre."""
    part = Bounded.__new__(Bounded)
    part.__dict__.update(ball=ball, n=n, **known)
    return part


def _by_blocks(task: Callable[[slice], Array], n: int) -> Array:
    """A function of the rows, block by block; the kernels below have threads of their own."""
    return np.concatenate([task(slice(start, start + BLOCK)) for start in range(0, n, BLOCK)])


def _to_ball(raw: Array, ball: Ball) -> Array:
    """Coordinates at the centre of a block of records, each of length at most the radius.

    A function of each record by itself, that never fails: whatever cannot be used gives 0, the centre. The
    length is checked again after the rounding of the scaling.
    """
    axes = tuple(range(1, raw.ndim))
    with np.errstate(all="ignore"):
        finite = np.isfinite(raw).all(axis=axes, keepdims=True)
        points = ball.space._project(np.where(finite, raw, ball._inner_center))
        usable = np.isfinite(points).all(axis=axes, keepdims=True) & finite
        coords = ball.space._log(np.where(usable, points, ball._inner_center), ball._inner_center)
        return np.where(usable.reshape(-1, 1), _clipped(coords, ball.radius), 0.0)


def _clipped(coords: Array, radius: float) -> Array:
    """Each row shortened to the radius at most, and 0 where even that is not certain."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(coords, axis=1, keepdims=True)
        coords = coords * np.minimum(1.0, radius * (1 - 2.0**-40) / length)
        inside = np.linalg.norm(coords, axis=1, keepdims=True) <= radius * INSIDE
        return np.where(inside, coords, 0.0)
