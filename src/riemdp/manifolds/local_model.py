"""Pieces of the Fréchet function around a point, for the spaces whose Hessian of rho²/2 is known per direction."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, TypeVar

import numpy as np

from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import kernels_chosen_for
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import ROWS, Array
from riemdp.manifolds.capabilities import FrechetModel, LocalModel

T = TypeVar("T")

# How far around a point of curvature 1 the Hessian's lower bound is asked for, at most.
FARTHEST_VALID = 1e-4
# Up to this cosine the direction of a log is lost: `Angles` leave such records out.
NEARLY_ANTIPODAL = 1e-12 - 1
# More than a few roundings of one number make; and more than those of the slope of t cot t, which cancels near 0.
ROUNDED, ROUNDED_SLOPE = 2.0**-45, 2.0**-20
# Public limits are for angles up to this one: two points of a ball in which releases are made are no farther apart.
FARTHEST_LIMIT = 0.95 * math.pi
MANY = 2**13


def are_many(records: int) -> bool:
    """Worth loading the compiled code of `riemdp.kernels.angles` for."""
    return kernels_chosen_for(records) >= MANY


@dataclass(frozen=True)
class Angles:
    """What the sphere and shapes need of the angles between records and a point, from their cosines."""

    cosine: Array
    stretch: Array  # angle / sine

    @classmethod
    def of(cls, cosine: Array) -> Angles:
        """The angles with these cosines; every function below is smooth, and accurate, through angle 0."""
        if are_many(cosine.size):
            return cls._compiled(cosine)
        cosine = np.clip(cosine, -1.0, 1.0)
        angle, sine_square = np.arccos(cosine), (1 - cosine) * (1 + cosine)
        if sine_square.min(initial=1.0) >= 1e-12:
            return cls(cosine, angle / np.sqrt(sine_square))
        small = sine_square < 1e-12
        stretch = angle / np.sqrt(np.where(small, 1.0, sine_square))
        return cls(cosine, np.where(small, 1 + sine_square / 6, stretch))

    @classmethod
    def _compiled(cls, cosine: Array) -> Angles:
        from riemdp.kernels.angles import stretches

        clipped, stretch = np.empty(cosine.shape), np.empty(cosine.shape)
        stretches(np.ascontiguousarray(cosine).reshape(-1), clipped.reshape(-1), stretch.reshape(-1))
        return cls(clipped, stretch)

    @property
    def sine_square(self) -> Array:
        """Squares of the sines, accurate for small angles."""
        return np.asarray((1 - self.cosine) * (1 + self.cosine))

    def largest(self, error: float) -> float:
        """No angle is larger, if no cosine is wrong by more than this; pi where one may be that of an antipode."""
        least = float(self.cosine.min()) - error
        return math.acos(least) * (1 + ROUNDED) if least > NEARLY_ANTIPODAL else math.pi

    @property
    def across(self) -> Array:
        """angle cot(angle): the Hessian of rho²/2 across the geodesic."""
        return self.stretch * self.cosine

    @property
    def bend(self) -> Array:
        """(1 - angle cot(angle)) / sine²: how much of the Hessian is lost per square sine off the geodesic."""
        if not are_many(self.cosine.size):
            return self.per_sine_square(1 - self.across, 1 / 3)
        from riemdp.kernels.angles import bends

        result = np.empty(self.cosine.shape)
        bends(self.cosine.reshape(-1), self.stretch.reshape(-1), result.reshape(-1))
        return result

    def per_sine_square(self, excess: Array, limit: float) -> Array:
        """excess / sine², for an excess that vanishes like limit·angle²."""
        sine_square = self.sine_square
        if sine_square.min(initial=1.0) >= 1e-8:
            return excess / sine_square
        small = sine_square < 1e-8
        return np.where(small, limit, excess / np.where(small, 1.0, sine_square))


def convexity(across: float, farthest: float) -> tuple[float, float]:
    """(h, valid_within): the mean of t cot t is at least h within so much of a point where it is `across`, or more.

    t cot t is concave, so it falls by at most `valid_within` times its steepest slope, that of the farthest record;
    it is such that this costs at most a quarter. (-inf, 0) past the pole at pi, or where it is negative.
    All is rounded to the safe side (docs/proofs/certificate.md, section 5).
    """
    t = farthest + min(FARTHEST_VALID, (math.pi - farthest) / 2)
    if not (t > farthest and across > 0):
        return -math.inf, 0.0
    slope = (t / math.sin(t) ** 2 - 1 / math.tan(t)) * (1 + ROUNDED_SLOPE)
    valid_within = min(t - farthest, across / (4 * slope)) * (1 - ROUNDED)
    return (across - valid_within * slope) * (1 - ROUNDED), valid_within


def certain(across: float, farthest: float, k_max: float) -> tuple[float, float]:
    """(h, valid_within) of the Fréchet function where it has this mean of t cot t; 1 everywhere if k_max <= 0."""
    if k_max <= 0:
        return 1.0, math.inf
    lower, valid_within = convexity(across, math.sqrt(k_max) * farthest)
    return lower, valid_within / math.sqrt(k_max)


class Part(NamedTuple):
    """What some of the records contribute to a model of all of them: little, and nothing of a single one."""

    records: int
    descent: Array
    across: float
    farthest: float
    rounding: float

    @classmethod
    def of(cls, points: Array, space: FrechetModel, x: Array) -> Part:
        """What these records contribute to the model around x."""
        model = space.local_model(points, x, hessian=False)
        return cls(len(points), model.descent, model.across, model.farthest, model.rounding)


def merged(parts: Sequence[Part], k_max: float, step: Callable[[Array], Array]) -> LocalModel:
    """The model of all records from those of parts of them: sums are exact, and rounded once.

    The convexity comes from the mean over all: a part by itself may have none (records sorted by class). The three
    roundings of this mean are counted in those of the parts.
    """
    n = sum(part.records for part in parts)
    descent = exact_mean([part.records * part.descent for part in parts], n)
    across, rounding = exact_mean([part.records * np.array([part.across, part.rounding]) for part in parts], n).tolist()
    farthest = max(part.farthest for part in parts)
    lower, valid_within = certain(across, farthest, k_max)
    return LocalModel(descent, step, lower, valid_within, across, farthest, rounding)


def exact_mean(sums: Sequence[Array], n: int) -> Array:
    """The sum of these vectors, rounded once, and divided by n: the same in whatever order they come."""
    return np.array([math.fsum(column) for column in zip(*(vector.tolist() for vector in sums), strict=True)]) / n


def add_blocks(task: Callable[[int, int], tuple[Array, Array, T]], n: int) -> tuple[Array, Array, list[T]]:
    """(mean of the first, mean of the second, all of the third) of what the task finds in blocks of n records."""
    vectors, facts, rest = zip(*map_ranges(task, n, ROWS), strict=True)
    return reduce(np.add, vectors) / n, reduce(np.add, facts) / n, list(rest)


def stretch_at(angle: float) -> float:
    """The largest angle / sine up to this angle, which is at most pi."""
    return angle / max(math.sin(angle), UNIT_ROUNDOFF * UNIT_ROUNDOFF) if angle > 0 else 1.0


def across_error(cosine_error: float, stretch: float, n: int) -> float:
    """Bound on the error of a computed mean of t cot t, where angle / sine is at most `stretch`."""
    return (2 * cosine_error + (min(n, ROWS) + n // ROWS + 16) * UNIT_ROUNDOFF) * stretch**3


def rounding(error: float, length: float, n: int) -> float:
    """Bound on the error of a mean of n logs of this mean length, each wrong by `error` units of roundoff.

    A block adds its rows one after the other: a chain of at most ROWS roundings, then one per block, and 8 to spare
    for whoever merges several means.
    """
    return UNIT_ROUNDOFF * (error + (min(n, ROWS) + n // ROWS + 8) * length)


def conjugate_gradients(apply: Callable[[Array], Array], b: Array, max_iter: int = 25) -> Array:
    """Solve apply(x) = b to a relative residual of ‖b‖/10 (at most 1e-2): what a quadratic step can use.

    Stops at a direction of hardly any, or negative, curvature: what is found so far is a descent direction.
    """
    x, residual, direction = np.zeros_like(b), b, b
    square = float(np.vdot(b, b))
    goal = square * min(1e-4, max(1e-2 * square, 1e-14))
    for _ in range(max_iter):
        image = apply(direction)
        curvature = float(np.vdot(direction, image))
        if curvature <= 0.05 * float(np.vdot(direction, direction)):
            break
        alpha = square / curvature
        x, residual = x + alpha * direction, residual - alpha * image
        square, old = float(np.vdot(residual, residual)), square
        if square <= goal:
            break
        direction = residual + square / old * direction
    return x if x.any() else b
