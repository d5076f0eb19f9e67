"""Where the mean is: sets of points that hold it with a stated probability, made of what was released alone.

The law of the noise is known, so whatever noise was added to lies within a known quantile of what came out of it:
a ball around the noisy coordinates at the footpoint, around the noisy vector of the ambient space, or around the
released point itself (docs/proofs/regions.md). Which of them is decided by the mechanism (`SHAPES`). Everything here is
post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammaincinv

from riemdp.arguments import finite_number, whole_number
from riemdp.display import shown
from riemdp.distributions.ideal import FINENESS
from riemdp.distributions.riemannian import RiemannianLaplace, length_quantile
from riemdp.errors import InputError, MechanismError
from riemdp.io.values import frozen, read_value
from riemdp.manifolds import Space
from riemdp.manifolds.capabilities import Chords, Embedding

Array = NDArray[Any]
MEANS = ("frechet-mean", "tangent-mean")
LEVEL = 0.95  # of the regions that pages and pictures show
STRATA = 4096  # of a chi-square law, by which another one is averaged
ON_RIM = 1e-8  # so close to the rim, in proportion, points of a picture belong to the region whatever is rounded
RETURNS = 1e-6  # a point of the rim is one if log leads back to its coordinates, to this share of the radius
HALVINGS = 60


# --- what is needed of a release --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Noisy:
    """What a mechanism published before it was made a point of: it tells more than the point where exp comes back.

    `vector` is None where the noise was drawn around a point.
    """

    vector: Array | None  # coordinates at the footpoint, or a vector of the ambient space
    footpoint: Array  # coordinates at the ball's centre
    off: float  # how far the value before noise may be from the exact one, in the same units
    axes: Array | None = None  # (d, d), what noise of the same size in all directions was multiplied by, if by anything

    def __post_init__(self) -> None:
        for name in ("vector", "footpoint", "axes"):
            value = getattr(self, name)
            object.__setattr__(self, name, value if value is None else frozen(value))

    def to_dict(self) -> dict[str, Any]:
        """The noisy vector as plain JSON data."""
        vector, axes = (None if one is None else one.tolist() for one in (self.vector, self.axes))
        return {"vector": vector, "footpoint": self.footpoint.tolist(), "off": self.off, "axes": axes}

    @classmethod
    def from_dict(cls, data: Any, space: Space) -> Noisy | None:
        """What `to_dict` described, or nothing; anything else is an InputError."""
        if data is None:
            return None
        if not isinstance(data, dict) or set(data) | {"axes"} != {"vector", "footpoint", "off", "axes"}:
            raise InputError("noisy is not that of a release: pass what Release.save() wrote.")
        vector = None if data["vector"] is None else read_value(data["vector"], "numbers", space, "noisy")
        footpoint, off = read_value(data["footpoint"], "numbers", space, "noisy"), finite_number(data["off"], "off")
        axes = read_axes(data.get("axes"), space.dim)
        if len(footpoint) != space.dim or off < 0 or not (axes is None or axes.ndim == 2):
            raise InputError("noisy is not that of a release of this space: pass what Release.save() wrote.")
        return cls(vector, footpoint, off, axes)

    def vector_of(self, size: int) -> Array:
        """The vector, if it has this many numbers: a file may say anything."""
        if self.vector is None or len(self.vector) != size:
            raise InputError(f"noisy does not hold {size} numbers as in a release of this mechanism: make a new one.")
        return self.vector


def read_axes(data: Any, dim: int) -> Array | None:
    """A matrix (dim, dim), or its diagonal, from plain data, or nothing; anything else is an InputError."""
    if data is None:
        return None
    try:
        axes = np.array(data, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        axes = np.zeros(0)
    if axes.shape not in ((dim,), (dim, dim)) or not np.isfinite(axes).all():
        raise InputError("axes are not those of a release of this space: pass what Release.save() wrote.")
    return axes


class Place(Protocol):
    """The public ball in which the noise was drawn."""

    @property
    def inner_center(self) -> Array:
        """The centre of the ball, in the form of the space's own maps."""


class Released(Protocol):
    """What a region is made of: a Release has it all."""

    @property
    def value(self) -> Any:
        """The point that was released."""

    @property
    def statistic(self) -> str:
        """The name of the statistic: of some, older files lack the noisy vector."""

    @property
    def mechanism(self) -> str:
        """The mechanism, by which one of `SHAPES` is chosen."""

    @property
    def scale(self) -> float:
        """The scale of the noise."""

    @property
    def space(self) -> Space:
        """The space in which the value lives."""

    @property
    def ball(self) -> Place:
        """The ball in which the noise was drawn: of an adaptive release, the last one."""

    @property
    def noisy(self) -> Noisy | None:
        """What the value was made of, if the release tells."""


# --- sets of points ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chart:
    """Coordinates at a footpoint, as mechanisms use them: seen from the origin, to which the centre is moved."""

    space: Space
    center: Array  # of the ball, in the form of the space's maps
    footpoint: Array  # its coordinates there

    def coords(self, points: Array) -> Array:
        """The coordinates of the shortest way from the footpoint to each point."""
        coords = self.space.log_coords(points, self.center)
        if not self.footpoint.any():
            return coords
        return self.space.log_coords(self.space.exp_coords(coords, self._origin), self._foot)

    def points(self, coords: Array) -> Array:
        """The points that the coordinates lead to."""
        if self.footpoint.any():
            coords = self.space.log_coords(self.space.exp_coords(coords, self._foot), self._origin)
        return self.space.exp_coords(coords, self.center)

    @property
    def _origin(self) -> Array:
        return self.space.read(self.space.origin, "origin")

    @property
    def _foot(self) -> Array:
        return self.space.exp_coords(self.footpoint, self._origin)


class Shape(Protocol):
    """What a region measures, and where that has a given value."""

    def lengths(self, points: Array) -> Array:
        """A number for each point; those up to the radius belong to the region."""

    def rim(self, radius: float, directions: Array) -> Array:
        """Points where it is the radius, in these directions; fewer where there are none."""

    def reach(self, radius: float) -> float:
        """How far from the middle points of the region may be, to first order."""


@dataclass(frozen=True, eq=False)
class InCoordinates:
    """|axes⁻¹ (u - center)| of the coordinates u of a point: a ball of radius 1 in them is an ellipsoid."""

    chart: Chart
    center: Array
    axes: Array  # (d, d)

    def lengths(self, points: Array) -> Array:
        """Lengths of coordinates, not of geodesics from the centre: the law of the noise is one of coordinates."""
        offset = self.chart.coords(points) - self.center
        try:
            return np.asarray(np.linalg.norm(np.linalg.solve(self.axes, offset[..., None])[..., 0], axis=-1))
        except np.linalg.LinAlgError:  # an axis is lost to float64: what is along it does not count, more points belong
            return np.asarray(np.linalg.norm(offset @ np.linalg.pinv(self.axes).T, axis=-1))

    def rim(self, radius: float, directions: Array) -> Array:
        """By exp; coordinates to which no shortest way leads are left out."""
        coords = self.center + radius * directions @ self.axes.T
        points = self.chart.points(coords)
        return np.asarray(points[np.abs(self.lengths(points) - radius) <= RETURNS * radius])

    def reach(self, radius: float) -> float:
        """How far the ellipsoid reaches along its longest axis."""
        return radius * float(np.linalg.norm(self.axes, 2))


@dataclass(frozen=True, eq=False)
class InAmbient:
    """Distance in the ambient space from the noisy vector: to the point, or where points are rays, to its ray."""

    space: Space
    vector: Array
    center: Array  # of the ball
    value: Array

    def lengths(self, points: Array) -> Array:
        """Points across the space from the ball are no mean of records in it: of a ray's line, one half counts."""
        embedded = self.space.capability(Embedding).embed(points)
        if not self.space.has(Chords):
            return np.asarray(np.linalg.norm(embedded - self.vector, axis=-1))
        ray = embedded / np.linalg.norm(embedded, axis=-1, keepdims=True)
        across = np.linalg.norm(self.vector - ray * (ray @ self.vector)[..., None], axis=-1)
        is_near = self.space.distance(self.center, points) < self.space.uniqueness_radius
        return np.where(is_near, across, np.inf)

    def rim(self, radius: float, directions: Array) -> Array:
        """Along geodesics from the released point, if it belongs to the region, to where they first leave it."""
        inside, outside = np.zeros((len(directions), 1)), np.full((len(directions), 1), self._far(radius))

        def is_inside(times: Array) -> Array:
            with np.errstate(all="ignore"):
                return self.lengths(self.space.exp_coords(times * directions, self.value))[:, None] <= radius

        leaves = is_inside(inside) & ~is_inside(outside)
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            within = is_inside(middle)
            inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
        return self.space.exp_coords(inside * directions, self.value)[leaves[:, 0]]

    def reach(self, radius: float) -> float:
        """The farthest point of the rim, in a few hundred directions."""
        rim = self.rim(radius, _directions(self.space.dim, 400))
        return float(np.max(self.space.distance(self.value, rim), initial=0.0))

    def _far(self, radius: float) -> float:
        """A length that leads out of the region, or as far as makes sense."""
        if self.space.has(Chords):
            return self.space.injectivity_radius / 2
        size = float(np.linalg.norm(self.vector)) + radius
        least = float(np.linalg.norm(self.space.capability(Embedding).embed(self.value))) / math.sqrt(self.space.dim)
        return 2 * math.log(1 + 2 * size / least) + 1


@shown
@dataclass(frozen=True, eq=False)
class Region:
    """Points among which the mean is, with probability `level`; made by `Release.region`.

    Parameters
    ----------
    level : float
        The probability, over the noise (and for `of = "population"` over the records as well), that the region made
        of a release holds the mean.
    of : str
        "records": the mean of the records as moved into the ball, as the release's statistic defines it; exact, for
        the law of the noise is known. "population": the mean of what the records are a sample of; asymptotic.
    space : Space
        Where the points live.
    radius : float
        Points up to this length belong to it: of coordinates at the footpoint, around those that were released (which
        is not the distance to the released point, unless the space is flat or the footpoint that point), of vectors in
        the ambient space, or in units of an ellipsoid's axes.
    shape : Shape
        How that length is measured, and where the rim is.

    See Also
    --------
    Release.region : Makes one.
    compare : Whether the means of two groups differ.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> ball = rd.Ball(rd.Sphere(2), [0.0, 0.0, 1.0], 0.5)
    >>> release = rd.private_mean(np.tile([0.0, 0.0, 1.0], (5000, 1)), ball, rd.GDP(1.0))
    >>> region = release.region(0.999999)
    >>> region.contains([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]).tolist()
    [True, False]
    """

    level: float
    of: str
    space: Space
    radius: float
    shape: Shape = field(repr=False)

    @property
    def reach(self) -> float:
        """How far from its middle the region reaches where it reaches farthest, to first order in curved spaces.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> release = rd.private_mean(np.zeros((5000, 1)), rd.Ball(rd.Euclidean(1), [0.0], 1.0), rd.GDP(1.0))
        >>> round(release.region(0.95).reach / release.scale, 2)  # standard deviations
        1.96
        """
        return self.shape.reach(self.radius)

    def contains(self, points: ArrayLike) -> Array:
        """Which points belong to the region.

        Parameters
        ----------
        points : array of shape (..., *point_shape)
            Points of the space.

        Returns
        -------
        array of bool of shape (...)
            True where the point belongs to it.

        Raises
        ------
        InputError
            If something is no point of the space.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
        >>> region = rd.private_mean(np.zeros((5000, 2)), ball, rd.GDP(1.0)).region()
        >>> region.contains([[0.9, 0.0], [0.0, 0.9]]).tolist()
        [False, False]
        """
        inner = self.space.read_points(points, "points")
        with np.errstate(all="ignore"):
            return np.asarray(self.shape.lengths(inner) <= self.radius)

    def boundary(self, size: int = 200) -> Array:
        """Points on the rim, for pictures: a closed curve where the space has two dimensions.

        Parameters
        ----------
        size : int
            How many directions from the middle to look in: evenly spread where the space has two dimensions, at
            random (with a fixed seed) where it has more.

        Returns
        -------
        array of shape (at most size, *point_shape)
            Fewer than `size` points where the region reaches around the space and has no rim in some directions.

        Raises
        ------
        InputError
            If size is no positive whole number.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
        >>> region = rd.private_mean(np.zeros((5000, 2)), ball, rd.GDP(1.0)).region()
        >>> region.boundary(100).shape
        (100, 2)
        """
        directions = _directions(self.space.dim, whole_number(size, "size", 1))
        with np.errstate(all="ignore"):
            points = self.shape.rim((1 - ON_RIM) * self.radius, directions)
        return self.space.write(points, self.space.origin)

    def __repr__(self) -> str:
        return f"Region(level={self.level:g}, of={self.of!r}, radius={self.radius:.4g}, space={self.space!r})"


def _directions(dim: int, size: int) -> Array:
    """Unit vectors, in order around the circle where that makes sense."""
    if dim == 1:
        return np.array([[-1.0], [1.0]])
    if dim == 2:
        angle = np.linspace(0.0, 2 * math.pi, size)
        return np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    normal = np.random.default_rng(0).standard_normal((size, dim))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


# --- quantiles of noise of scale 1 ------------------------------------------------------------------------------


def normal_quantile(dim: int, level: float) -> float:
    """The quantile of the length of a standard normal vector."""
    return math.sqrt(2 * gammaincinv(dim / 2, level))


def laplace_quantile(dim: int, level: float) -> float:
    """The quantile of the length of isotropic Laplace noise of scale 1, which is Gamma(d)."""
    return float(gammaincinv(dim, level))


@lru_cache(maxsize=256)
def projected_laplace_quantile(dim: int, ambient: int, level: float) -> float:
    """The quantile of the length of Laplace noise projected from R^ambient to R^dim: sqrt(W V), chi-squares.

    W of ambient + 1 degrees (docs/proofs/ideal_noise.md), V of dim: the law of V is averaged over strata of W.
    """
    from scipy.optimize import brentq

    w = 2 * gammaincinv((ambient + 1) / 2, (np.arange(STRATA) + 0.5) / STRATA)

    def excess(q: float) -> float:
        return float(gammainc(dim / 2, q**2 / (2 * w)).mean()) - level

    return float(brentq(excess, 0.0, laplace_quantile(ambient, level) + 1, xtol=1e-12))


# --- regions of the mean of the records, by mechanism -----------------------------------------------------------


def records_region(release: Released, level: Any) -> Region:
    """The region of what the mechanism added noise to; an InputError or MechanismError that says why there is none."""
    share = probability(level)
    if release.mechanism not in SHAPES:
        raise MechanismError(
            f"mechanism = {release.mechanism!r}: the law of its noise depends on the records, or is not known here, so "
            f"no region of stated coverage can be made of a release; use one of {', '.join(SHAPES)}."
        )
    noisy = _what_was_noisy(release)
    shape, quantile = SHAPES[release.mechanism](release, noisy, share)
    radius = quantile + rounding(release.space.dim) * release.scale + noisy.off
    return Region(share, "records", release.space, radius, shape)


def rounding(dim: int) -> float:
    """How far the rounding to a grid may move what was released, in scales of the noise."""
    return FINENESS * math.sqrt(dim + 1)


def no_second_moments(of: Any) -> InputError:
    """What a release of a mean alone says when it is asked for more than its noise."""
    if of == "population":
        return InputError(
            "of = 'population': a release of the mean alone does not tell how much records vary; use private_summary."
        )
    return InputError(f"of = {of!r}: pass 'records', or 'population' for a release of private_summary.")


def probability(level: Any) -> float:
    """The level as a float between 0 and 1."""
    share = finite_number(level, "level")
    if not 0 < share < 1:
        raise InputError(f"level = {level!r}: pass a probability between 0 and 1, such as 0.95.")
    return share


def _what_was_noisy(release: Released) -> Noisy:
    """As the release tells it; of older files the value tells it, in flat spaces and of noise around a point."""
    if release.noisy is not None:
        return release.noisy
    space = release.space
    if release.statistic not in MEANS:
        raise MechanismError(f"statistic = {release.statistic!r} has no region: only means have.")
    if release.mechanism == "riemannian-laplace" and not space.is_flat:
        return Noisy(None, np.zeros(space.dim), 0.0)
    if not space.is_flat or release.mechanism.startswith("extrinsic"):
        raise MechanismError(
            "the release was saved by a version of riemdp that did not keep the noisy coordinates, which its region "
            "is made of: make a new one."
        )
    point = space.one_point(release.value, "value")
    return Noisy(space.log_coords(point, release.ball.inner_center), np.zeros(space.dim), 0.0)


Made = tuple[Shape, float]


def _in_coordinates(quantile: Callable[[int, float], float]) -> Callable[[Released, Noisy, float], Made]:
    """A shape around the noisy coordinates, of noise whose lengths have these quantiles."""

    def make(release: Released, noisy: Noisy, level: float) -> Made:
        dim = release.space.dim
        chart = Chart(release.space, release.ball.inner_center, noisy.footpoint)
        axes = np.eye(dim) if noisy.axes is None else noisy.axes
        return InCoordinates(chart, noisy.vector_of(dim), axes), release.scale * quantile(dim, level)

    return make


def _around_the_point(release: Released, noisy: Noisy, level: float) -> Made:
    """The Riemannian Laplace law depends on the distance alone, which is the same both ways."""
    space = release.space
    if space.is_flat:
        return _in_coordinates(laplace_quantile)(release, noisy, level)
    chart = Chart(space, space.one_point(release.value, "value"), np.zeros(space.dim))
    shape = InCoordinates(chart, np.zeros(space.dim), np.eye(space.dim))
    return shape, length_quantile(RiemannianLaplace(space, space.origin, release.scale), level)


def _in_ambient(
    quantile: Callable[[int, float], float], projected: Callable[[int, int, float], float]
) -> Callable[[Released, Noisy, float], Made]:
    """Around the noisy vector; where points are rays, only the noise across the mean's own ray counts."""

    def make(release: Released, noisy: Noisy, level: float) -> Made:
        space, value = release.space, release.space.one_point(release.value, "value")
        ambient = space.capability(Embedding).embed(value).size
        shape = InAmbient(space, noisy.vector_of(ambient), release.ball.inner_center, value)
        if not space.has(Chords):
            return shape, release.scale * quantile(ambient, level)
        return shape, release.scale * projected(space.dim, ambient, level)

    return make


SHAPES: dict[str, Callable[[Released, Noisy, float], Made]] = {
    "wrapped-gaussian": _in_coordinates(normal_quantile),
    "wrapped-laplace": _in_coordinates(laplace_quantile),
    "riemannian-laplace": _around_the_point,
    "extrinsic-gaussian": _in_ambient(normal_quantile, lambda dim, _, level: normal_quantile(dim, level)),
    "extrinsic-laplace": _in_ambient(laplace_quantile, projected_laplace_quantile),
}
