"""A private body for a private mean: error that follows the spread and the shape of the records, not the public ball.

A round releases moments of the records in the body one has, a ball or an ellipsoid: the next centre, and with Gaussian
noise, for nothing, which axes would do with less noise. Then it draws a radius that leaves few records outside. Rounds
go on as long as bodies shrink; the last release has all that they left (docs/proofs/adaptive.md). Where a centre would
be mostly noise, there is a radius around the given one instead. Which shares, when to stop, and why:
docs/decisions/0032-rounds-and-shape.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from riemdp.accounting.guarantee import GDP, Guarantee, PureDP
from riemdp.axes import LEAST_NOISE, Axes
from riemdp.balls import SMALLEST_RADIUS, Ball
from riemdp.caching import cached_property
from riemdp.errors import RiemdpError
from riemdp.manifolds.base import Array
from riemdp.manifolds.capabilities import FrechetModel
from riemdp.mechanisms.visible import Visible, carry
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE, Wrapped
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.calibration import _largest
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.release import Stage
from riemdp.statistics.adaptable import refuse_with_adaptation
from riemdp.statistics.adaptation import Adaptation, Allowance, Effort, adaptation, divisible
from riemdp.statistics.base import ReleaseLaw, Statistic
from riemdp.statistics.bodies import Body, Found, error_seen, gain, into_ball, plan_of_radius, radius_at, same_noise
from riemdp.statistics.chance import Chance
from riemdp.statistics.intrinsic import IntrinsicMean
from riemdp.statistics.moments import FULL_WITH_GAUSSIAN, Moments
from riemdp.statistics.quantile import STEPS, RadiusLaw, radius_strength
from riemdp.statistics.query import Query
from riemdp.statistics.shaped import ShapedMean, fitted_axes

# Adaptation pays off if a private centre is known to this share of the radius, and the least radius of the list is
# not worth giving up more than this share of the records.
LARGEST_CENTER_ERROR, LARGEST_PRICE = 0.5, 0.5
# The list of radii ends below the centre's own error, under which hardly any record can be.
DEEPEST = 1 / 4
# And where noise is this share of the given radius: less would be lost in the rounding of a float64 of that size.
FINEST = 2.0**-44
WIDER = 2 ** (1 / STEPS)
# How much likelier the next smaller radius is: more where records are many, for they pay for it.
FAVOUR, FAVOUR_OF_MANY = 2, 3
# Rounds go on while they shrink the noise by so much (is it Gaussian?). Then centres take more of the budget, for a
# precise shape, as long as that pays.
ENOUGH, SETTLING = {True: 1.3, False: 1.6}, 0.08
MOST_ROUNDS, LEAST_LEFT = 12, 0.4
# A centre is to be precise to the first share of the radius, for a usual share of the budget at most, and to the second
# if that takes more.
PRECISE, TOLERABLE = 1 / 8, 0.4
CENTER_SHARES = {True: (0.002, 0.02, 0.1), False: (0.01, 0.03, 0.1)}  # least, usual, most: is the noise Gaussian?
# A step down the list of radii is to cost this share of the spare records, for a usual share of the budget at most, and
# all of the list this share of all records, if that takes more.
PRICE_OF_STEP, PRICE_OF_LIST = {True: 1 / 3, False: 1.0}, 1 / 8
RADIUS_SHARES = {True: (0.002, 0.01, 0.06), False: (0.01, 0.1, 0.06)}  # least, usual, most
TYPICAL_LIST = 30  # steps
# A record that is moved takes more from the spread than from the mean. So with Gaussian noise a summary tells the trace
# of records up to so many radii, for nothing, and in its last rounds radii have so many times their share, up to a
# limit, and centres less; with Laplace noise all radii do. Its axes, C^⅛, are half as uneven as those with the least
# noise for a mean, which blur the dispersion.
REACH_OF_SPREAD, SHAPE_OF_SUMMARY, SETTLING_OF_SUMMARY = 1.2, 1 / 8, 0.05
CARE_FOR_SPREAD, MOST_CARE = 3, {True: 0.03, False: 0.06}
# Where a radius takes that much of the budget (pure epsilon, on a line), a cheap look asks first whether one would gain
# ENOUGH. It takes at most half of what the radius does, and less where a twentieth of the records outside count e^-3.
DEAR, LARGEST_LOOK, STRENGTH_OF_LOOK = 0.08, 0.5, 60.0


@dataclass(frozen=True)
class Last:
    """The last draw, what was asked for it and how it was planned, and all stages."""

    drawn: Drawn
    query: Query
    plan: Plan
    stages: tuple[Stage, ...]


# --- the rounds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Adaptive:
    """The public side of an adaptive release: everything but the records, and what was drawn.

    Sensitivities, scales and predicted errors depend on a body through its radius and axes alone (the space is
    homogeneous).
    """

    query: Query
    options: Adaptation
    whole: Guarantee
    rounds: int | None = None  # as many as pay, or so many
    _exists: dict[float, bool] = field(default_factory=dict, repr=False)
    _centers: dict[tuple[float, Guarantee], Plan] = field(default_factory=dict, repr=False)

    # --- public choices --------------------------------------------------------------------------------------

    @property
    def ball(self) -> Ball:
        """The public one that was given."""
        return self.query.ball

    @cached_property
    def noise(self) -> Wrapped:
        """The noise that centres get."""
        return WRAPPED_LAPLACE if isinstance(self.whole, PureDP) else WRAPPED_GAUSSIAN

    @property
    def is_gaussian(self) -> bool:
        """Whether second moments are for nothing."""
        return self.noise is WRAPPED_GAUSSIAN

    @cached_property
    def favour(self) -> int:
        """How much likelier a smaller radius of the list is, as the law of radii takes it."""
        share = self._share_for(self._strength_of_list(FAVOUR_OF_MANY))
        return FAVOUR_OF_MANY if self.is_gaussian and share <= RADIUS_SHARES[True][1] else FAVOUR

    @cached_property
    def is_linear(self) -> bool:
        """Whether the last release is a sum of bounded vectors: then any body will do, and nothing is supposed.

        Of a mean or a summary with Gaussian noise; in a given ellipsoid always.
        """
        is_free = self.query.mechanism in ("auto", self.noise.name) and self.moves_ball
        if not is_free or not (self.is_gaussian or self._given is not None):
            return False
        if self.summary is not None:
            return True
        is_mean = self._given is not None or self.query.statistic == IntrinsicMean.name
        space = self.ball.space
        return is_mean and all(part.is_flat or part.has(FrechetModel) for part in space.parts)

    @cached_property
    def summary(self) -> Moments | None:
        """The moments that are asked for; None if a mean is."""
        asked = self.query.statistic
        if isinstance(asked, Moments):
            return asked
        return Moments() if asked == Moments.name else None

    @cached_property
    def _given(self) -> Moments | None:
        """The moments in the ellipsoid that was given; None if a ball was."""
        asked = self.query.statistic.moments if isinstance(self.query.statistic, ShapedMean) else self.summary
        return None if asked is None or asked.radius is None else asked

    @property
    def moves_ball(self) -> bool:
        """Whether the ball moves, and not just the footpoint."""
        return self.options.radius_share != 0

    @cached_property
    def shapes(self) -> bool:
        """Whether bodies may be ellipsoids: of a summary if it tells a spread in one."""
        dim = self.ball.space.dim
        is_wanted = self.options.shape and self.rounds is None and dim > 1
        is_told = self.summary is None or self.summary.which(dim) == "full"
        return self.is_linear and self.is_gaussian and is_wanted and is_told

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the last release supposes; rounds are linear."""
        return () if self.is_linear else self.query.suppositions

    @cached_property
    def start(self) -> Body:
        """The ball that was given, or the ellipsoid."""
        given = self._given
        if given is None or given.radius is None:
            return Body.of_ball(self.ball)
        return Body(self.ball, given.radius, given.axes)

    @cached_property
    def weights(self) -> Effort:
        """The usual parts of the guarantee for a centre and a radius, from public numbers."""
        if self.rounds is not None:
            return Effort(*self.options.weights(self.rounds))
        center, radius = self._usual_center, self._usual_radius
        asked = self.options.center_share, self.options.radius_share
        return Effort(center if asked[0] is None else asked[0], radius if asked[1] is None else asked[1])

    @property
    def _usual_center(self) -> float:
        """What makes a centre precise enough: errors fall like the root of the share; of pure epsilon like itself."""
        error = self.center_plan(self.start, self.whole).expected_error / self.start.radius
        power, (least, usual, most) = (2 if self.is_gaussian else 1), CENTER_SHARES[self.is_gaussian]
        return max(least, min((error / PRECISE) ** power, usual), min((error / TOLERABLE) ** power, most))

    @property
    def _usual_radius(self) -> float:
        """What makes a radius precise enough: a step, beside the records that are spared, and the list, beside all."""
        spare = max(self._spare(self.start, self.whole), 1 / self.query.n)  # `spare` may be 0
        of_step = math.log(self.favour) / (PRICE_OF_STEP[self.is_gaussian] * spare)
        of_list = self._strength_of_list(self.favour)
        least, usual, most = RADIUS_SHARES[self.is_gaussian]
        share = max(least, min(self._share_for(of_step), usual), min(self._share_for(of_list), most))
        return self._careful(share) if self.summary is not None and not self.is_gaussian else share

    def _careful(self, share: float) -> float:
        """Of a radius on which a spread depends."""
        return min(CARE_FOR_SPREAD * share, max(share, MOST_CARE[self.is_gaussian]))

    @cached_property
    def look(self) -> float:
        """The part of the guarantee that asks first whether a radius is worth its price; 0 if nobody asks."""
        is_asked = not self.is_gaussian and self.rounds is None and self.weights.radius >= DEAR
        if not is_asked or not self._has_last(self.start.radius):
            return 0.0
        return min(self._share_for(STRENGTH_OF_LOOK / self.query.n), LARGEST_LOOK * self.weights.radius)

    def _strength_of_list(self, favour: int) -> float:
        """At which the whole list costs no more than its share of all records."""
        return math.log(favour) * TYPICAL_LIST / (PRICE_OF_LIST * self.query.n)

    def _share_for(self, strength: float) -> float:
        """The part of the guarantee that a radius of this strength takes, nearly."""
        if self.is_gaussian:
            return (strength / (SLOPE * _largest(GDP, self.whole))) ** 2
        return strength / radius_strength(self.whole)

    @property
    def can_pay_off(self) -> bool:
        """Whether records of very small spread would gain: from public numbers, so it may decide what is done."""
        if not self.moves_ball or not self._first_steps:
            return False
        everything = Allowance.of(self.whole)
        if not (self.begins_with_radius or self.may_go_on(self.start, everything, self.weights, 0)):
            return False
        return self.first_radius_law.price(self._first_steps[-1]) <= LARGEST_PRICE * self.query.n

    @cached_property
    def begins_with_radius(self) -> bool:
        """Whether the given ball shrinks around its own centre: where a private one would be mostly noise."""
        everything, (center, radius) = Allowance.of(self.whole), self.weights
        is_coarse = not self._knows_center(self.start, everything.share(center))
        return is_coarse and self.rounds is None and 1 - radius - self.look >= LEAST_LEFT

    @property
    def first_radius_law(self) -> RadiusLaw:
        """The law of the radius after the first centre, or around the given one."""
        everything = Allowance.of(self.whole)
        before = everything if self.begins_with_radius else self.after_center(everything, self.weights.center)
        return self.radius_law(self.start, before, self.weights.radius)

    @cached_property
    def _first_steps(self) -> range:
        """Down the first list of radii: the given centre has no error, but the last release has noise."""
        share = self.whole if self.begins_with_radius else Allowance.of(self.whole).share(self.weights.center)
        return self.steps(self.start, self.start.radius, self.center_plan(self.start, share).expected_error)

    def insist(self) -> None:
        """Raise what the last release would, before anything is read: later it cannot."""
        if not self.moves_ball:
            dim = self.ball.space.dim
            rim = carry(Visible(self.ball.radius * np.eye(1, dim)), np.zeros(dim), self.ball)
            farthest = self.ball.space.write(rim[0], self.ball.center)
            self.last_query(self.start, self._least, farthest).plan()
        elif not self._first_steps:  # then one of these is refused
            for share in (self._least, self.whole):
                self.last_query(self.start, share).plan()

    @property
    def _least(self) -> Guarantee:
        """What the last release has at least."""
        return Allowance.of(self.whole).share(LEAST_LEFT if self.rounds is None else self.options.left(self.rounds))

    # --- plans -----------------------------------------------------------------------------------------------

    def center_query(self, body: Body, share: Guarantee) -> Query:
        """What is asked for a private centre: moments, in one pass, in any body."""
        moments = Moments(self._second, is_coarse=True, radius=body.radius, axes=body.axes)
        return Query(body.ball, self.query.n, share, self.noise.name, statistic=ShapedMean(moments))

    @property
    def _second(self) -> str:
        """Which second moments centres come with."""
        if not self.shapes:
            return "trace"
        return "full" if self.ball.space.dim <= FULL_WITH_GAUSSIAN else "diagonal"

    def center_plan(self, body: Body, share: Guarantee) -> Plan:
        """The release of a centre; its predicted error is that of narrowed coordinates, whatever the axes."""
        if (body.radius, share) not in self._centers:
            plan = self.center_query(body, share).plan_one(self.noise)
            error = plan.scale * math.sqrt(self.noise.mean_square(self.ball.space.dim))
            self._centers[body.radius, share] = replace(plan, expected_error=error)
        return self._centers[body.radius, share]

    def last_query(self, body: Body, share: Guarantee, footpoint: Array | None = None) -> Query:
        """What is asked at last: the query itself in the body that was found, or its linear form."""
        last = replace(self.query, ball=body.ball, guarantee=share, footpoint=footpoint, adapt=False)
        if not self.is_linear:
            return last
        return replace(last, statistic=self._last_statistic(body), mechanism=self.noise.name)

    def _last_statistic(self, body: Body) -> Statistic:
        """The linear one, in the body."""
        if self.summary is None:
            return ShapedMean.within(body.ball.space, body.radius, body.axes)
        if (reach := self._reach(body)) > 1:
            return replace(self.summary, radius=body.radius, axes=body.axes, reach=reach)
        is_ball = body.axes is None and body.radius == body.ball.radius
        return replace(self.summary, radius=None if is_ball else body.radius, axes=body.axes)

    def _reach(self, body: Body) -> float:
        """Up to how many radii of the body the last release tells the trace: of one that was given, not beyond it."""
        is_told = self.summary is not None and self.is_linear and self.is_gaussian
        return REACH_OF_SPREAD if is_told and body is not self.start else 1.0

    def _has_last(self, radius: float) -> bool:
        """Whether the last release exists in a body of that radius, with as little or as much as it may have.

        Float64 may be too coarse for it. Other axes change nothing.
        """
        if radius not in self._exists:
            try:
                body = self.start.around(self.ball.center, radius, self.start.axes)
                plans = [self.last_query(body, share).plan() for share in (self._least, self.whole)]
            except RiemdpError:
                plans = []
            self._exists[radius] = bool(plans)
        return self._exists[radius]

    def steps(self, body: Body, top: float, error: float) -> range:
        """Steps down the list of radii that may follow: 0, which stands for the body as it was, first.

        Where no last release exists there, the first that has one comes first.
        """
        visible = self.center_plan(self.start, self.whole).expected_error / (FINEST * self.start.radius)
        lowest = max(min(top / (DEEPEST * error), visible / gain(self.start, body)), 1.0)
        first, last = 0, 1 + math.floor(STEPS * math.log2(lowest))
        while first <= last and not self._has_last(radius_at(top, first) if first else body.radius):
            first += 1
        while last > first and not self._has_last(radius_at(top, last)):
            last -= 1
        return range(first, last + 1)

    def _spare(self, body: Body, share: Guarantee) -> float:
        """How many records on one side would move the mean as much as noise of the last release does."""
        error = self.center_plan(body, share).expected_error
        return self.options.spare * self.query.n * error / body.radius

    def radius_law(self, body: Body, allowance: Allowance, weight: float) -> RadiusLaw:
        """The law of the radius that is drawn next, for this part of the guarantee."""
        share = allowance.share(weight)
        spare = min(self._spare(body, allowance.after(share).rest), self.query.n)
        return RadiusLaw(radius_strength(share), math.floor(spare), self.favour)

    def after_center(self, allowance: Allowance, weight: float) -> Allowance:
        """What is left when a centre has taken this part of the guarantee."""
        return allowance.after(allowance.share(weight))

    def _cost(self, effort: Effort, made: int) -> float:
        """The part of the guarantee that the next round may take, after so many."""
        return sum(effort) + (0.0 if made else self.look)

    # --- the rounds ------------------------------------------------------------------------------------------

    def find(self, records: Bounded, chance: Chance) -> Found:
        """The body, by the operating system's bits or by seeded ones."""
        found = Found(self.start, records, Allowance.of(self.whole))
        if self.rounds is not None:
            for _ in range(self.rounds):
                found = self._round(found, self.weights, chance)
            return found
        if self.begins_with_radius:
            found = self._around(found, self.start, self._first_steps, self.weights.radius, chance)
        for effort in self.efforts():
            found = self._as_long_as_it_pays(found, effort, chance)
        return found

    def efforts(self) -> list[Effort]:
        """The usual one of each round, then what a precise shape needs, and the radius around a spread."""
        usual = self.weights
        if not self.shapes:
            return [usual]
        if self.summary is None:
            return [usual, usual._replace(center=max(usual.center, SETTLING))]
        radius = self._careful(usual.radius) if self.options.radius_share is None else usual.radius
        return [usual, Effort(max(usual.center, SETTLING_OF_SUMMARY), radius)]

    def _as_long_as_it_pays(self, found: Found, effort: Effort, chance: Chance) -> Found:
        """Rounds of this effort, until one of them gains little or cannot be paid."""
        while self.may_go_on(found.body, found.allowance, effort, found.rounds):
            before, found = found, self._round(found, effort, chance)
            if gain(before.body, found.body) < ENOUGH[self.is_gaussian]:
                break
        return found

    def may_go_on(self, body: Body, allowance: Allowance, effort: Effort, made: int) -> bool:
        """Whether another round is possible and can help: from public numbers, and what was released."""
        if made >= MOST_ROUNDS or allowance.left - self._cost(effort, made) < LEAST_LEFT:
            return False
        return self._knows_center(body, allowance.share(effort.center))

    def _knows_center(self, body: Body, share: Guarantee) -> bool:
        """Whether a centre is worth this share: it is more than noise."""
        return self.center_plan(body, share).expected_error <= LARGEST_CENTER_ERROR * body.radius

    def _round(self, found: Found, effort: Effort, chance: Chance) -> Found:
        """A centre, axes, and a radius; the first one of the list stands for the body as it was before."""
        body, share = found.body, found.allowance.share(effort.center)
        query, plan = self.center_query(body, share), self.center_plan(body, share)
        law = query.law(plan)
        drawn = chance.point(law, found.records)
        center, axes = into_ball(drawn, body.ball), self._axes(law, drawn, body)
        if not self.moves_ball:
            near = body.around(center, body.radius, body.axes)
            return replace(found.with_stage("centre", share, plan, near), footpoint=center)
        near = body.around(center, same_noise(body, axes), axes)
        after = found.with_stage("centre", share, plan, near)
        steps = self.steps(body, near.radius, error_seen(plan, body, axes))
        return self._around(after, near, steps, effort.radius, chance)

    def _around(self, found: Found, near: Body, steps: range, weight: float, chance: Chance) -> Found:
        """A radius around this centre; of the first one, a look may say before that it is not worth its price."""
        if self.look and not found.rounds:
            found, is_worth_it = self._looked(found, near, steps, chance)
            if not is_worth_it:
                return found
        return self._shrunk(found, near, steps, weight, chance)

    def _axes(self, law: ReleaseLaw, drawn: Drawn, body: Body) -> Axes | None:
        """Post-processing: those that the moments promise the least noise for."""
        statistic = law.statistic
        assert isinstance(statistic, ShapedMean)
        if not self.shapes:
            return body.axes
        first, second = (visible.vectors[0] for visible in drawn.noisy)
        power = LEAST_NOISE if self.summary is None else SHAPE_OF_SUMMARY
        axes = fitted_axes(statistic.noisy(first, second, body.ball), body.axes, power)
        return axes if same_noise(body, axes) >= SMALLEST_RADIUS else body.axes

    def _looked(self, found: Found, near: Body, steps: range, chance: Chance) -> tuple[Found, bool]:
        """Whether some radius is worth its price: a cheap draw of one that gains enough, or of the body as it was."""
        worth = [0, *(step for step in steps[1:] if self.gains_enough(near.radius, radius_at(near.radius, step)))]
        law = self.radius_law(found.body, found.allowance, self.look)
        step = self._step(found, near, worth, law, chance)
        share = found.allowance.share(self.look)
        return found.with_stage("look", share, plan_of_radius(law, share), found.body), step != 0

    def gains_enough(self, before: float, after: float) -> bool:
        """Whether a round from one radius to the other is not the last."""
        return before >= ENOUGH[self.is_gaussian] * after

    def _step(self, found: Found, near: Body, steps: Sequence[int], law: RadiusLaw, chance: Chance) -> int:
        """One of them, by the records outside."""
        return steps[chance.step(law, lambda: self._outside(found.records, near, steps))]

    def _shrunk(self, found: Found, near: Body, steps: range, weight: float, chance: Chance) -> Found:
        """To a private radius around the new centre, along the new axes; or the body as it was before."""
        share = found.allowance.share(weight)
        law = self.radius_law(found.body, found.allowance, weight)
        step = self._step(found, near, steps, law, chance)
        if step == 0:
            body, records = found.body, found.records
        else:
            body = near.around(near.ball.center, radius_at(near.radius, step), near.axes)
            records = found.records.moved(body.ball)
        given_up = min(law.spare + math.ceil(law.price(1)), self.query.n)
        after = found.with_stage("radius", share, plan_of_radius(law, share), body, given_up)
        return replace(after, body=body, records=records)

    def _outside(self, records: Bounded, near: Body, steps: Sequence[int]) -> list[int]:
        """How many records are outside each radius of the list but the first: seen in a body that is larger.

        Where the space has none that is larger, they are moved into the first body and outside the second.
        """
        wider = near.wider(WIDER)
        vectors = Moments(radius=wider.radius, axes=wider.axes).vectors(records.moved(wider.ball))
        return vectors.outside([radius_at(near.radius, step) for step in steps[1:]])

    def run(self, records: Bounded, chance: Chance) -> Last:
        """All rounds, and the last release of all that is left, which is on record as a stage too."""
        found = self.find(records, chance)
        body, share = found.body, found.allowance.rest
        query = self.last_query(body, share, found.footpoint)
        plan, reach = query.plan(), self._reach(body)
        last = found.records if reach == 1 else found.records.moved(body.wider(reach).ball)
        stages = found.with_stage("mean", share, plan, body).stages
        return Last(chance.point(query.law(plan), last), query, plan, stages)

    # --- predictions -----------------------------------------------------------------------------------------

    @property
    def error_without_luck(self) -> float:
        """Predicted, if no smaller body is found."""
        radius = radius_at(self.start.radius, max([*self._first_steps, 1][0], 1))
        body = self.start.around(self.ball.center, radius, self.start.axes)
        left = 1 - self.weights.radius - self.look
        share = Allowance.of(self.whole).share(left) if self.begins_with_radius else self._least
        return self.last_query(body, share).plan().expected_error


# The strength of a radius for a small mu: 2 log(Phi(mu/2)/Phi(-mu/2)) = SLOPE mu + ...
SLOPE = 4 / math.sqrt(2 * math.pi)


def adaptive_for(query: Query) -> Adaptive | None:
    """How the release adapts to the records; None if it does not, or if that cannot pay off."""
    options = adaptation(query.adapt)
    if options is None:
        return None
    refuse_with_adaptation(query, options)
    candidates = sorted(
        (Adaptive(query, options, whole, options.rounds) for whole in divisible(query.guarantee)),
        key=lambda one: one.center_plan(one.start, one.whole).expected_error,
    )
    if options.rounds is None:
        return next((candidate for candidate in candidates if candidate.can_pay_off), None)
    candidates[0].insist()
    return candidates[0]
