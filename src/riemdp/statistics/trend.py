"""Moments of residuals about a public geodesic, along a number s in [-1, 1] of each record: one linear release.

Of a residual e, |e| <= R, and the number s of the same record: (e, s e, R s, sqrt2 R s², |e|²/(0.76 R)). Replacing a
record moves the mean of these by 2 sqrt2 R/n at most, which (e, s e) alone does: the rest costs nothing
(docs/proofs/regression.md). A person with several records counts as the mean of their vectors, which moves no more.
What is made of the noisy means is a better geodesic: least squares, to first order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from riemdp.arithmetic import round_up
from riemdp.balls import Ball
from riemdp.io.rows import Rows
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import without_waiting
from riemdp.manifolds.base import FARTHEST, Array, Space
from riemdp.manifolds.scalars import lengths
from riemdp.manifolds.transport import transport
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import require_wrapped
from riemdp.privacy.bounded import Bounded, _to_ball
from riemdp.privacy.bounded import _outside as count_outside
from riemdp.statistics.base import Statistic, refuse_footpoint, vectors_up_to
from riemdp.statistics.sensitivity import with_solver_error

ROOT_OF_TWO = 1.414213562373095  # not above it
FOR_SQUARES = 0.76  # in radii: at least sqrt(4/7)
LONGEST = 2.6  # of the vector of one record, in radii: sqrt(1 + 1 + 1 + 2 + 1/0.76²)
EVEN = 1 / 3  # variance of s if the numbers are spread evenly over their bounds
LEAST_VARIANCE = 1e-3  # of s, that is believed in at least
NOISE_OF_VARIANCE = 2.0  # and so many deviations of its noise


# --- a public geodesic -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trend:
    """s -> exp_p(s w) around the origin: p by its coordinates there, w by its own at p."""

    ball: Ball
    place: Array
    velocity: Array

    @classmethod
    def at_centre(cls, ball: Ball) -> Trend:
        """None yet: all numbers have the ball's centre."""
        return cls(ball, np.zeros(ball.space.dim), np.zeros(ball.space.dim))

    @property
    def point(self) -> Array:
        """The point p, seen from the origin, to which the ball's centre is moved."""
        return self.ball.at_origin(self.place)

    def residuals(self, points: Array, s: Array) -> Array:
        """log of each point at exp_p(s w), carried to p along the geodesic: coordinates there.

        The reflection in the middle, exp_p(s w/2), takes exp_p(s w) to p, and vectors to minus their transported ones:
        exact in symmetric spaces, as all of ours are.
        """
        space, point = self.ball.space, self.point
        if not self.velocity.any():
            return space.log_coords(points, point)
        if space.is_flat:
            return np.asarray(space.log_coords(points, point) - s[:, None] * self.velocity)
        middles = space.exp_coords(s[:, None] / 2 * self.velocity, point)
        reflected = space.exp_coords(-space.log_coords(points, middles), middles)
        return -space.log_coords(reflected, point)

    def changed(self, offset: Array, slope: Array) -> Trend:
        """By vectors at p; p stays in the ball, and half of the geodesic is no longer than its radius."""
        space, origin = self.ball.space, self.ball.space.read(self.ball.space.origin, "origin")
        with np.errstate(all="ignore"), without_waiting():
            there = space.exp_coords(_no_longer(offset, 2 * self.ball.radius), self.point)
            place = space.log_coords(there, origin)
            place = _no_longer(place if np.isfinite(place).all() else self.place, self.ball.radius)
            turn = transport(space, self.point, self.ball.at_origin(place))
        return Trend(self.ball, place, _no_longer(turn @ (self.velocity + slope), self.ball.radius))

    @property
    def middle(self) -> Array:
        """The point at s = 0, as users see it."""
        return self.ball.space.write(self.ends()[0], self.ball.center)

    def ends(self) -> tuple[Array, Array]:
        """The points at s = 0 and s = 1, in the ball's own place."""
        space, origin = self.ball.space, self.ball.space.read(self.ball.space.origin, "origin")
        with np.errstate(all="ignore"), without_waiting():
            end = space.log_coords(space.exp_coords(self.velocity, self.point), origin)
            coords = np.stack([self.place, end if np.isfinite(end).all() else self.place])
            first, last = carry(Visible(coords), np.zeros(space.dim), self.ball)
        return first, last


def _no_longer(vector: Array, length: float) -> Array:
    """Shortened to that length, if it is longer."""
    own = float(np.linalg.norm(vector))
    return vector * (length / own) if own > length else vector


# --- the release -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Numbered:
    """Private records, or people's, with a private number of each, in [-1, 1], seen from a public geodesic."""

    records: Bounded
    s: Array
    trend: Trend

    def sums(self, body: Ball) -> list[int]:
        """Sums of the moments of all records, or of people's means, in steps of the body's grid: exact."""
        vectors = partial(_moments_of_raw, trend=self.trend, body=body)
        people = self.records.people(vectors, self.s, body.grid, 2 * body.space.dim + 3)
        if people is None:
            found = self.records._around_origin.total(partial(_sums, s=self.s, trend=self.trend, body=body))
        else:
            found = Rows(people).total(partial(_sums_of_rows, grid=body.grid))
        total: list[int] = found.tolist()
        return total

    def outside(self, radii: list[float], body: Ball) -> list[int]:
        """How many residuals, or people's longest ones, are longer than each of the radii, all below the body's."""
        of_record = partial(_lengths_of_raw, trend=self.trend, body=body)
        people = self.records.people(of_record, self.s, body.grid, 1)
        if people is not None:
            return count_outside(people.largest(), radii)
        task = partial(_outside, s=self.s, trend=self.trend, body=body, radii=tuple(radii))
        found: list[int] = self.records._around_origin.total(task).tolist()
        return found


def _residuals(points: Array, start: int, s: Array, trend: Trend, body: Ball) -> tuple[Array, Array]:
    """Residuals of a block, forced into the body, each by itself; and the numbers of its records."""
    of_block = s[start : start + len(points)]
    return _to_ball(trend.residuals(points, of_block), body), of_block


def _sums(points: Array, start: int, *, s: Array, trend: Trend, body: Ball) -> Array:
    """Sums of a block, in whole steps: below 2^49 of each record, so that those of a block add up in 64 bits."""
    residuals, of_block = _residuals(points, start, s, trend, body)
    return _sums_of_rows(moments(residuals, of_block, body.radius), start, body.grid)


def _sums_of_rows(rows: Array, start: int, grid: int) -> Array:  # noqa: ARG001
    """Sums of a block, each number cut to whole steps towards 0."""
    return np.asarray((rows * 2.0**-grid).astype(np.int64).sum(axis=0).astype(object))


def _residuals_of_raw(raw: Array, s: Array, trend: Trend, body: Ball) -> Array:
    """Residuals of raw records, forced into the ball and then into the body, each by itself."""
    points = trend.ball.at_origin(_to_ball(raw, trend.ball))
    return _to_ball(trend.residuals(points, s), body)


def _moments_of_raw(raw: Array, s: Array, *, trend: Trend, body: Ball) -> Array:
    """`moments` of each raw record."""
    return moments(_residuals_of_raw(raw, s, trend, body), s, body.radius)


def _lengths_of_raw(raw: Array, s: Array, *, trend: Trend, body: Ball) -> Array:
    """Lengths (n, 1) of the residuals of raw records."""
    return lengths(_residuals_of_raw(raw, s, trend, body))[:, None]


def moments(residuals: Array, s: Array, radius: float) -> Array:
    """(n, 2 d + 3): what is released the mean of."""
    squares = np.square(residuals / radius).sum(axis=1) * (radius / FOR_SQUARES)
    of_s = np.column_stack([radius * s, radius * ROOT_OF_TWO * s**2, squares])
    return np.column_stack([residuals, s[:, None] * residuals, of_s])


def _outside(points: Array, start: int, *, s: Array, trend: Trend, body: Ball, radii: tuple[float, ...]) -> Array:
    """How many residuals of a block are longer than each radius."""
    return np.array(count_outside(_residuals(points, start, s, trend, body)[0], radii), dtype=object)


@dataclass(frozen=True)
class TrendMoments(Statistic):
    """The mean over records, or people, of `moments`: Euclidean sensitivity 2 sqrt2 R/n, R the body's radius."""

    name: ClassVar[str] = "trend-moments"
    kind: ClassVar[str] = "numbers"

    body: Ball

    def supposes(self, space: Space) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing: it is linear."""
        return ()

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """The exact one, and twice what is rounded: products of a record to the grid, and the quotient."""
        refuse_footpoint(footpoint, self.name)
        exact, dim = round_up(lambda r: 2 * (0 * r + 2).sqrt() * r / n, ball.radius), ball.space.dim
        of_record = (2 * math.sqrt(2 * dim + 3) + dim / 8 + 2) * 2.0**-47 * ball.radius
        return with_solver_error(exact, of_record / n + 4 * UNIT_ROUNDOFF * ball.radius)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """One ball of vectors for all numbers together."""
        return (vectors_up_to(LONGEST * ball.radius, 2 * ball.space.dim + 3),)

    def value(self, records: Numbered, footpoint: Array) -> Array:  # noqa: ARG002
        """The means of all numbers: exact sums, divided once."""
        body = self.body
        up, down = max(body.grid, 0), max(-body.grid, 0)
        return np.array([(int(entry) << up) / (records.records.n << down) for entry in records.sums(body)])

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """The error of the velocity, if the numbers are spread evenly over their bounds."""
        deviation = noise_deviation(mechanism, scale, ball.space.dim)
        return deviation * math.sqrt(ball.space.dim + 1) / EVEN


def noise_deviation(mechanism: Mechanism, scale: float, dim: int) -> float:
    """Standard deviation of the noise in each of the released numbers."""
    numbers = 2 * dim + 3
    return scale * math.sqrt(require_wrapped(mechanism).mean_square(numbers) / numbers)


# --- post-processing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fit:
    """Least squares of what was released: the changed geodesic, and what is known about its precision."""

    trend: Trend
    noise: float  # deviation of noise, in one coordinate of the mean residual
    middle: float  # mean of s
    variance: float  # of s
    residual: float  # mean square of residuals about the changed geodesic, cleared of noise

    @classmethod
    def of(cls, noisy: Array, radius: float, noise: float, trend: Trend) -> Fit:
        """From one draw of the moments of residuals about the geodesic that one had."""
        dim, noisy = trend.ball.space.dim, np.clip(noisy, -FARTHEST, FARTHEST)
        first, product, of_s = noisy[:dim], noisy[dim : 2 * dim], noisy[2 * dim :] / radius
        middle, square = float(np.clip(of_s[0], -1, 1)), float(np.clip(of_s[1] / ROOT_OF_TWO, 0, 1))
        floor = max(LEAST_VARIANCE, NOISE_OF_VARIANCE * noise / radius)
        variance = min(max(square - middle**2, floor), 1.0)
        slope = (product - middle * first) / variance
        offset = first - middle * slope
        explained = float(offset @ first + slope @ product) - noise**2 * dim * (1 + (1 + middle**2) / variance)
        squares = float(of_s[2]) * FOR_SQUARES * radius**2
        return cls(trend.changed(offset, slope), noise, middle, variance, max(squares - explained, 0.0))

    @property
    def r_squared(self) -> float:
        """The share of the variance that the geodesic explains, cleared of noise."""
        dim, slope = len(self.trend.velocity), self.trend.velocity
        noise = self.noise**2 * dim * (1 + self.middle**2) / self.variance
        along = max(self.variance * float(slope @ slope) - noise, 0.0)
        return along / (along + self.residual) if along > 0 else 0.0

    @property
    def error(self) -> float:
        """Predicted root mean square distance by which noise moves the point at s = 0."""
        slope = -self.middle / self.variance
        return self.noise * math.sqrt(len(self.trend.velocity) * ((1 - slope * self.middle) ** 2 + slope**2))
