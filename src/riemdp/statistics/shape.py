"""The shape of a cloud of records: the second moment of their coordinates, shortened more than a mean would bear.

Whitening asks for directions and proportions, not for a mean or for lengths. A second moment by itself has half the
noise that it has beside a first one, and its noise is that of the square of the radius: so records are shortened to
less than their root mean square length, which is public by then (docs/proofs/classifiers.md, section 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.arithmetic import round_up
from riemdp.balls import Ball
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import Statistic, refuse_footpoint, vectors_up_to
from riemdp.statistics.moments import symmetric
from riemdp.statistics.sensitivity import with_solver_error
from riemdp.summaries.spread import NoisyMoments, Spread

ROOT_OF_HALF = 0.7071067811865476  # not below it


@dataclass(frozen=True)
class SecondMoment(Statistic):
    """M = (1/n) sum u uᵀ of vectors |u| <= 1, as numbers in whose norm it is: sensitivity sqrt2/n."""

    name: ClassVar[str] = "second-moment"
    kind: ClassVar[str] = "numbers"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """The sensitivity of second moments of unit vectors, plus twice what is rounded."""
        refuse_footpoint(footpoint, self.name)
        return with_solver_error(round_up(lambda two: two.sqrt() / n, 2.0), 2 * UNIT_ROUNDOFF)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """Matrices of norm 1 at most."""
        return (vectors_up_to(1.0, ball.space.dim * (ball.space.dim + 1) // 2),)

    def value(self, records: Bounded, footpoint: Array) -> Array:  # noqa: ARG002
        """The diagonal, then what is above it times sqrt2: quotients of integers, each rounded once."""
        return records.moment_sums("full").means([*_weights(records.space.dim), 1.0])[1][:-1]


def spread_of(numbers: Array, noise: float) -> Spread:
    """The second moment of unit vectors, with noise, cleared of it."""
    dim = (math.isqrt(8 * len(numbers) + 1) - 1) // 2
    matrix = symmetric(numbers * np.array(_weights(dim)))
    return NoisyMoments("full", np.zeros(dim), matrix, noise, noise, 1.0).about_centre()


def _weights(dim: int) -> list[float]:
    """Of each of the numbers: an entry beside the diagonal stands for two, and counts sqrt2."""
    return [1.0] * dim + [ROOT_OF_HALF] * (dim * (dim - 1) // 2)
