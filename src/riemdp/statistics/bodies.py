"""Where adaptive releases force records into, and what is known of such bodies before any record is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.axes import Axes
from riemdp.balls import Ball, within_reach
from riemdp.kernels.spectral import without_waiting
from riemdp.manifolds.base import Array
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Bounded, _to_ball
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.release import Stage
from riemdp.statistics.adaptation import Allowance
from riemdp.statistics.quantile import MECHANISM, STEPS, RadiusLaw


@dataclass(frozen=True, eq=False)
class Body:
    """Where records are forced into: the ellipsoid of coordinates v at a centre with |axes⁻¹ v| <= radius."""

    ball: Ball  # around the same centre, as large as the space allows: records are moved into it first
    radius: float
    axes: Axes | None = None

    @classmethod
    def of_ball(cls, ball: Ball) -> Body:
        """The body that is the ball itself, without axes."""
        return cls(ball, ball.radius)

    def around(self, center: Array, radius: float, axes: Axes | None) -> Body:
        """Another one, around another centre."""
        reach = radius if radius <= self.ball.radius else within_reach(self.ball.space, radius)
        return Body(Ball(self.ball.space, center, reach), radius, axes)

    def wider(self, factor: float) -> Body:
        """With so many times the radius."""
        return self.around(self.ball.center, factor * self.radius, self.axes)

    @property
    def stretch(self) -> float:
        """By how much noise grows over that of one coordinate: a ball of the same noise has stretch sqrt(d)."""
        return math.sqrt(self.ball.space.dim) if self.axes is None else self.axes.size


@dataclass(frozen=True, eq=False)
class Found:
    """The body so far, its records, what is left to spend, and how it was found."""

    body: Body
    records: Bounded
    allowance: Allowance
    footpoint: Array | None = None  # of the last release, if only that is private
    stages: tuple[Stage, ...] = ()

    @property
    def rounds(self) -> int:
        """How many radii were drawn."""
        return sum(stage.task == "radius" for stage in self.stages)

    def with_stage(self, task: str, share: Guarantee, plan: Plan, body: Body, given_up: int | None = None) -> Found:
        """What was found, with one more step on record, which is paid."""
        stage = replace(stage_in(task, share, plan, body), given_up=given_up)
        return replace(self, allowance=self.allowance.after(share), stages=(*self.stages, stage))


def radius_at(top: float, step: int) -> float:
    """The radius at that step of the list, from 1, which is the top: STEPS of them halve it."""
    return top * math.exp2((1 - step) / STEPS)


def gain(before: Body, after: Body) -> float:
    """By how much the noise of a mean is less."""
    return before.radius * before.stretch / (after.radius * after.stretch)


def same_noise(body: Body, axes: Axes | None) -> float:
    """The radius at which a body of these axes has as much noise as this one."""
    return body.radius if axes is None or axes is body.axes else body.radius * body.stretch / axes.size


def error_seen(plan: Plan, body: Body, axes: Axes | None) -> float:
    """The error of a centre in coordinates narrowed by other axes."""
    if axes is body.axes or axes is None:
        return plan.expected_error
    wide = np.ones(len(axes.inverse)) if body.axes is None else body.axes.matrix
    turned = axes.inverse * wide if axes.is_diagonal and wide.ndim == 1 else _full(axes.inverse) @ _full(wide)
    return plan.scale * float(np.linalg.norm(turned))


def _full(matrix: Array) -> Array:
    return np.diag(matrix) if matrix.ndim == 1 else matrix


def stage_in(task: str, share: Guarantee, plan: Plan, body: Body) -> Stage:
    """What is on record of a step."""
    axes = None if body.axes is None else body.axes.matrix
    return Stage(task, share, plan.mechanism, plan.sensitivity, plan.scale, body.ball.center, body.radius, axes)


def plan_of_radius(law: RadiusLaw, share: Guarantee) -> Plan:
    """What is on record of a draw of a radius."""
    return Plan(MECHANISM, share, 1.0, 1 / law.strength, 0.0)


def into_ball(drawn: Drawn, ball: Ball) -> Array:
    """A drawn point, moved onto the ball if it is outside: post-processing."""
    with without_waiting():  # and with the same bits in every process
        coords = Visible(_to_ball(ball.space.write(drawn.points, ball.center), ball))  # read like a record
        return ball.space.write(carry(coords, np.zeros(ball.space.dim), ball)[0], ball.center)
