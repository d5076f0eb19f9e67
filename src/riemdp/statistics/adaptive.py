"""A private ball for a private mean: error that follows the spread of the records, not the public ball.

A round releases a mean in the ball one has, the next centre, and draws a radius around it that leaves few records
outside; the last release happens in the ball so found. Shares of the guarantee are fixed in advance, so the whole is
an adaptive composition that spends exactly what was asked for (docs/proofs/adaptive.md). Which rounds and shares,
and why: docs/decisions/0009-adaptation.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from riemdp.accounting.composition import Sum
from riemdp.accounting.guarantee import GDP, ApproxDP, Guarantee, PureDP
from riemdp.arguments import finite_number, whole_number
from riemdp.errors import InputError, RiemdpError
from riemdp.kernels.spectral import without_waiting
from riemdp.manifolds.base import Array
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.bounded import Ball, Bounded, _to_ball
from riemdp.privacy.calibration import _largest
from riemdp.privacy.release import Drawn, Plan, Reservation, Stage
from riemdp.statistics.quantile import EXCESS, MECHANISM, STEPS, RadiusLaw, radius_strength

if TYPE_CHECKING:
    from riemdp.statistics.mean import Query

T = TypeVar("T")

MOST_ROUNDS = 8
USUAL_SHARES = {1: 0.1, 2: 0.06, 3: 0.03}  # of each centre and each radius
# Adaptation pays off if a private centre is known to this share of the radius, and the least radius of the list is
# not worth giving up more than this share of the records.
LARGEST_CENTER_ERROR, LARGEST_PRICE = 0.5, 0.5
# The list of radii ends below the centre's own error, under which hardly any record can be.
DEEPEST = 1 / 4


@dataclass(frozen=True)
class Adaptation:
    """How to adapt to the records; all of it is public, and by default decided from public numbers.

    `rounds` of a private centre and a private radius, each for its share of the budget; by default 3, 2, 1 or none, as
    can pay off. `radius_share=0` keeps the given ball and only moves the footpoint (`FOOTPOINT`: that of the
    exponential-wrapped paper's A.3.1). `spare` is how many records may be left outside the radius for nothing, in
    units of the number that would move the mean by as much as the noise does if they all lay on one side.
    """

    rounds: int | None = None
    center_share: float | None = None
    radius_share: float | None = None
    spare: float = 1.0

    def __post_init__(self) -> None:
        if self.rounds is not None and whole_number(self.rounds, "rounds", 1) > MOST_ROUNDS:
            raise InputError(f"rounds = {self.rounds!r}: pass a whole number from 1 to {MOST_ROUNDS}.")
        shares = [finite_number(w, "share") for w in (self.center_share, self.radius_share) if w is not None]
        if not all(0 <= share < 1 for share in shares) or self.center_share == 0:
            raise InputError(f"shares {shares}: pass shares of the budget above 0 and below 1.")
        if self.radius_share == 0 and self.rounds != 1:
            raise InputError("radius_share = 0 keeps the given ball: pass rounds=1 with it.")
        if not self.left(self.rounds or 1) > 0:
            raise InputError(f"rounds = {self.rounds!r} and shares {shares} leave nothing for the mean: lower them.")
        if not finite_number(self.spare, "spare") >= 0:
            raise InputError(f"spare = {self.spare!r}: pass 0 or more.")

    def weights(self, rounds: int) -> tuple[float, float]:
        """Shares of the centre and of the radius in each round."""
        usual = USUAL_SHARES.get(rounds, 0.09 / rounds)
        center, radius = (usual if w is None else w for w in (self.center_share, self.radius_share))
        return center, radius

    def left(self, rounds: int) -> float:
        """Share of the mean itself."""
        return 1 - rounds * sum(self.weights(rounds))


FOOTPOINT = Adaptation(rounds=1, center_share=0.1, radius_share=0.0)


# --- the budget ------------------------------------------------------------------------------------------


def divisible(guarantee: Guarantee) -> list[Guarantee]:
    """What implies the guarantee and can be shared out: itself, but for ApproxDP the largest GDP or PureDP."""
    if isinstance(guarantee, ApproxDP):
        return [GDP(_largest(GDP, guarantee)), PureDP(_largest(PureDP, guarantee))]
    return [replace(guarantee, assumptions=())]


def split(whole: Guarantee, weights: list[float]) -> list[Guarantee]:
    """Guarantees with these shares of the whole, in order, whose adaptive composition implies it.

    Strengths are multiplied by the shares (mu by their roots), exactly what composition adds up. The last one gets
    all that the others leave, rounded down.
    """
    *_, (name, strength) = whole.parameters.items()
    power = 0.5 if isinstance(whole, GDP) else 1.0
    parts = [_with_strength(whole, name, strength * weight**power) for weight in weights[:-1]]
    spent = Sum(whole)
    for part in parts:
        spent = spent.plus(part)
    return [*parts, _with_strength(whole, name, spent.left_of(strength))]


def _with_strength(whole: Guarantee, name: str, strength: float) -> Guarantee:
    changed: dict[str, Any] = {name: strength}
    return replace(whole, **changed)


@dataclass(frozen=True)
class Shares:
    """What each step may spend."""

    center: Guarantee
    radius: Guarantee | None
    mean: Guarantee

    @classmethod
    def of(cls, whole: Guarantee, options: Adaptation, rounds: int) -> Shares:
        """All rounds have the same."""
        center, radius = options.weights(rounds)
        steps = [center, radius] if radius else [center]
        *parts, mean = split(whole, [*steps * rounds, options.left(rounds)])
        return cls(parts[0], parts[1] if radius else None, mean)


# --- where chance comes from -----------------------------------------------------------------------------


class Chance(Protocol):
    """Draws of the two kinds that adaptation makes."""

    def point(self, query: Query, plan: Plan, records: Bounded) -> Drawn:
        """A private mean of the records."""

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """A private radius, by its place in the list, from the numbers of records outside each."""


@dataclass(frozen=True)
class Exact:
    """For a release: the operating system's bits, once it is paid for."""

    paid: Reservation

    def point(self, query: Query, plan: Plan, records: Bounded) -> Drawn:
        """The ideal mechanism, rounded once."""
        return self.paid.draw(
            lambda: query.value(plan, records), lambda value: query.draw(plan, value, records.ball)
        )

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """Exact."""
        return self.paid.draw(outside, law.draw)


@dataclass(frozen=True)
class Seeded:
    """For a simulation: never a release."""

    rng: np.random.Generator

    def point(self, query: Query, plan: Plan, records: Bounded) -> Drawn:
        """In float64."""
        value = query.value(plan, records)
        return Drawn(query.simulate(plan, value, records.ball, self.rng, 1), None)

    def step(self, law: RadiusLaw, outside: Callable[[], list[int]]) -> int:
        """In float64."""
        return law.simulate(outside(), self.rng)


# --- the rounds --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """Records in the ball so far, how many steps down the list of radii it is, and how it was found."""

    records: Bounded
    query: Query
    depth: int = 0
    stages: tuple[Stage, ...] = ()


@dataclass(frozen=True, eq=False)
class Adaptive:
    """The public side of an adaptive release: everything but the records, and what was drawn.

    Sensitivities, scales and predicted errors depend on a ball through its radius alone (the space is homogeneous),
    and radii are r 2^(-i/STEPS), i = 0, 1, ...: so they are found once for each i, the depth.
    """

    ball: Ball
    guarantee: Guarantee
    options: Adaptation
    rounds: int
    center: Query
    mean: Query
    shares: Shares
    _known: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False)

    @property
    def can_pay_off(self) -> bool:
        """Whether records of very small spread would gain: from public numbers, so it may decide what is done."""
        if self.shares.radius is None or not self.rungs(0):
            return False
        precise = self.center_plan(0).expected_error <= LARGEST_CENTER_ERROR * self.ball.radius
        return precise and self.law(0).price(len(self.rungs(0)) - 1) <= LARGEST_PRICE * self.mean.n

    def insist(self) -> None:
        """Raise what the last release would, before anything is read: later it cannot."""
        if self.shares.radius is None:
            dim = self.ball.space.dim
            rim = carry(Visible(self.ball.radius * np.eye(1, dim)), np.zeros(dim), self.ball)
            farthest = self.ball.space.write(rim[0], self.ball.center)
            replace(self.mean, footpoint=farthest).plan(self.ball, self.shares.mean)
        elif not self.rungs(0):
            self.mean.plan(self.ball, self.shares.mean)

    def radius(self, depth: int) -> float:
        """That of the list."""
        return self.ball.radius * math.exp2(-depth / STEPS)

    def center_plan(self, depth: int) -> Plan:
        """The release of a centre in a ball of that depth."""
        return self._once("center", depth, lambda: self.center.plan(self._ball(depth), self.shares.center))

    def mean_plan(self, depth: int) -> Plan | None:
        """The last release, if it exists in a ball of that depth: float64 may be too coarse for it."""
        return self._once("mean", depth, lambda: self._mean_plan(depth))

    def _mean_plan(self, depth: int) -> Plan | None:
        try:
            return self.mean.plan(self._ball(depth), self.shares.mean)
        except RiemdpError:
            return None

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
        spare = self.options.spare * self.mean.n * plan.expected_error / self.radius(first)
        return RadiusLaw(radius_strength(share), math.floor(min(spare, self.mean.n)))

    def _once(self, what: str, depth: int, make: Callable[[], T]) -> T:
        if (what, depth) not in self._known:
            self._known[what, depth] = make()
        found: T = self._known[what, depth]
        return found

    def find(self, records: Bounded, chance: Chance) -> Found:
        """The ball, by the operating system's bits or by seeded ones."""
        found = Found(records, self.mean)
        for _ in range(self.rounds):
            found = self._shrink(self._recentre(found, chance), found, chance)
        return found

    def _recentre(self, found: Found, chance: Chance) -> Found:
        """Around a private mean, moved into the ball if noise has carried it out."""
        plan, ball = self.center_plan(found.depth), found.records.ball
        point = chance.point(self.center, plan, found.records)
        near = Ball(ball.space, into_ball(point, ball), ball.radius)
        stage = _stage("centre", self.shares.center, plan, near)
        return replace(found, records=found.records.moved(near), stages=(*found.stages, stage))

    def _shrink(self, near: Found, before: Found, chance: Chance) -> Found:
        """To a private radius; the first one of the list stands for the ball as it was before."""
        share = self.shares.radius
        if share is None:
            footpoint = near.records.ball.center
            return replace(before, query=replace(self.mean, footpoint=footpoint), stages=near.stages)
        rungs, law = self.rungs(near.depth), self.law(near.depth)
        depth = rungs[chance.step(law, lambda: near.records.outside(self.radii(near.depth)))]
        records = before.records if depth == before.depth else near.records.shrunk(self.radius(depth))
        ball = records.ball
        stage = Stage("radius", share, MECHANISM, 1.0, 1 / law.strength, ball.center, ball.radius)
        return replace(before, records=records, depth=depth, stages=(*near.stages, stage))

    def finish(self, found: Found) -> tuple[Found, Plan]:
        """What is left to do: the last release, on record as a stage too."""
        plan = self.mean_plan(found.depth) if self.shares.radius else self._from_footpoint(found)
        assert plan is not None  # rungs have one; so does the given ball if only the footpoint moves
        stage = _stage("mean", self.shares.mean, plan, found.records.ball)
        return replace(found, stages=(*found.stages, stage)), replace(plan, guarantee=self.guarantee)

    def _from_footpoint(self, found: Found) -> Plan:
        return found.query.plan(found.records.ball, self.shares.mean)

    def predict(self, spread: float) -> Plan:
        """Predicted error if nearly all records are within `spread` of their mean: a public supposition.

        A centre with error e sees them within sqrt(s^2 + e^2 + 2 s e/sqrt(d)), the last term for the direction of e
        among d; the radius drawn is on average larger by EXCESS.
        """
        depth = 0
        for _ in range(self.rounds if self.shares.radius else 0):
            error = self.center_plan(depth).expected_error
            along = 2 * spread * error / math.sqrt(self.ball.space.dim)
            reach = EXCESS * math.sqrt(spread**2 + error**2 + along)
            rungs = self.rungs(depth)
            depth = max([i for i in rungs if self.radius(i) >= reach], default=rungs[0])
        plan = self.mean_plan(depth)
        assert plan is not None
        return replace(plan, guarantee=self.guarantee, rounds=self.rounds, note=self._note(depth))

    def _note(self, depth: int) -> str:
        if self.shares.radius is None:
            return "the footpoint is a private mean"
        law, n = self.law(0), self.mean.n
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
        coords = Visible(_to_ball(drawn.points, ball))
        return ball.space.write(carry(coords, np.zeros(ball.space.dim), ball)[0], ball.center)


def adaptation(value: Any) -> Adaptation | None:
    """What `adapt=` means: False, True or how."""
    if isinstance(value, Adaptation):
        return value
    if not isinstance(value, bool):
        raise InputError(f"adapt = {value!r}: pass True, False or an Adaptation.")
    return Adaptation() if value else None


def prepare(ball: Ball, guarantee: Guarantee, options: Adaptation, center: Query, mean: Query) -> Adaptive | None:
    """The first number of rounds that can pay off, or the one asked for; None if there is none."""
    wholes = sorted(divisible(guarantee), key=lambda whole: center.plan(ball, whole).expected_error)
    candidates = [
        Adaptive(ball, guarantee, options, rounds, center, mean, Shares.of(whole, options, rounds))
        for whole in wholes
        for rounds in ((3, 2, 1) if options.rounds is None else (options.rounds,))
        if options.left(rounds) > 0
    ]
    if options.rounds is None:
        return next((candidate for candidate in candidates if candidate.can_pay_off), None)
    candidates[0].insist()
    return candidates[0]
