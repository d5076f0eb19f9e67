"""Private descent: a public point that moves along noisy mean gradients of the records, step by step.

Every step is a linear release: each record's gradient at the point one has is forced into a public ball of vectors,
they are added in integers, and noise is added once. Later points are functions of what was released before, and the
shares of the steps are fixed in advance, so that the whole spends what was asked for (docs/proofs/descent.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.io.sources import stepwise
from riemdp.manifolds.base import Array
from riemdp.mechanisms.visible import Visible
from riemdp.releases.plan import Plan
from riemdp.releases.release import Stage
from riemdp.statistics.base import Statistic, linear_sensitivity, refuse_footpoint
from riemdp.statistics.chance import Chance
from riemdp.statistics.query import Query

AVERAGED = 0.7  # the share of the steps, the later ones, whose points are averaged: noise averages out


class Objective(ABC):
    """What is minimised over a public point: a mean over the records of a loss, known by its gradients.

    The mean gradient is private; everything else about it is public.
    """

    @property
    @abstractmethod
    def body(self) -> Ball:
        """The public ball of vectors into which each record's gradient is forced."""

    @abstractmethod
    def mean_gradient(self, records: Any, point: Array) -> Array:
        """(1/n) sum of the forced gradients, exact up to one rounding of the quotient. Private."""

    @abstractmethod
    def moved(self, point: Array, gradient: Visible) -> Array:
        """The next point, from a gradient that anyone may see."""

    @abstractmethod
    def average(self, points: list[Array]) -> Array:
        """One point in the middle of public ones."""


@dataclass(frozen=True, eq=False)
class GradientMean(Statistic):
    """The mean gradient of an objective at a public point: sensitivity 2c/n (docs/proofs/descent.md)."""

    name: ClassVar[str] = "mean-gradient"
    kind: ClassVar[str] = "numbers"

    objective: Objective
    point: Array

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """How far one record moves a mean of vectors of the body."""
        refuse_footpoint(footpoint, "mean gradient")
        return linear_sensitivity(ball, n)

    def value(self, records: Any, footpoint: Array) -> Array:  # noqa: ARG002
        """The mean gradient of these records."""
        return self.objective.mean_gradient(records, self.point)


@dataclass(frozen=True)
class Path:
    """Where a descent led: the average of its later points; noise and grid of its steps."""

    point: Array
    plan: Plan
    grid: float | None


@dataclass(frozen=True, eq=False)
class Descent:
    """The public side of a descent of n records: one step for each share of the guarantee."""

    objective: Objective
    n: int
    shares: tuple[Guarantee, ...]
    averaged: float = AVERAGED  # of the last point at least

    def plans(self) -> list[Plan]:
        """Noise of each step; raises what a step would refuse, before anything is spent."""
        plan_of = lru_cache(maxsize=None)(self._plan)
        return [plan_of(share) for share in self.shares]

    def _plan(self, share: Guarantee) -> Plan:
        return self._query(share, self.objective.body.center).plan()

    def _query(self, share: Guarantee, point: Array) -> Query:
        return Query(self.objective.body, self.n, share, statistic=GradientMean(self.objective, point))

    def run(self, records: Any, chance: Chance, start: Array) -> Path:
        """All steps from a public start; the average of the later points."""
        point, points, grid = start, list[Array](), None
        for share, plan in stepwise(list(zip(self.shares, self.plans(), strict=True))):
            drawn = chance.point(self._query(share, point).law(plan), records)
            point, grid = self.objective.moved(point, Visible(drawn.points[0])), drawn.grid
            points.append(point)
        return Path(self.objective.average(points[self._first :]), self.plans()[0], grid)

    @property
    def _first(self) -> int:
        return _first_averaged(len(self.shares), self.averaged)

    @property
    def drift(self) -> float:
        """Root mean square of what noise adds to the average, for steps of length 1, over that of the first gradient.

        It is so where the objective does not pull back, and less elsewhere: noise of step s stays in all later points.
        """
        errors = np.array([plan.expected_error for plan in self.plans()])
        return float(np.linalg.norm(kept_in_average(len(errors), self.averaged) * errors / errors[0]))

    def stage(self, share: Guarantee, place: Ball) -> Stage:
        """All steps as one entry of the record, for their common share and with the noise of the first of them.

        The records were looked at in that place.
        """
        plan, task = self.plans()[0], f"{len(self.shares)} steps"
        return Stage(task, share, plan.mechanism, plan.sensitivity, plan.scale, place.center, place.radius)


def _first_averaged(steps: int, averaged: float) -> int:
    """The first step whose point is averaged."""
    return min(int(steps * (1 - averaged)), steps - 1)


def kept_in_average(steps: int, averaged: float) -> Array:
    """(steps,): in which part of the points that are averaged each step is."""
    points = steps - _first_averaged(steps, averaged)
    return np.asarray(np.minimum(steps - np.arange(steps), points) / points)
