"""Private records, forced into a public ball."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.balls import BITS, Ball, mean_rounding
from riemdp.caching import cached_property
from riemdp.errors import InputError
from riemdp.io.identities import identities
from riemdp.io.people import People
from riemdp.io.rows import Held, Rows, Turn
from riemdp.io.sources import source_of
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.products import (
    PIECE,
    sums_of_products,
    sums_of_small_products,
    sums_of_small_squares,
    sums_of_squares,
)
from riemdp.manifolds import Space
from riemdp.manifolds.capabilities import FlatMean, FrechetModel, LocalModel
from riemdp.manifolds.euclidean import column_sums
from riemdp.manifolds.local_model import Part, exact_mean, merged
from riemdp.manifolds.scalars import lengths

Array = NDArray[Any]
# The Newton step of more records than this takes the Hessian of a sample of so many.
SAMPLE = 2**12


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

    def coarse_moment_sums(self, second: str) -> MomentSums:
        """`moment_sums` of coordinates that are cut to 16 bits, towards 0: enough to find a centre and a shape.

        Beyond the records whose sums of 64 bits are exact, those of whole coordinates, which have no limit.
        """
        if self.n > MOST_COARSE:
            return self.moment_sums(second)
        total = self._rows.total(partial(_coarse_moments, grid=self.ball.grid, second=second)).tolist()
        first, products = tuple(s << CUT for s in total[: self.space.dim]), tuple(total[self.space.dim :])
        return MomentSums(self.ball, self.n, second, first, products, 2 * CUT)

    def bent_moment_sums(self, second: str, radius: float) -> MomentSums:
        """`moment_sums` of coordinates bent into a smaller radius; but the trace is of those that are not bent."""
        total = self._rows.total(partial(_bent_moments, ball=self.ball, second=second, radius=radius)).tolist()
        return MomentSums(self.ball, self.n, second, tuple(total[: self.space.dim]), tuple(total[self.space.dim :]))

    def mean_of(self, per_record: Turn) -> Array:
        """Mean over the records of vectors that each one's coordinates at the centre are mapped to."""
        sums = self._coordinates.turned(per_record).each(column_sums)
        return exact_mean(sums, self.n)[: len(sums[0]) // 2]

    def mapped(self, per_record: Turn, body: Ball) -> Bounded:
        """Vectors that each one's coordinates at the centre are mapped to, forced into a public ball of vectors."""
        return self._forced(self._coordinates.turned(per_record), body)

    def mapped_points(self, per_point: Turn, body: Ball) -> Bounded:
        """`mapped` of the records as points around the origin, kept if they are few: for many passes."""
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


SMALL_SECOND_MOMENTS: dict[str, Callable[[Array], Array]] = {  # of integers of one piece
    "full": lambda rows: _with_trace(sums_of_small_products(rows), rows.shape[1]),
    "diagonal": lambda rows: _with_trace(sums_of_small_squares(rows), rows.shape[1]),
    "trace": lambda rows: sums_of_small_squares(rows).sum(keepdims=True),
}
CUT = BITS - PIECE  # bits that coarse coordinates lack
MOST_COARSE = 2**30  # records whose squares, of at most 2^32 each, add up in 64 bits
BEND = 0.5  # how soft vectors are bent into a smaller radius, p of docs/proofs/moments.md, section 8


def _with_trace(sums: Array, dim: int) -> Array:
    return np.append(sums, sums[:dim].sum())


@dataclass(frozen=True, repr=False)
class MomentSums:
    """Exact sums over n records of a ball: of coordinates at the centre, and of products of them. **Private**."""

    ball: Ball
    n: int
    second: str  # which products, of SECOND_MOMENTS
    first_total: tuple[int, ...]  # in steps of the ball's grid
    second_total: tuple[int, ...]  # in steps of its square, times 2^second_bits
    second_bits: int = 0

    def means(self, weights: Sequence[float]) -> tuple[Array, Array]:
        """The mean of the coordinates, and those of products, each over its weight; every number is rounded once."""
        first = mean_of_sum(self.first_total, self.n, self.ball).point
        ratios = {weight: self._ratio(weight) for weight in set(weights)}
        pairs = zip(self.second_total, map(ratios.__getitem__, weights), strict=True)
        return first, np.array([(total << up) / bottom for total, (up, bottom) in pairs])

    def _ratio(self, weight: float) -> tuple[int, int]:
        """(a, b) with g^2 2^second_bits/(n weight) = 2^a/b, whole numbers: quotients of integers are rounded once."""
        fraction, exponent = math.frexp(weight)
        up = 2 * self.ball.grid + self.second_bits - exponent + 53
        return max(up, 0), self.n * int(math.ldexp(fraction, 53)) << max(-up, 0)


def _moments(coords: Array, start: int, grid: int, second: str) -> Array:  # noqa: ARG001
    """Sums of a block: of the coordinates in steps of the grid, then of their products."""
    steps = coords * 2.0**-grid
    return np.concatenate([steps.astype(np.int64).sum(axis=0).astype(object), SECOND_MOMENTS[second](steps)])


def _bent_moments(coords: Array, start: int, ball: Ball, second: str, radius: float) -> Array:
    """The same of coordinates bent into the radius, but for the trace, the last number."""
    sums = _moments(_bent(coords, ball, radius), start, ball.grid, second)
    sums[-1] = _moments(coords, start, ball.grid, "trace")[-1]
    return sums


def _bent(coords: Array, ball: Ball, radius: float) -> Array:
    """Each row v shortened to r (1 - p (1 - |v|²/R²)²) at most, R the ball's radius: it is r at the rim alone."""
    with np.errstate(all="ignore"):
        inner = 1 - np.square(lengths(coords) / ball.radius)
        longest = radius * (1 - 2 * _margin(coords.shape[1])) * (1 - BEND * np.square(inner))
        bent = _clipped(coords.copy(), np.ones(len(coords), dtype=bool), longest, 2.0**-ball.grid)
    return np.asarray(np.trunc(bent) * 2.0**ball.grid)


def _coarse_moments(coords: Array, start: int, grid: int, second: str) -> Array:  # noqa: ARG001
    """The same of coordinates cut to whole multiples of 2^CUT steps, in those units: floats hold every sum exactly."""
    steps = coords * 2.0 ** -(grid + CUT)
    np.trunc(steps, out=steps)
    return np.concatenate([steps.sum(axis=0).astype(np.int64), SMALL_SECOND_MOMENTS[second](steps)])


# --- one record at a time ------------------------------------------------------------------------------------


def _to_ball(raw: Array, ball: Ball) -> Array:
    """Coordinates at the centre of a block of records, each of length at most the radius and on the grid.

    A function of each record by itself, that never fails: whatever cannot be used gives 0, the centre. The
    length is checked again after the rounding of the scaling; rounding to the grid, towards 0, shortens.
    """
    step = 2.0**ball.grid
    with np.errstate(all="ignore"):
        coords, usable = logs_at_center(raw, ball)
        coords = _clipped(_to_write_over(coords, raw), usable, ball.radius, 1 / step)
        np.trunc(coords, out=coords)
        coords *= step
        return coords


def _to_write_over(coords: Array, raw: Array) -> Array:
    """The coordinates, if a space has made them; a copy of records that it hands back as they are.

    New memory for each number of each operation takes as long as all of the arithmetic where rows are long.
    """
    is_new = coords.dtype == np.float64 and coords.flags.writeable and not np.may_share_memory(coords, raw)
    return coords if is_new else coords.astype(np.float64)


def logs_at_center(raw: Array, ball: Ball) -> tuple[Array, Array]:
    """Coordinates at the centre of records of any real or complex type, and which of the records are usable."""
    raw, axes = np.ascontiguousarray(ball.space.read(raw, "X")), tuple(range(1, 1 + len(ball.space.inner_shape)))
    if np.isfinite(raw).all():
        return _logs(raw, ball)
    finite = np.isfinite(raw).all(axis=axes)
    coords, usable = _logs(np.where(finite.reshape(-1, *[1] * len(axes)), raw, ball.inner_center), ball)
    return coords, usable & finite


def _logs(raw: Array, ball: Ball) -> tuple[Array, Array]:
    """Logs of finite records. One on which linear algebra gives up spoils its block: then each is taken alone."""
    try:
        return ball.space.record_log(raw, ball.inner_center)
    except np.linalg.LinAlgError:
        coords, usable = zip(*(_log_alone(record, ball) for record in raw), strict=True)
        return np.stack(coords), np.array(usable)


def _log_alone(record: Array, ball: Ball) -> tuple[Array, bool]:
    """The log of one record, in two equal rows: NumPy may round a single one otherwise than in company."""
    try:
        coords, usable = ball.space.record_log(np.stack([record, record]), ball.inner_center)
        return coords[0], bool(usable[0])
    except np.linalg.LinAlgError:
        return np.zeros(ball.space.dim), False


def _clipped(coords: Array, usable: Array, radius: float | Array, unit: float) -> Array:
    """Each row shortened to the radius at most, and 0 where even that is not certain; times the unit, a power of 2.

    Written over the coordinates. Each row may have a radius of its own.
    """
    margin = _margin(coords.shape[1])
    shrink = np.minimum(1.0, radius * (1 - 2 * margin) / lengths(coords))
    coords *= (shrink * unit)[:, None]
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
    return FlatMean(point, mean_rounding(ball.radius))


def _outside(coords: Array, radii: Sequence[float]) -> list[int]:
    """How many records of a block are farther from the centre than each of the radii."""
    within = np.searchsorted(np.sort(lengths(coords)), radii, side="right")
    outside: list[int] = (len(coords) - within).tolist()
    return outside
