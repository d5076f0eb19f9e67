"""The public ball, and private records forced into it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.arguments import finite_number
from riemdp.caching import cached_property
from riemdp.display import shown
from riemdp.errors import InputError
from riemdp.io.identities import identities
from riemdp.io.people import People
from riemdp.io.rows import Held, Rows, Turn
from riemdp.io.sources import source_of
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.products import sums_of_products, sums_of_squares
from riemdp.manifolds import Space
from riemdp.manifolds.capabilities import FlatMean, FrechetModel, LocalModel, SpectralBalls
from riemdp.manifolds.euclidean import column_sums
from riemdp.manifolds.local_model import Part, exact_mean, merged
from riemdp.manifolds.radii import USABLE, too_large
from riemdp.manifolds.scalars import lengths

Array = NDArray[Any]
# Between these, no square or sum of lengths within the ball under- or overflows.
SMALLEST_RADIUS, LARGEST_RADIUS = 1e-100, 1e100
# Coordinates are whole multiples of a power of two, fewer than 2^BITS of them within the radius: so many that
# rounding to them does not matter, so few that those of a block add up in 64-bit integers.
BITS = 48
# The Newton step of more records than this takes the Hessian of a sample of so many.
SAMPLE = 2**12


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


def _or_greatest(high: float | None, role: SpectralBalls) -> float:
    if high is None and math.isinf(role.greatest_eigenvalue):
        raise InputError("high is missing: pass the largest eigenvalue that a record may have.")
    return role.greatest_eigenvalue if high is None else high


class Bounded:
    """Private records forced into a public ball; shows nothing but sums over all of them.

    Each record is turned, by itself, into its coordinates at the centre, of length at most the radius:
    a record outside is moved along the geodesic to the centre, an unusable one becomes the centre. What was
    done to which record, and to how many, is private: it is not kept. By homogeneity everything else happens
    around the origin of the space, whatever the centre. With `groups`, an id for each record, the mean of one id's
    coordinates takes the place of its records: then `n`, and all that is said of records, is about people
    (docs/proofs/people.md). Every sum is one pass over the records, wherever they
    are, and has the same bits however they are stored and worked on (docs/proofs/exact_sums.md).
    """

    def __init__(self, X: Any, ball: Ball, groups: Any = None) -> None:
        if not isinstance(ball, Ball):
            raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
        source, space = source_of(ball.space.numbers(X)), ball.space
        space.check_form(source.shape, source.dtype, "X")
        if len(source.shape) != 1 + len(space.shape_of_point(source.dtype)):
            raise InputError(f"X has shape {source.shape}: pass (n, {', '.join(map(str, space.point_shape))}).")
        self.ball, self._raw, forced = ball, source, partial(_to_ball, ball=ball)
        self._identities = None if groups is None else identities(groups, source.n)
        self._rows = Rows(source, (forced,))
        if self._identities is not None:
            self._rows = Rows(People(source, forced, self._identities, ball.grid, space.dim))
        self.n = self._rows.source.n

    def __repr__(self) -> str:
        return f"Bounded(n={self.n}, {self.ball.space!r})"

    @property
    def space(self) -> Space:
        """The space of the records and of their ball."""
        return self.ball.space

    @property
    def given(self) -> int:
        """How many records there are, whosever they are: private if n is the number of people."""
        return self._raw.n

    @property
    def can_gather(self) -> bool:
        """Whether all records may be held in this process's memory at once: public."""
        return self._rows.source.is_local

    @cached_property
    def _survey(self) -> tuple[list[int], tuple[Array, ...]]:
        """The exact sum of all coordinates, in steps of the grid, and a sample of them, block by block."""
        parts = self._rows.map(partial(_surveyed, n=self.n, grid=self.ball.grid))
        sums, samples = zip(*parts, strict=True)
        return [sum(column) for column in zip(*sums, strict=True)], samples

    @property
    def _coordinates(self) -> Rows:
        """The coordinates of all records, from memory if they are few enough to be kept."""
        return self._rows if self.n > SAMPLE else Rows(Held(self._survey[1]))

    @cached_property
    def _around_origin(self) -> Rows:
        """The records as points, moved by the isometry that takes the centre to the origin."""
        return self._coordinates.turned(self.ball.at_origin).kept(math.prod(self.space.point_shape))

    @cached_property
    def _sample(self) -> Array:
        """The records of the sample as such points, in memory."""
        return self.ball.at_origin(np.concatenate(self._survey[1]))

    def coordinate_sum(self) -> list[int]:
        """Sum of the coordinates at the centre, exact, in steps of the ball's grid."""
        return self._survey[0]

    def coordinate_mean(self) -> FlatMean:
        """Mean of the coordinates at the centre, with a bound on its rounding error."""
        return mean_of_sum(self.coordinate_sum(), self.n, self.ball)

    def moment_sums(self, second: str) -> MomentSums:
        """Sums of the coordinates at the centre and of their products, exact, in one pass."""
        total = self._rows.total(partial(_moments, grid=self.ball.grid, second=second)).tolist()
        return MomentSums(self.ball, self.n, second, tuple(total[: self.space.dim]), tuple(total[self.space.dim :]))

    def mean_of(self, per_record: Turn) -> Array:
        """Mean over the records of vectors that each one's coordinates at the centre are mapped to."""
        sums = self._coordinates.turned(per_record).each(column_sums)
        return exact_mean(sums, self.n)[: len(sums[0]) // 2]

    def mapped(self, per_record: Turn, body: Ball) -> Bounded:
        """Vectors that each one's coordinates at the centre are mapped to, forced into a public ball of vectors."""
        return self._forced(self._coordinates.turned(per_record), body)

    def mapped_points(self, per_point: Turn, body: Ball) -> Bounded:
        """The same of the records as points around the origin, which are kept if they are few: for many passes."""
        return self._forced(self._around_origin.turned(per_point), body)

    def people(self, per_record: Callable[..., Array], beside: Array, grid: int, dim: int) -> People | None:
        """By person, vectors of raw records and something beside each, on a grid; None if records are nobody's."""
        who = self._identities
        return None if who is None else People(self._raw, per_record, who, grid, dim, (beside,))

    def _forced(self, rows: Rows, body: Ball) -> Bounded:
        vectors = Bounded.__new__(Bounded)
        vectors.ball, vectors.n, vectors._rows = body, self.n, rows.turned(partial(_to_ball, ball=body))
        return vectors

    # --- what adaptation asks (docs/proofs/quantile.md) ------------------------------------------------------

    def moved(self, ball: Ball) -> Bounded:
        """The same records forced into another ball of the space."""
        return Bounded(self._raw, ball, self._identities)

    def shrunk(self, radius: float) -> Bounded:
        """The same records forced into a smaller ball with the same centre."""
        return self.moved(Ball(self.space, self.ball.center, radius))

    def outside(self, radii: Sequence[float]) -> list[int]:
        """How many records are farther from the centre than each of the radii, all below the ball's own."""
        counts = self._coordinates.each(partial(_outside, radii=tuple(radii)))
        return [sum(column) for column in zip(*counts, strict=True)]

    # --- what the Fréchet solver asks, around the origin (riemdp.statistics.frechet.RecordSums) -------------

    def factors(self) -> list[Bounded]:
        """The records of each factor of a product, in balls of the same radius."""
        ends, rows = accumulate(factor.dim for factor in self.space.factors), self._coordinates.kept(self.space.dim)
        return [self._factor(*part, rows) for part in zip(self.space.factors, ends, strict=True)]

    def _factor(self, factor: Space, end: int, rows: Rows) -> Bounded:
        """The records of one factor, whose coordinates end at that column."""
        part = Bounded.__new__(Bounded)
        part.ball, part.n = Ball(factor, factor.origin, self.ball.radius), self.n
        part._rows = rows.columns(end - factor.dim, end)
        return part

    def closed_form(self) -> FlatMean:
        """The mean of a flat space, as a point around the origin."""
        mean = self.coordinate_mean()
        return FlatMean(self.ball.at_origin(mean.point), mean.rounding)

    def start(self) -> Array:
        """A first guess of the mean: the tangent mean."""
        return self.closed_form().point

    def sample(self) -> Array | None:
        """Points that may stand for all in a first guess; None if all are few enough anyway."""
        return self._sample if self.n > SAMPLE else None

    def model(self, x: Array) -> LocalModel:
        """The Fréchet function around x; that of many records steps as a sample of them would."""
        space = self.space.capability(FrechetModel)
        if self.n <= SAMPLE:
            return space.local_model(self._sample, x)
        parts = self._around_origin.each(partial(Part.of, space=space, x=x))
        return merged(parts, space.curvature_bounds[1], lambda g: space.local_model(self._sample, x).step(g))

    def certify(self, x: Array, model: LocalModel) -> None:
        """The ball itself proves that the mean is unique (docs/proofs/certificate.md)."""


# --- moments (docs/proofs/moments.md, section 1) ----------------------------------------------------------------

SECOND_MOMENTS: dict[str, Callable[[Array], Array]] = {  # the last number of each is the trace
    "full": lambda rows: _with_trace(sums_of_products(rows), rows.shape[1]),
    "diagonal": lambda rows: _with_trace(sums_of_squares(rows), rows.shape[1]),
    "trace": lambda rows: sums_of_squares(rows).sum(keepdims=True),
}


def _with_trace(sums: Array, dim: int) -> Array:
    return np.append(sums, sums[:dim].sum())


@dataclass(frozen=True)
class MomentSums:
    """Exact sums over n records of a ball: of coordinates at the centre, and of products of them. **Private**."""

    ball: Ball
    n: int
    second: str  # which products, of SECOND_MOMENTS
    first_total: tuple[int, ...]  # in steps of the ball's grid
    second_total: tuple[int, ...]  # in steps of its square

    def means(self, weights: Sequence[float]) -> tuple[Array, Array]:
        """The mean of the coordinates, and those of products, each over its weight; every number is rounded once."""
        first = mean_of_sum(self.first_total, self.n, self.ball).point
        ratios = {weight: self._ratio(weight) for weight in set(weights)}
        pairs = zip(self.second_total, map(ratios.__getitem__, weights), strict=True)
        return first, np.array([(total << up) / bottom for total, (up, bottom) in pairs])

    def _ratio(self, weight: float) -> tuple[int, int]:
        """(a, b) with g^2/(n weight) = 2^a/b, whole numbers: quotients of integers are rounded once."""
        fraction, exponent = math.frexp(weight)
        up = 2 * self.ball.grid - exponent + 53
        return max(up, 0), self.n * int(math.ldexp(fraction, 53)) << max(-up, 0)


def _moments(coords: Array, start: int, grid: int, second: str) -> Array:  # noqa: ARG001
    """Sums of a block: of the coordinates in steps of the grid, then of their products."""
    steps = coords * 2.0**-grid
    return np.concatenate([steps.astype(np.int64).sum(axis=0).astype(object), SECOND_MOMENTS[second](steps)])


# --- one record at a time ------------------------------------------------------------------------------------


def _to_ball(raw: Array, ball: Ball) -> Array:
    """Coordinates at the centre of a block of records, each of length at most the radius and on the grid.

    A function of each record by itself, that never fails: whatever cannot be used gives 0, the centre. The
    length is checked again after the rounding of the scaling; rounding to the grid, towards 0, shortens.
    """
    step = 2.0**ball.grid
    with np.errstate(all="ignore"):
        coords, usable = logs_at_center(raw, ball)
        coords = _clipped(coords, usable, ball.radius, 1 / step)
        return np.asarray(np.trunc(coords, out=coords) * step)


def logs_at_center(raw: Array, ball: Ball) -> tuple[Array, Array]:
    """Coordinates at the centre of records of any real or complex type, and which of the records are usable."""
    raw, axes = np.ascontiguousarray(ball.space.read(raw, "X")), tuple(range(1, 1 + len(ball.space.inner_shape)))
    if np.isfinite(raw).all():
        return ball.space.record_log(raw, ball.inner_center)
    finite = np.isfinite(raw).all(axis=axes)
    raw = np.where(finite.reshape(-1, *[1] * len(axes)), raw, ball.inner_center)
    coords, usable = ball.space.record_log(raw, ball.inner_center)
    return coords, usable & finite


def _clipped(coords: Array, usable: Array, radius: float, unit: float) -> Array:
    """Each row shortened to the radius at most, and 0 where even that is not certain; times the unit, a power of 2."""
    margin = _margin(coords.shape[1])
    shrink = np.minimum(1.0, radius * (1 - 2 * margin) / lengths(coords))
    coords = coords * (shrink * unit)[:, None]
    inside = usable & (lengths(coords) <= radius * unit * (1 - margin))
    if not inside.all():
        coords[~inside] = 0.0
    return coords


def _margin(coordinates: int) -> float:
    """A length computed to be below the radius by this share of it is below the radius; one by twice that stays so."""
    return max(2.0**-41, (coordinates + 16) * UNIT_ROUNDOFF)


def _surveyed(coords: Array, start: int, n: int, grid: int) -> tuple[list[int], Array]:
    """Sum of the coordinates of a block, exact, in steps of the grid; and those of its records in the sample.

    The sample are the records i n/SAMPLE, i = 0, 1, ..., rounded down, or all if there are fewer.
    """
    total = (coords * 2.0**-grid).astype(np.int64).sum(axis=0).tolist()
    if n <= SAMPLE:
        return total, coords
    first, last = (-(-place * SAMPLE // n) for place in (start, start + len(coords)))
    return total, coords[[i * n // SAMPLE - start for i in range(first, last)]]


def mean_of_sum(total: Sequence[int], n: int, ball: Ball) -> FlatMean:
    """The mean of n coordinates from their sum in steps of the grid: a quotient of integers, rounded once."""
    up, down = max(ball.grid, 0), max(-ball.grid, 0)
    point = np.array([(entry << up) / (n << down) for entry in total])
    return FlatMean(point, 2 * UNIT_ROUNDOFF * ball.radius)


def _outside(coords: Array, radii: Sequence[float]) -> list[int]:
    """How many records of a block are farther from the centre than each of the radii."""
    within = np.searchsorted(np.sort(lengths(coords)), radii, side="right")
    outside: list[int] = (len(coords) - within).tolist()
    return outside
