"""What a statistic is: what is computed of the records, how far one of them moves it, and what is made of the draw.

A statistic is one small class. It states the `name` that users ask for, which kind of private value it has (`input`:
mechanisms take one each), and of which `kind` its released value is (`riemdp.io.values.KINDS`). Its `sensitivity` is a
function of public things; its `value` is private; what `finish` makes of the draw is post-processing. One that is
linear, a mean of bounded vectors that each record is mapped to, has both from `linear_sensitivity` and `linear_mean`.
Those that can be asked for by name are listed in `riemdp.statistics.catalogue`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from riemdp.balls import LARGEST_RADIUS, SMALLEST_RADIUS, Ball, mean_rounding
from riemdp.errors import InputError
from riemdp.io.values import Kind, Value
from riemdp.kernels.spectral import kernels_for
from riemdp.kernels.threads import one_blas_thread
from riemdp.manifolds import Euclidean, Space
from riemdp.manifolds.base import Array
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible
from riemdp.privacy.bounded import Bounded
from riemdp.regions import Noisy
from riemdp.releases.drawn import Drawn
from riemdp.releases.release import Release
from riemdp.statistics.sensitivity import tangent_mean_sensitivity, with_solver_error

ROUNDING = "the stated bounds on the rounding errors of the mean's evaluation hold"


@dataclass(frozen=True)
class Statistic(ABC):
    """A summary of the records, in the form in which a kind of mechanism takes it."""

    name: ClassVar[str]
    input: ClassVar[str] = "coordinates"
    kind: ClassVar[Kind] = "point"

    @abstractmethod
    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """How far replacing one record moves the computed value, from public inputs.

        As a distance of what the mechanism takes; if there are several `rooms`, in the norm that belongs to the noise.
        """

    @abstractmethod
    def value(self, records: Any, footpoint: Array) -> Any:
        """The private value: that of the one room, or a tuple with one for each."""

    def supposes(self, space: Space) -> tuple[str, ...]:  # noqa: ARG002
        """What its sensitivity takes for granted beyond the rules of IEEE arithmetic: nothing, if it is linear."""
        return (ROUNDING,)

    def tolerance(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """How far the computed value may be from the exact one, in the units of the noise."""
        return 0.0

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """Public balls in which the value lives and gets its noise: the records' own, or balls of vectors."""
        return (ball,)

    def with_noise(self, mechanism: Mechanism) -> Statistic:  # noqa: ARG002
        """The statistic as this mechanism takes it: public weights may depend on the noise."""
        return self

    def without_fill(self) -> Statistic:
        """The statistic without the number that tells how full the ball is."""
        return self

    def with_scale(self, scale: float) -> Statistic:  # noqa: ARG002
        """The statistic that knows how much noise there will be: what `finish` makes may depend on it."""
        return self

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """Root mean square distance by which noise moves the value."""
        [room] = self.rooms(ball)
        return mechanism.expected_error(scale, room)

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Value:  # noqa: ARG002
        """Post-processing: the released values (size, ...), from what was drawn in each room."""
        [points] = noisy
        return points.vectors

    def completed(self, release: Release, noisy: list[Visible]) -> Release:  # noqa: ARG002
        """Post-processing: the release, with what else the draw tells."""
        return release


# --- means of bounded vectors -------------------------------------------------------------------------------------


def vectors_up_to(length: float, dim: int) -> Ball:
    """The public body of a linear statistic: vectors of R^dim up to this length, or what length a ball may have."""
    return Ball(Euclidean(dim), np.zeros(dim), min(max(length, SMALLEST_RADIUS), LARGEST_RADIUS))


def linear_sensitivity(body: Ball, n: int) -> float:
    """How far one of n vectors of the body moves their mean: 2 lengths/n, plus twice the rounding of the quotient."""
    exact = tangent_mean_sensitivity(body.radius, n)
    return with_solver_error(exact, mean_rounding(body.radius))


def linear_mean(records: Bounded, per_record: Callable[[Array], Array], body: Ball) -> Array:
    """(1/n) sum phi(v_i): each vector forced into the body, exactly and on its grid, added in integers, divided once.

    `per_record` maps rows of coordinates v at the ball's centre to rows of vectors, each by itself, and is picklable:
    records may be anywhere. Whatever it computes of a record is forced into the body; what cannot be used becomes 0.
    """
    return records.mapped(per_record, body).coordinate_mean().point


def refuse_footpoint(footpoint: Array, statistic: str) -> None:
    """Raise an InputError if there is one: means of vectors live at the ball's centre."""
    if footpoint.any():
        raise InputError(f"footpoint must be left out for the {statistic}: it lives at the ball's centre.")


# --- the law of a release -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReleaseLaw:
    """What is published, given the private value: a mechanism at its planned scale, then post-processing."""

    statistic: Statistic
    mechanism: Mechanism
    scale: float
    ball: Ball
    n: int
    footpoint: Array  # coordinates at the ball's centre

    def value(self, records: Any) -> Any:
        """The private value, as the mechanism takes it."""
        with kernels_for(self.n), one_blas_thread():
            return self.statistic.value(records, self.footpoint)

    def draw(self, value: Any, size: int = 1) -> Drawn:
        """One draw, for a release; more of them for an audit."""
        drawn = [self.mechanism.draw(*place, size) for place in self._places(value)]
        noisy = [Visible(one.points) for one in drawn]
        return Drawn(self.statistic.finish(noisy, self.ball, self.n), drawn[0].grid, noisy, self._told(drawn[0]))

    def _told(self, drawn: Drawn) -> Noisy | None:
        """What regions are made of, if the value, but for what is beside it, lives among the records."""
        if self.statistic.rooms(self.ball)[0] is not self.ball:
            return None
        vector = None if drawn.noisy is None else drawn.noisy[0]
        return Noisy(vector, self.footpoint, self.statistic.tolerance(self.ball, self.n, self.footpoint))

    def simulate(self, value: Any, rng: np.random.Generator, size: int) -> Value:
        """Seeded draws of what is published, in float64."""
        points: Value = self.simulated(value, rng, size).points
        return points

    def simulated(self, value: Any, rng: np.random.Generator, size: int) -> Drawn:
        """Seeded draws, with the vectors that they were made of."""
        noisy = [Visible(self.mechanism.simulate(*place, rng, size)) for place in self._places(value)]
        return Drawn(self.statistic.finish(noisy, self.ball, self.n), None, noisy)

    def _places(self, value: Any) -> list[tuple[Any, float, Ball, Array]]:
        """(part of the value, scale, room, footpoint in the room), for each room."""
        rooms = self.statistic.rooms(self.ball)
        parts = value if len(rooms) > 1 else (value,)
        return [
            (part, self.scale, room, self.footpoint if room is self.ball else np.zeros(room.space.dim))
            for part, room in zip(parts, rooms, strict=True)
        ]
