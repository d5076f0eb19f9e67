"""What an adaptive release can be expected to find, from public numbers: for plans; no guarantee depends on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from riemdp.releases.plan import Plan
from riemdp.statistics.adaptation import Allowance, Effort
from riemdp.statistics.adaptive import Adaptive
from riemdp.statistics.bodies import Body, radius_at
from riemdp.statistics.quantile import STEPS, looseness


def predicted(adaptive: Adaptive, spread: float) -> Plan:
    """The last release if nearly all records are within `spread` of their mean: a public supposition."""
    path = _Path(adaptive, spread, adaptive.start.radius, Allowance.of(adaptive.whole))
    if adaptive.begins_with_radius:
        path = path.after_radius_alone()
    if adaptive.rounds is None:
        for effort in adaptive.efforts():
            path = path.as_long_as_it_pays(effort)
    else:
        for _ in range(adaptive.rounds):
            path = path.after_round(adaptive.weights)
    plan = adaptive.last_query(path.body, path.allowance.rest).plan()
    return replace(plan, guarantee=adaptive.query.guarantee, rounds=path.made, note=_note(adaptive, path.radius))


@dataclass(frozen=True)
class _Path:
    """The radius that rounds will have led to, what they left of the guarantee, and how many there were."""

    adaptive: Adaptive
    spread: float
    radius: float
    allowance: Allowance
    made: int = 0

    @property
    def body(self) -> Body:
        """Around the given centre: where it is changes no prediction."""
        start = self.adaptive.start
        return start.around(start.ball.center, self.radius, start.axes)

    def as_long_as_it_pays(self, effort: Effort) -> _Path:
        """After the rounds of this effort."""
        path = self
        while self.adaptive.may_go_on(path.body, path.allowance, effort, path.made):
            before, path = path, path.after_round(effort)
            if not self.adaptive.gains_enough(before.radius, path.radius):
                break
        return path

    def after_radius_alone(self) -> _Path:
        """Around the given centre: how far the records are from there nobody knows, so none is foreseen to gain."""
        if self.adaptive.look:
            return self._after(self.adaptive.look)
        return replace(self._after(self.adaptive.weights.radius), made=1)

    def after_round(self, effort: Effort) -> _Path:
        """After one more: a centre, perhaps a look, and a radius unless the look says that none is worth its price."""
        adaptive, found = self.adaptive, self._foreseen(effort.center)
        path = replace(self, allowance=adaptive.after_center(self.allowance, effort.center), made=self.made + 1)
        if adaptive.look and not self.made:
            path = path._after(adaptive.look)
            if not adaptive.gains_enough(self.radius, found):
                return path
        return replace(path._after(effort.radius), radius=found)

    def _after(self, weight: float) -> _Path:
        """With this part of the guarantee spent."""
        return replace(self, allowance=self.allowance.after(self.allowance.share(weight))) if weight else self

    def _foreseen(self, weight: float) -> float:
        """The radius that a round is expected to find.

        A centre with error e sees records within sqrt(s^2 + e^2 + 2 s e/sqrt(d)), the last term for the direction of e
        among d. Shapes are not foreseen.
        """
        adaptive, spread, body = self.adaptive, self.spread, self.body
        if not adaptive.moves_ball:
            return self.radius
        error = adaptive.center_plan(body, self.allowance.share(weight)).expected_error
        along = 2 * spread * error / math.sqrt(body.ball.space.dim)
        needed = looseness(adaptive.favour) * math.sqrt(spread**2 + error**2 + along)
        steps = adaptive.steps(body, self.radius, error)
        step = max([i for i in steps if radius_at(self.radius, i) >= needed], default=steps[0])
        return radius_at(self.radius, max(step, 1))


def _note(adaptive: Adaptive, radius: float) -> str:
    """What a private ball of this radius means for the records."""
    if not adaptive.moves_ball:
        return "the footpoint is a private mean"
    n, law = adaptive.query.n, adaptive.first_radius_law
    depth = STEPS * math.log2(adaptive.start.radius / radius)
    given_up = min(n, law.spare + math.ceil(law.price(round(depth))))
    shape = ", or an ellipsoid with less noise, which is not foreseen" if adaptive.shapes else ""
    ball = f"a private ball of radius about {radius:.3g}{shape}"
    if adaptive.begins_with_radius:
        ball = "a private radius around the given centre, with less noise if the records are nearer than the rim"
    return (
        f"{ball}; up to about {given_up:,} of {n:,} records may be moved onto its rim, which costs more than the noise "
        "if they are outliers on one side"
    )
