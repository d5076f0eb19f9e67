"""A public ellipsoid, into which private records are forced: noise in a shape that is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riemdp.arguments import finite_number
from riemdp.axes import LARGEST_FULL, Axes
from riemdp.balls import LARGEST_RADIUS, SMALLEST_RADIUS, Ball, within_reach
from riemdp.caching import cached_property
from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.manifolds import Space

Array = NDArray[Any]
LARGEST_RATIO = 1e4  # of two axes: their matrix is kept with 24 bits, and has to be invertible
STEPS_TO_CENTER = 30
FEWEST_POINTS = 2


@shown
@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Points whose coordinates v at a *public* centre have |axes⁻¹ v| <= radius: chosen without looking at the data.

    It takes the place of a `Ball` in `private_mean`, `private_summary`, `plan` and `simulate`. Records outside it are
    moved into it, and the noise has its shape: little where records hardly differ. If they do vary like that, the error
    is smaller than in any ball; if not, records are cut off where the ellipsoid is narrow.

    Parameters
    ----------
    space : Space
        Where the records live.
    center : array of shape point_shape
        A point of the space.
    axes : array of shape (dim, dim) or (dim,)
        An invertible matrix S: the ellipsoid is S times a ball, in orthonormal coordinates at the centre. Or the
        diagonal of one. The noise is S times that of a ball.
    radius : float
        Of that ball.

    Raises
    ------
    InputError
        If the centre is no point of the space, the axes are no such matrix, or the radius is not positive.

    See Also
    --------
    Ball : The same length in all directions.
    private_mean : With `adapt=True` it finds a shape by itself, from a part of the budget.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> flat = rd.Ellipsoid(rd.Euclidean(2), [0.0, 0.0], axes=[1.0, 0.1], radius=1.0)
    >>> flat
    Ellipsoid(Euclidean(d=2), radius=1, axes from 0.1 to 1)
    >>> ball = rd.Ball(rd.Euclidean(2), [0.0, 0.0], 1.0)
    >>> one, other = (rd.plan(place, 1000, rd.GDP(1.0))[0].expected_error for place in (flat, ball))
    >>> round(one / other, 2)
    0.71
    """

    space: Space
    center: Array
    axes: Array
    radius: float

    def __post_init__(self) -> None:
        _require_space(self.space)
        matrix = _matrix(self.axes, self.space.dim)
        longest, radius = float(np.abs(matrix).max()), finite_number(self.radius, "radius")
        if not (radius > 0 and SMALLEST_RADIUS <= radius * longest <= LARGEST_RADIUS):
            raise InputError(
                f"radius = {radius!r}, axes up to {longest:.3g}: pass a positive radius, and axes that with it are "
                "neither shorter than 1e-100 nor longer than 1e100."
            )
        matrix.flags.writeable = False
        object.__setattr__(self, "axes", matrix)
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "center", self.ball.center)

    @cached_property
    def ball(self) -> Ball:
        """Around the same centre, with all of it inside, or as much as the space allows.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Ellipsoid(rd.Euclidean(2), [0.0, 0.0], [2.0, 1.0], 1.5).ball.radius
        3.0
        """
        return Ball(self.space, self.center, within_reach(self.space, self.reach))

    @property
    def reach(self) -> float:
        """Half the length of the longest axis.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Ellipsoid(rd.Euclidean(2), [0.0, 0.0], [2.0, 1.0], 1.5).reach
        3.0
        """
        return float(self.half_axes.max())

    @property
    def half_axes(self) -> Array:
        """Lengths of the half axes, in no order: how far it reaches in which directions."""
        lengths = np.abs(self.axes) if self.axes.ndim == 1 else np.linalg.svd(self.axes, compute_uv=False)
        return np.asarray(self.radius * lengths)

    @property
    def narrowing(self) -> Axes:
        """The axes in the form in which records are narrowed: the longest has length 1."""
        return Axes.of_inverse(1 / self.axes if self.axes.ndim == 1 else np.linalg.inv(self.axes))

    @classmethod
    def from_public(cls, space: Space, public_points: ArrayLike, coverage: float = 0.99) -> Ellipsoid:
        """The ellipsoid with the least noise for records like these points, which must be **public**.

        Other people's data, an atlas, an earlier study that may be shown to everyone: the axes are those of C^¼, C
        their covariance about their mean, evened out where points are few; the radius leaves out one point in a
        hundred.

        Parameters
        ----------
        space : Space
            Where the records live.
        public_points : array of shape (m, *point_shape)
            Two or more points; the more, the better the shape is known.
        coverage : float
            The share of them that the ellipsoid is to hold, above 0 and at most 1.

        Returns
        -------
        Ellipsoid
            Public, as the points are.

        Raises
        ------
        InputError
            If the points are fewer than two, no points of the space, or all the same.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> points = np.random.default_rng(0).standard_normal((500, 2)) * [3.0, 0.1]
        >>> rd.Ellipsoid.from_public(rd.Euclidean(2), points).radius > 0
        True
        """
        _require_space(space)
        share, points = finite_number(coverage, "coverage"), space.read_points(public_points, "public_points")
        if not 0 < share <= 1:
            raise InputError(f"coverage = {coverage!r}: pass a share above 0 and at most 1, such as 0.99.")
        if points.ndim != 1 + len(space.inner_shape) or len(points) < FEWEST_POINTS:
            shape = np.shape(public_points)
            raise InputError(f"public_points has shape {shape}: pass at least {FEWEST_POINTS} points.")
        center = _middle(space, points)
        coords = space.log_coords(points, center)
        covariance = _evened(coords.T @ coords / len(coords), len(coords))
        variances, directions = np.linalg.eigh(covariance)
        if not variances[-1] > 0:
            raise InputError("public_points are all the same: pass points that vary as the records may.")
        axes = (directions * variances**0.25) @ directions.T
        lengths = np.linalg.norm(np.linalg.solve(axes, coords.T), axis=0)
        return cls(space, space.write(center, space.origin), axes, float(np.quantile(lengths, share)))

    def __repr__(self) -> str:
        lengths = self.half_axes / self.radius
        return (
            f"Ellipsoid({self.space!r}, radius={self.radius:.4g}, axes from {lengths.min():.4g} to {lengths.max():.4g})"
        )


def _require_space(space: object) -> None:
    if not isinstance(space, Space):
        raise InputError(f"space = {space!r:.100}: pass a space such as SPDAffine(3).")


def _matrix(axes: ArrayLike, dim: int) -> Array:
    """The axes as an invertible matrix of floats, or an InputError."""
    try:
        matrix = np.array(axes, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"axes = {axes!r:.100}: pass numbers.") from None
    if matrix.shape not in ((dim,), (dim, dim)):
        raise InputError(f"axes have shape {matrix.shape}: pass ({dim}, {dim}), or the ({dim},) of a diagonal.")
    if matrix.ndim == 2 and dim > LARGEST_FULL:
        raise InputError(f"axes have shape {matrix.shape}: beyond {LARGEST_FULL:,} dimensions, pass a diagonal.")
    if not np.isfinite(matrix).all():
        raise InputError("axes have entries that are not finite: pass numbers.")
    lengths = np.abs(matrix) if matrix.ndim == 1 else np.linalg.svd(matrix, compute_uv=False)
    if not 0 < lengths.max() <= LARGEST_RATIO * lengths.min():
        raise InputError(
            f"axes are from {lengths.min():.3g} to {lengths.max():.3g} long: pass an invertible matrix, of axes that "
            f"differ by a factor of {LARGEST_RATIO:.0e} at most."
        )
    return matrix


def _middle(space: Space, points: Array) -> Array:
    """Near enough to the mean: steps to the tangent mean."""
    center = points[0]
    for _ in range(1 if space.is_flat else STEPS_TO_CENTER):
        center = space.exp_coords(space.log_coords(points, center).mean(axis=0), center)
    return np.asarray(center)


def _evened(covariance: Array, points: int) -> Array:
    """With a part of an even one, the larger the fewer points there are: few do not know all directions."""
    dim = len(covariance)
    part = dim / (dim + points)
    return np.asarray((1 - part) * covariance + part * np.trace(covariance) / dim * np.eye(dim))
