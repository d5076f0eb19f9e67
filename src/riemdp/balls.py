"""The public ball, into which private records are forced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.arguments import finite_number
from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds import Space
from riemdp.manifolds.capabilities import SpectralBalls
from riemdp.manifolds.radii import USABLE, too_large

Array = NDArray[Any]
# Between these, no square or sum of lengths within the ball under- or overflows.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-100, 1e100
# Coordinates are whole multiples of a power of two, fewer than 2^BITS of them within the radius: so many that
# rounding to them does not matter, so few that those of a block add up in 64-bit integers.
BITS = 48


@shown
@dataclass(frozen=True, eq=False, repr=False)
class Ball:
    """A closed geodesic ball with a *public* centre and radius: chosen without looking at the data.

    Records outside it are moved onto its rim before anything else is done with them, so that one record can change a
    mean only so much: a small ball needs little noise. Balls are compared by identity, not by value.

    Parameters
    ----------
    space : Space
        Where the records live.
    center : array of shape point_shape
        A point of the space.
    radius : float
        In the space's own unit of length; below `space.uniqueness_radius`.

    Raises
    ------
    InputError
        If the centre is no point of the space, or the radius is not positive or too large for it.

    See Also
    --------
    check : How records lie in a ball; not private.
    plan : What errors to expect in a ball, without data.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rd.Ball(rd.SPDAffine(3), center=np.eye(3), radius=1.5).radius
    1.5
    """

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
            raise too_large(radius, self.space)
        center = self.space.one_point(self.center, "center")
        frozen = np.array(self.space.write(center, self.space.origin))
        frozen.flags.writeable = False
        object.__setattr__(self, "center", frozen)
        object.__setattr__(self, "radius", radius)

    @classmethod
    def from_eigenvalue_bounds(cls, space: Space, low: float, high: float | None = None) -> Ball:
        """A ball around a multiple of the identity that holds all matrices with spectra within [low, high].

        The centre is sqrt(low high) I, the radius sqrt(k)/2 ln(high/low) (the least one) in the affine-invariant and
        the log-Euclidean metrics; other spaces have their own, around the identity for correlations.

        Parameters
        ----------
        space : Space
            Of positive definite k x k matrices, real or complex, or of correlations.
        low, high : float
            Bounds on the eigenvalues of all records, known without looking at them: 0 < low < high. Correlations need
            no `high`, since their trace is k.

        Returns
        -------
        Ball
            Public, if the bounds are.

        Raises
        ------
        InputError
            If the space is not one of matrices, or the bounds are not in order.

        Examples
        --------
        >>> import riemdp as rd
        >>> ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.1, 10.0)
        >>> ball.center.round(12).tolist(), round(ball.radius, 4)
        ([[1.0, 0.0], [0.0, 1.0]], 3.2563)
        """
        if not (isinstance(space, Space) and space.has(SpectralBalls)):
            raise InputError(f"space = {space!r}: eigenvalue bounds make a ball of a space of positive matrices only.")
        role = space.capability(SpectralBalls)
        lo, hi = finite_number(low, "low"), finite_number(_or_greatest(high, role), "high")
        if not 0 < lo < hi:
            raise InputError(f"low = {lo!r}, high = {hi!r}: pass 0 < low < high.")
        return cls(space, role.spectral_center(lo, hi), role.spectral_radius(lo, hi))

    @classmethod
    def largest(cls, space: Space) -> Ball:
        """The largest ball around the origin for which means are offered, or one that holds the whole space.

        For who knows nothing about the data beforehand: all rotations that differ from the identity by less than 0.9
        of a quarter turn, the whole simplex (up to 40 categories). Records outside are moved into it.

        Parameters
        ----------
        space : Space
            One that is bounded, or curves back.

        Returns
        -------
        Ball
            Public: it depends on nothing else.

        Raises
        ------
        InputError
            If balls of the space have no largest one.

        Examples
        --------
        >>> import riemdp as rd
        >>> round(rd.Ball.largest(rd.Rotations()).radius, 4), round(rd.Ball.largest(rd.Simplex(4)).radius, 4)
        (1.4137, 2.0944)
        """
        if not isinstance(space, Space) or math.isinf(space.uniqueness_radius):
            raise InputError(f"space = {space!r}: balls have no largest one there; pass a public centre and radius.")
        return cls(space, space.origin, min(space.extent, USABLE * space.uniqueness_radius))

    def footpoint_coords(self, footpoint: Any) -> Array:
        """The coordinates at the centre of a public footpoint.

        Parameters
        ----------
        footpoint : array of shape point_shape or None
            A point of the space; None is the centre itself.

        Returns
        -------
        array of shape (dim,)
            Orthonormal coordinates; zeros in a flat space, where all footpoints do the same.

        Raises
        ------
        InputError
            If it is no point, or too far away for float64.

        Examples
        --------
        >>> import riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [1.0, 0.0], 1.0)
        >>> ball.footpoint_coords(None).tolist()
        [0.0, 0.0]
        """
        if footpoint is None:
            return np.zeros(self.space.dim)
        point = self.space.one_point(footpoint, "footpoint")
        with np.errstate(all="ignore"):
            coords = self.space.log_coords(point, self.inner_center)
        if not np.isfinite(coords).all():
            raise InputError("footpoint is too far from the ball for float64: pass a nearer one.")
        return np.zeros_like(coords) if self.space.is_flat else coords  # flat: all footpoints do the same

    @property
    def grid(self) -> int:
        """The e of the step 2^e of all coordinates: 2^(e + BITS - 1) <= radius < 2^(e + BITS).

        Examples
        --------
        >>> import riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [1.0, 0.0], 1.0)
        >>> ball.grid
        -47
        """
        return math.frexp(self.radius)[1] - BITS

    @property
    def inner_center(self) -> Array:
        """The centre in the form of the space's own maps.

        Examples
        --------
        >>> import riemdp as rd
        >>> ball = rd.Ball(rd.Euclidean(2), [1.0, 0.0], 1.0)
        >>> ball.inner_center.tolist()
        [1.0, 0.0]
        """
        return self.space.read(self.center, "center")

    def at_origin(self, coords: Array) -> Array:
        """The points with these coordinates at the centre, moved by the isometry that takes it to the origin.

        Parameters
        ----------
        coords : array of shape (..., dim)
            Orthonormal coordinates at the centre.

        Returns
        -------
        array of shape (..., *inner_shape)
            Points around the origin, in the form of the space's own maps.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.Ball(rd.Euclidean(2), [1.0, 0.0], 1.0).at_origin(np.zeros(2)).tolist()
        [0.0, 0.0]
        """
        return self.space.exp_coords(coords, self.space.read(self.space.origin, "origin"))


def mean_rounding(radius: float) -> float:
    """How far a mean of vectors up to the radius is from the exact one: a quotient is rounded (exact_sums.md)."""
    return 2 * UNIT_ROUNDOFF * radius


def within_reach(space: Space, radius: float) -> float:
    """The radius, or the largest one for which balls are offered if that is less."""
    return min(max(radius, SMALLEST_RADIUS), LARGEST_RADIUS, USABLE * space.uniqueness_radius)


def _or_greatest(high: float | None, role: SpectralBalls) -> float:
    if high is None and math.isinf(role.greatest_eigenvalue):
        raise InputError("high is missing: pass the largest eigenvalue that a record may have.")
    return role.greatest_eigenvalue if high is None else high
