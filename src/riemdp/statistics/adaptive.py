"""A private ball for a private mean: error that follows the spread of the records, not the public ball.

A round releases a mean in the ball one has, the next centre, and draws a radius around it that leaves few records
outside; the last release happens in the ball so found (docs/proofs/adaptive.md). Which rounds and shares, and why:
docs/decisions/0009-adaptation.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.errors import InputError, MechanismError, RiemdpError
from riemdp.kernels.spectral import without_waiting
from riemdp.manifolds.base import Array
from riemdp.mechanisms import by_name
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Ball, Bounded, _to_ball
from riemdp.privacy.release import Drawn, Plan, Reservation, Stage
from riemdp.statistics.adaptation import Adaptation, Shares, adaptation, divisible
from riemdp.statistics.base import ReleaseLaw
from riemdp.statistics.intrinsic import TangentMean
from riemdp.statistics.moments import Moments
from riemdp.statistics.quantile import EXCESS, MECHANISM, STEPS, RadiusLaw, radius_strength
from riemdp.statistics.query import Query

T = TypeVar("T")

# Adaptation pays off if a private centre is known to this share of the radius, and the least radius of the list is
# not worth giving up more than this share of the records.
LARGEST_CENTER_ERROR, LARGEST_PRICE = 0.5, 0.5
# The list of radii ends below the centre's own error, under which hardly any record can be.
DEEPEST = 1 / 4


# --- where chance comes from -----------------------------------------------------------------------------


class Chance(Protocol):
    """Draws of the two kinds that adaptation makes."""

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """A private mean of the records."""

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A private radius, by its place in the list, from the numbers of records outside each."""


@dataclass(frozen=True)
class Exact:
    """For a release: the operating system's bits, once it is paid for."""

    paid: Reservation

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """The ideal mechanism, rounded once."""
        return self.paid.draw(lambda: law.value(records), law)

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A step of the radius by exact noise, paid for."""
        return self.paid.draw(outside, law)


@dataclass(frozen=True)
class Seeded:
    """For a simulation: never a release."""

    rng: np.random.Generator

    def point(self, law: ReleaseLaw, records: Any) -> Drawn:
        """One draw in float64, by the simulation's generator."""
        return Drawn(law.simulate(law.value(records), self.rng, 1), None)

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A step of the radius in float64, by the simulation's generator."""
        return law.simulate(outside(), self.rng)


# --- the rounds --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """Records in the ball so far, how many steps down the list of radii it is, and how it was found."""

    records: Bounded
    footpoint: Array | None = None  # of the last release, if only that is private
    depth: int = 0
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True)
class Last:
    """The last draw, by which plan it was made, and all stages."""

    drawn: Drawn
    plan: Plan
    stages: tuple[Stage, ...]


@dataclass(frozen=True, eq=False)
class Adaptive:
    """The public side of an adaptive release: everything but the records, and what was drawn.

    Sensitivities, scales and predicted errors depend on a ball through its radius alone (the space is homogeneous),
    and radii are r 2^(-i/STEPS), i = 0, 1, ...: so they are found once for each i, the depth.
    """

    query: Query
    options: Adaptation
    rounds: int
    shares: Shares
    _known: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False)

    @property
    def ball(self) -> Ball:
        """The public one that was given."""
        return self.query.ball

    @property
    def can_pay_off(self) -> bool:
        """Whether records of very small spread would gain: from public numbers, so it may decide what is done."""
        if self.shares.radius is None or not self.rungs(0):
            return False
        precise = self.center_plan(0).expected_error <= LARGEST_CENTER_ERROR * self.ball.radius
        return precise and self.law(0).price(len(self.rungs(0)) - 1) <= LARGEST_PRICE * self.query.n

    def insist(self) -> None:
        """Raise what the last release would, before anything is read: later it cannot."""
        if self.shares.radius is None:
            dim = self.ball.space.dim
            rim = carry(Visible(self.ball.radius * np.eye(1, dim)), np.zeros(dim), self.ball)
            farthest = self.ball.space.write(rim[0], self.ball.center)
            self._last_in(self.ball, farthest).plan()
        elif not self.rungs(0):
            self._last_in(self.ball).plan()

    def radius(self, depth: int) -> float:
        """The radius of the public list at that depth: STEPS of them halve it."""
        return self.ball.radius * math.exp2(-depth / STEPS)

    def center_plan(self, depth: int) -> Plan:
        """The release of a centre in a ball of that depth."""
        return self._once("center", depth, lambda: self._center_in(self._ball(depth)).plan())

    def mean_plan(self, depth: int) -> Plan | None:
        """The last release, if it exists in a ball of that depth: float64 may be too coarse for it."""
        return self._once("mean", depth, lambda: self._mean_plan(depth))

    def _mean_plan(self, depth: int) -> Plan | None:
        try:
            return self._last_in(self._ball(depth)).plan()
        except RiemdpError:
            return None

    def _center_in(self, ball: Ball) -> Query:
        """What is asked for a centre."""
        return center_query(self.query, ball, self.shares.center)

    def _last_in(self, ball: Ball, footpoint: Array | None = None) -> Query:
        """What is asked at last: the query itself, in the ball that was found."""
        return replace(self.query, ball=ball, guarantee=self.shares.mean, footpoint=footpoint, adapt=False)

    def _ball(self, depth: int) -> Ball:
        return Ball(self.ball.space, self.ball.center, self.radius(depth))

    def rungs(self, depth: int) -> range:
        """Depths that may follow this one: this one first, if the mean exists there."""
        return self._once("rungs", depth, lambda: self._rungs(depth))

    def _rungs(self, depth: int) -> range:
        room = self.radius(depth) / (DEEPEST * self.center_plan(depth).expected_error)
        first, last = depth, depth + max(0, math.floor(STEPS * math.log2(room)))
        while first <= last and self.mean_plan(first) is None:
            first += 1
        while last > first and self.mean_plan(last) is None:
            last -= 1
        return range(first, last + 1)

    def radii(self, depth: int) -> list[float]:
        """Those of the rungs, but for the first."""
        return self._once("radii", depth, lambda: [self.radius(rung) for rung in self.rungs(depth)[1:]])

    def law(self, depth: int) -> RadiusLaw:
        """Of the next rung."""
        return self._once("law", depth, lambda: self._law(self.rungs(depth)[0]))

    def _law(self, first: int) -> RadiusLaw:
        plan, share = self.mean_plan(first), self.shares.radius
        assert plan is not None
        assert share is not None
        spare = self.options.spare * self.query.n * plan.expected_error / self.radius(first)
        return RadiusLaw(radius_strength(share), math.floor(min(spare, self.query.n)))

    def _once(self, what: str, depth: int, make: Callable[[], T]) -> T:
        if (what, depth) not in self._known:
            self._known[what, depth] = make()
        found: T = self._known[what, depth]
        return found

    def find(self, records: Bounded, chance: Chance) -> Found:
        """The ball, by the operating system's bits or by seeded ones."""
        found = Found(records)
        for _ in range(self.rounds):
            found = self._shrink(self._recentre(found, chance), found, chance)
        return found

    def _recentre(self, found: Found, chance: Chance) -> Found:
        """Around a private mean, moved into the ball if noise has carried it out."""
        plan, ball = self.center_plan(found.depth), found.records.ball
        point = chance.point(self._center_in(ball).law(plan), found.records)
        near = Ball(ball.space, into_ball(point, ball), ball.radius)
        stage = _stage("centre", self.shares.center, plan, near)
        return replace(found, records=found.records.moved(near), stages=(*found.stages, stage))

    def _shrink(self, near: Found, before: Found, chance: Chance) -> Found:
        """To a private radius; the first one of the list stands for the ball as it was before."""
        share = self.shares.radius
        if share is None:
            return replace(before, footpoint=near.records.ball.center, stages=near.stages)
        rungs, law = self.rungs(near.depth), self.law(near.depth)
        depth = rungs[chance.step(law, lambda: near.records.outside(self.radii(near.depth)))]
        records = before.records if depth == before.depth else near.records.shrunk(self.radius(depth))
        ball = records.ball
        stage = Stage("radius", share, MECHANISM, 1.0, 1 / law.strength, ball.center, ball.radius)
        return replace(before, records=records, depth=depth, stages=(*near.stages, stage))

    def run(self, records: Bounded, chance: Chance) -> Last:
        """All rounds, and the last release, which is on record as a stage too."""
        found = self.find(records, chance)
        ball = found.records.ball
        query = self._last_in(ball, found.footpoint)
        plan = self.mean_plan(found.depth) if self.shares.radius else query.plan()
        assert plan is not None  # rungs have one; so does the given ball if only the footpoint moves
        stage = _stage("mean", self.shares.mean, plan, ball)
        return Last(chance.point(query.law(plan), found.records), plan, (*found.stages, stage))

    @property
    def error_without_luck(self) -> float:
        """Predicted, if no smaller ball is found."""
        plan = self._last_in(self.ball).plan() if self.shares.radius is None else self.mean_plan(self.rungs(0)[0])
        assert plan is not None  # rungs have one
        return plan.expected_error

    def predict(self, spread: float) -> Plan:
        """Predicted error if nearly all records are within `spread` of their mean: a public supposition.

        A centre with error e sees them within sqrt(s^2 + e^2 + 2 s e/sqrt(d)), the last term for the direction of e
        among d; the radius drawn is on average larger by EXCESS.
        """
        depth = 0
        for _ in range(self.rounds if self.shares.radius else 0):
            error = self.center_plan(depth).expected_error
            along = 2 * spread * error / math.sqrt(self.ball.space.dim)
            needed = EXCESS * math.sqrt(spread**2 + error**2 + along)
            rungs = self.rungs(depth)
            depth = max([i for i in rungs if self.radius(i) >= needed], default=rungs[0])
        plan = self.mean_plan(depth)
        assert plan is not None
        return replace(plan, guarantee=self.query.guarantee, rounds=self.rounds, note=self._note(depth))

    def _note(self, depth: int) -> str:
        if self.shares.radius is None:
            return "the footpoint is a private mean"
        law, n = self.law(0), self.query.n
        given_up = min(n, law.spare + math.ceil(law.price(depth)))
        return (
            f"a private ball of radius about {self.radius(depth):.3g}; up to about {given_up:,} of {n:,} records may "
            "be moved onto its rim, which costs more than the noise if they are outliers on one side"
        )


def _stage(task: str, share: Guarantee, plan: Plan, ball: Ball) -> Stage:
    return Stage(task, share, plan.mechanism, plan.sensitivity, plan.scale, ball.center, ball.radius)


def into_ball(drawn: Drawn, ball: Ball) -> Array:
    """A drawn point, moved onto the ball if it is outside: post-processing."""
    with without_waiting():  # and with the same bits in every process
        coords = Visible(_to_ball(ball.space.write(drawn.points, ball.center), ball))  # read like a record
        return ball.space.write(carry(coords, np.zeros(ball.space.dim), ball)[0], ball.center)


def center_query(query: Query, ball: Ball, share: Guarantee) -> Query:
    """What is asked for a private centre: a tangent mean, which needs no more than one pass, in any ball."""
    return Query(ball, query.n, share, statistic=TangentMean.name)


def adaptive_for(query: Query) -> Adaptive | None:
    """How the release adapts to the records; None if it does not, or if that cannot pay off."""
    options = adaptation(query.adapt)
    if options is None:
        return None
    _refuse_with_adaptation(query, options)
    wholes = sorted(divisible(query.guarantee), key=lambda w: center_query(query, query.ball, w).plan().expected_error)
    candidates = [
        Adaptive(query, options, rounds, Shares.of(whole, options, rounds))
        for whole in wholes
        for rounds in ((3, 2, 1) if options.rounds is None else (options.rounds,))
        if options.left(rounds) > 0
    ]
    if options.rounds is None:
        return next((candidate for candidate in candidates if candidate.can_pay_off), None)
    candidates[0].insist()
    return candidates[0]


def _refuse_with_adaptation(query: Query, options: Adaptation) -> None:
    """Raise what cannot be asked together with `adapt`."""
    if query.footpoint is not None:
        raise InputError("footpoint must be left out with adapt: the private centre is the footpoint.")
    if options.radius_share == 0 and _lives_at_centre(query):
        name = query.statistic_name
        raise InputError(f"statistic = {name!r} lives at the ball's centre, which radius_share = 0 leaves as it is.")
    if query.calibration != "analytic":
        raise MechanismError(f"calibration = {query.calibration!r} cannot be shared out: leave it out with adapt.")
    if query.mechanism != "auto" and by_name(query.mechanism).is_baseline:
        raise MechanismError(f"mechanism = {query.mechanism!r} is a baseline: leave it out with adapt.")


def _lives_at_centre(query: Query) -> bool:
    """Whether the statistic takes no footpoint: then nothing is gained from a private centre alone."""
    is_tangent = query.statistic_name == TangentMean.name and not query.ball.space.is_flat
    return is_tangent or query.statistic_name == Moments.name
