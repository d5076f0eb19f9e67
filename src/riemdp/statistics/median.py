"""The private geometric median: where the pulls of all records, each of length 1 at most, are in balance.

The mean of sqrt(distance² + width²) is minimised by private descent: a record's gradient is shorter than 1 wherever
the record is, so that outliers move the median little and its noise does not grow with the ball. Three descents and a
private median distance between them share one reservation (docs/proofs/median.md); why these steps and shares:
docs/decisions/0029-median-and-regression.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee, PureDP, as_guarantee
from riemdp.accounting.unit import RECORD, assumptions, counted, unit_of
from riemdp.arguments import finite_number
from riemdp.balls import Ball
from riemdp.caching import cached_property
from riemdp.errors import InputError
from riemdp.kernels.spectral import without_waiting
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.scalars import lengths
from riemdp.mechanisms.visible import Visible, carry
from riemdp.names import MechanismName
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.reservation import ENTROPY, Reservation, reserved
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.recorded import recorded
from riemdp.releases.release import Release, Stage
from riemdp.statistics.adaptation import divisible, split
from riemdp.statistics.base import vectors_up_to
from riemdp.statistics.chance import Chance, Exact, Seeded
from riemdp.statistics.descent import Descent, Objective, Path
from riemdp.statistics.prepared import require_ledger
from riemdp.statistics.quantile import MECHANISM, STEPS, RadiusLaw, radius_strength
from riemdp.statistics.query import Query
from riemdp.statistics.refusals import require_mechanism
from riemdp.statistics.worth import Doubt, Subject, doubts_about, warn_of
from riemdp.written import BallMapping, as_ball

MEDIAN = "geometric-median"
FIRST_STEP = 0.5  # in radii of the ball
WIDTH_OF_STEP = 0.5  # on the way there, of the length of the step: a point that is nearer moves less
WIDTH_OF_DISTANCE = 0.1  # at last, of the private median distance: near enough to none, and steps stay stable
STEP_OF_DISTANCE = 0.7  # at last, of the private median distance: stable even if that is far too long by chance
MOST_DISTANCES = 120  # on the list of distances: down to a millionth
CERTAINTY = 5.0  # the least distance of the list is e^5 times less likely than the median, if that is the largest


@dataclass(frozen=True)
class Schedule:
    """How many steps, and for which shares of the guarantee: towards the median, at it, and those that are averaged."""

    approach: int
    shrink: float  # of each step of the approach against the one before
    settle: int
    average: int
    shares: tuple[float, float, float, float]  # of the approach, the distance, settling and the average

    @property
    def weights(self) -> list[float]:
        """The share of the guarantee of each release, in order."""
        approach, distance, settle, average = self.shares
        counts = (self.approach, self.settle, self.average)
        each = [share / count for share, count in zip((approach, settle, average), counts, strict=True)]
        return [each[0]] * self.approach + [distance] + [each[1]] * self.settle + [each[2]] * self.average


USUAL = Schedule(approach=20, shrink=0.7, settle=8, average=24, shares=(0.25, 0.04, 0.08, 0.63))
# Where records are many: down to a millionth of the ball, if noise is no more than this part of a pull.
LONG, MOST_NOISE = replace(USUAL, approach=40), 0.2
# With pure epsilon, noise grows with the number of releases: as few as lead there.
PURE = Schedule(approach=6, shrink=0.5, settle=1, average=1, shares=(0.4, 0.1, 0.15, 0.35))


# --- the objective -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pulls(Objective):
    """The mean of sqrt(distance² + width²) to the records of a ball.

    A point is its coordinates at the ball's centre, and the length of the next step. Everything happens around the
    origin of the space, as with means.
    """

    ball: Ball
    width: float
    width_of_step: float = 0.0  # the width is no less than this part of the step
    shrink: float = 1.0  # of steps

    @cached_property
    def body(self) -> Ball:
        """Pulls are no longer than 1."""
        return vectors_up_to(1.0, self.ball.space.dim)

    def mean_gradient(self, records: Bounded, point: Array) -> Array:
        """The mean pull, which is minus the gradient."""
        width = max(self.width, self.width_of_step * float(point[-1]))
        at = self.ball.at_origin(point[:-1])
        pulls = partial(_pulls, space=self.ball.space, at=at, width=width)
        return records.mapped_points(pulls, self.body).coordinate_mean().point

    def moved(self, point: Array, gradient: Visible) -> Array:
        """Along the mean pull, not beyond the ball, in which the median is; the next step may be shorter."""
        pull, step = gradient.vectors, float(point[-1])
        length = float(np.linalg.norm(pull))
        move = pull * min(step, 2 * self.ball.radius / length) if length > 0 else pull
        return np.append(self._within(_after(self.ball, point[:-1], move), point[:-1]), step * self.shrink)

    def average(self, points: list[Array]) -> Array:
        """The tangent mean at the last of them; the step stays."""
        last = points[-1][:-1]
        origin = self.ball.at_origin(last)
        with np.errstate(all="ignore"), without_waiting():
            logs = self.ball.space.log_coords(self.ball.at_origin(np.stack(points)[:, :-1]), origin)
            mean = _after(self.ball, last, logs.mean(axis=0))
        return np.append(self._within(mean, last), points[-1][-1])

    def _within(self, coords: Array, otherwise: Array) -> Array:
        """Shortened to the radius; the other point if float64 cannot hold them."""
        length = float(np.linalg.norm(coords))
        if not math.isfinite(length):
            return otherwise
        return coords * (self.ball.radius / length) if length > self.ball.radius else coords


def _pulls(points: Array, *, space: Space, at: Array, width: float) -> Array:
    """log(point)/sqrt(distance² + width²) of records as points around the origin, of which one is the place."""
    logs = space.log_coords(points, at)
    return np.asarray(logs / np.hypot(lengths(logs), width)[:, None])


def _after(ball: Ball, place: Array, move: Array) -> Array:
    """Coordinates at the centre of the point to which a move from the place leads."""
    with np.errstate(all="ignore"), without_waiting():
        there = ball.space.exp_coords(move, ball.at_origin(place))
        return np.asarray(ball.space.log_coords(there, ball.space.read(ball.space.origin, "origin")))


# --- the release -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """The coordinates of the median at the ball's centre, its plan, its grid, and all stages."""

    coords: Array
    plan: Plan
    grid: float | None
    stages: tuple[Stage, ...]


@dataclass(frozen=True, eq=False)
class Median:
    """The public side of a private median: everything but the records and what is drawn."""

    name: ClassVar[str] = MEDIAN

    ball: Ball
    n: int
    guarantee: Guarantee
    width: float | None = None  # by default, a part of the private median distance
    unit: str = RECORD  # what n counts, and the guarantee protects

    def __post_init__(self) -> None:
        Query(self.ball, self.n, self.guarantee)  # refuses what is none of these
        if self.width is not None and not finite_number(self.width, "width") > 0:
            raise InputError(f"width = {self.width!r}: pass a positive length, or leave it out.")

    @cached_property
    def whole(self) -> Guarantee:
        """What is shared out: the guarantee, or what implies it."""
        return divisible(self.guarantee)[0]

    @cached_property
    def schedule(self) -> Schedule:
        """By the kind of guarantee, and by the noise of a pull: all public."""
        if isinstance(self.whole, PureDP):
            return PURE
        first = Pulls(self.ball, 0.0), self.n, tuple(split(self.whole, LONG.weights)[:1])
        return LONG if Descent(*first).plans()[0].expected_error <= MOST_NOISE else USUAL

    @cached_property
    def shares(self) -> list[Guarantee]:
        """The guarantees of all releases, in order."""
        return split(self.whole, self.schedule.weights)

    @cached_property
    def approach(self) -> Descent:
        """The way from the centre towards the median, by ever shorter steps."""
        way = Pulls(self.ball, self.width or 0.0, WIDTH_OF_STEP, self.schedule.shrink)
        return Descent(way, self.n, tuple(self.shares[: self.schedule.approach]), averaged=0.0)

    @cached_property
    def law(self) -> RadiusLaw:
        """The law of the distance to which half of the records are farther; with less slack where they are many."""
        law = RadiusLaw(radius_strength(self.shares[self.schedule.approach]), self.n // 2, favour=3)
        return law if self._told_by(law) >= MOST_DISTANCES / 2 else replace(law, favour=2)

    @cached_property
    def distances(self) -> list[float]:
        """From that of two points on opposite sides of the ball, as far as the law can tell them apart."""
        count = max(1, min(MOST_DISTANCES, self._told_by(self.law)))
        return [2 * self.ball.radius * math.exp2(-step / STEPS) for step in range(count)]

    def _told_by(self, law: RadiusLaw) -> int:
        """How many distances of a list the law can tell apart."""
        return math.floor((law.strength * (self.n - law.spare) - CERTAINTY) / math.log(law.favour))

    def settling(self, distance: float) -> list[Descent]:
        """At the median: steps nearly as long as Newton's, a few to get there, then those that are averaged."""
        first, schedule = self.schedule.approach + 1, self.schedule
        shares = self.shares[first : first + schedule.settle], self.shares[first + schedule.settle :]
        pulls = Pulls(self.ball, self._width(distance))
        parts = zip(shares, (0.0, 1.0), strict=True)
        return [Descent(pulls, self.n, tuple(some), averaged) for some, averaged in parts]

    def _width(self, distance: float) -> float:
        return self.width or WIDTH_OF_DISTANCE * distance

    def _newton(self, distance: float) -> float:
        """The length of Newton's steps: the inverse of the largest mean curvature of the objective, about."""
        return math.hypot(distance, self._width(distance))

    def _step(self, distance: float) -> float:
        """Shorter than that, where there are many steps: if the distance is too long by chance, they stay stable."""
        return (1.0 if self.schedule is PURE else STEP_OF_DISTANCE) * self._newton(distance)

    @cached_property
    def plan(self) -> Plan:
        """A step that is averaged, and the error if half of the records are as far from the median as the rim."""
        return self.plan_for(self.ball.radius)

    def plan_for(self, distance: float) -> Plan:
        """The plan if half of the records are farther from the median than that."""
        descent = self.settling(distance)[-1]
        step, dim = descent.plans()[0], self.ball.space.dim
        stretch = min(2.0, dim / (dim - 1)) if dim > 1 else 2.0  # pulls across a distance turn, those along it stay
        error = step.expected_error / math.sqrt(len(descent.shares)) * self._newton(distance) * stretch
        releases = len(self.shares)
        note = f"{releases} releases; if half of the records are within {distance:.3g} of their median"
        return replace(step, guarantee=self.guarantee, expected_error=error, note=note)

    @property
    def doubts(self) -> list[Doubt]:
        """What public numbers say against the release."""
        about = Subject(self.n, self.unit, "median")
        return doubts_about(about, self._error_for, self.guarantee, self.ball.radius, self.plan.expected_error)

    def _error_for(self, n: int, guarantee: Guarantee) -> float:
        return replace(self, n=n, guarantee=guarantee).plan.expected_error

    def release(self, records: Bounded, ledger: Ledger | None = None, note: str = "") -> Release:
        """All stages under one reservation; whatever can be refused is so before."""
        self.plan_for(self.ball.radius), self.approach.plans()  # refuse
        claimed = self.guarantee.with_assumptions(*assumptions(self.unit), ENTROPY)
        with reserved(claimed, f"{self.name} of {counted(self.n, self.unit)}", ledger, note, self.unit) as paid:
            return self._recorded(paid, self.find(records, Exact(paid)))

    def simulate(self, records: Bounded, rng: np.random.Generator, size: int) -> Array:
        """Seeded draws (size, ...) of what `release` might release."""
        coords = [self.find(records, Seeded(rng)).coords for _ in range(size)]
        return carry(Visible(np.stack(coords)), np.zeros(self.ball.space.dim), self.ball)

    def find(self, records: Bounded, chance: Chance) -> Found:
        """All stages, by the operating system's bits or by seeded ones."""
        start = np.append(np.zeros(self.ball.space.dim), FIRST_STEP * self.ball.radius)
        with one_blas_thread():
            near = self.approach.run(records, chance, start)
            distance = self.distances[chance.step(self.law, lambda: self._farther(records, near))]
            settle, average = self.settling(distance)
            at = settle.run(records, chance, np.append(near.point[:-1], self._step(distance)))
            last = average.run(records, chance, at.point)
        return Found(last.point[:-1], self.plan_for(distance), last.grid, self._stages(distance))

    def _farther(self, records: Bounded, near: Path) -> list[int]:
        """How many records are farther from the point than each of the distances but the first. Private."""
        body = vectors_up_to(self.distances[0], self.ball.space.dim)
        logs = partial(self.ball.space.log_coords, base=self.ball.at_origin(near.point[:-1]))
        return records.mapped_points(logs, body).outside(self.distances[1:])

    def _stages(self, distance: float) -> tuple[Stage, ...]:
        """What each step spent: nothing has changed the ball."""
        place = (self.ball.center, self.ball.radius)
        of_distance = self.shares[self.schedule.approach]
        told = Stage(f"distance {distance:.6g}", of_distance, MECHANISM, 1.0, 1 / self.law.strength, *place)
        steps = [self._steps(descent) for descent in (self.approach, *self.settling(distance))]
        return (*steps[0], told, *steps[1], *steps[2])

    def _steps(self, descent: Descent) -> list[Stage]:
        pairs = zip(descent.shares, descent.plans(), strict=True)
        place = (self.ball.center, self.ball.radius)
        return [Stage("step", share, one.mechanism, one.sensitivity, one.scale, *place) for share, one in pairs]

    def _recorded(self, paid: Reservation, found: Found) -> Release:
        points = carry(Visible(found.coords[None]), np.zeros(self.ball.space.dim), self.ball)
        facts: dict[str, Any] = {"ball": self.ball, "statistic": self.name, "n": self.n, "stages": found.stages}
        return recorded(Drawn(points, found.grid), paid, found.plan, **facts)


def private_median(
    X: Any,
    ball: Ball | BallMapping,
    guarantee: Guarantee | str,
    *,
    width: float | None = None,
    mechanism: MechanismName = "auto",
    adapt: bool = True,
    groups: Any = None,
    unit: str | None = None,
    ledger: Ledger | None = None,
    note: str = "",
) -> Release:
    """A differentially private geometric median of the records X (n, *point_shape) in a public ball.

    The point with the least mean distance to the records, smoothed within a width: outliers move it little, however
    far away they are, and its noise follows the distances of usual records, not the ball. On every space; where
    curvature is positive, the ball is small enough for the median in it to be the only one. Values of records never
    raise: one outside the ball is moved onto it, an unusable one to its centre.

    Parameters
    ----------
    X : array of shape (n, *point_shape)
        The records, as `private_mean` takes them.
    ball : Ball or mapping
        The public ball that holds the records.
    guarantee : Guarantee or str
        What the release may spend, such as `rd.GDP(1.0)` or "epsilon=1, delta=1e-6".
    width : float, optional
        Of the pseudo-Huber loss sqrt(distance² + width²), public: records within it count as for a mean. By default a
        tenth of the median distance, which is released on the way.
    mechanism : str
        "auto", or the name of the one that the guarantee allows: "wrapped-laplace" for pure epsilon, else
        "wrapped-gaussian".
    adapt : bool
        As in `private_mean`; a median follows the distances of the records in any case, so it changes nothing.
    groups : sequence of ids, of shape (n,), optional
        Whose record each is: the tangent mean of one id's records then takes their place, and the guarantee protects
        a person with any number of records.
    unit, ledger, note : as of private_mean
        What people are called, where the guarantee is booked, and which data these are.

    Returns
    -------
    Release
        `value` is the private median, a point of the space; `expected_error` is that of noise, with the released
        median distance; `stages` list every step.

    Raises
    ------
    InputError
        If an argument, or the shape or type of X, is not as described. Values of records never raise.
    MechanismError
        If no mechanism gives the guarantee in this ball.
    BudgetExceeded
        If the ledger refuses; nothing was spent.

    Warns
    -----
    UselessRelease
        If public numbers say that the release is worth nothing.

    See Also
    --------
    private_mean : More precise where there are no outliers.
    plan : With `statistic="geometric-median"`, what to expect.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> X = rd.SPDAffine(2).random_point(1000, 0)
    >>> ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(2), 0.1, 10.0)
    >>> rd.private_median(X, ball, rd.GDP(1.0)).value.shape
    (2, 2)
    """
    require_ledger(ledger)
    protected, records = unit_of(groups, unit), Bounded(X, as_ball(ball), groups)
    if not isinstance(adapt, bool):
        raise InputError(f"adapt = {adapt!r:.100}: pass True or False; a median adapts in any case.")
    median = Median(records.ball, records.n, as_guarantee(guarantee), width, protected)
    require_mechanism(mechanism, median.plan, "a median")
    warn_of(median.doubts)
    return median.release(records, ledger, note)
