"""What is asked, as one object of public options; what each mechanism would do about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.accounting.unit import RECORD
from riemdp.balls import Ball
from riemdp.caching import cached_property
from riemdp.errors import InputError, MechanismError
from riemdp.io.values import Kind
from riemdp.manifolds.base import Array
from riemdp.mechanisms import MECHANISMS, Mechanism, by_name
from riemdp.releases.plan import Plan
from riemdp.statistics.adaptation import Adaptation, adaptation
from riemdp.statistics.base import ReleaseLaw, Statistic
from riemdp.statistics.catalogue import STATISTICS, form_of, require_known, statistic_for, statistic_names

MOST_RECORDS = 2**53  # which floats count exactly


@dataclass(frozen=True, eq=False)
class Query:
    """What is asked about n records of a ball: public options alone, of which all that is wrong is refused here.

    A `statistic` is asked for by its name, or given itself if it has options of its own.
    """

    ball: Ball
    n: int
    guarantee: Guarantee
    mechanism: str = "auto"
    calibration: str = "analytic"
    footpoint: Any = None
    statistic: str | Statistic = "frechet-mean"
    adapt: bool | Adaptation = False
    unit: str = RECORD  # what n counts, and the guarantee protects
    can_gather: bool = True  # whether all records may be held in memory at once
    can_fill: bool = True  # whether their squares are at hand, which tell how full the ball is

    def __post_init__(self) -> None:
        require_known("mechanism", self.mechanism, ["auto", *MECHANISMS])
        adaptation(self.adapt)
        if not isinstance(self.ball, Ball):
            raise InputError(f"ball = {self.ball!r}: pass a Ball with a public centre and radius.")
        if not isinstance(self.guarantee, Guarantee):
            raise InputError(f"guarantee = {self.guarantee!r}: pass for example PureDP(1.0) or GDP(0.5).")
        if self.n > MOST_RECORDS:
            raise InputError(f"n is larger than {MOST_RECORDS:,}: pass the number of records.")
        require_known("calibration", self.calibration, ["analytic", "classical"])
        if not isinstance(self.statistic, Statistic):
            require_known("statistic", self.statistic, statistic_names())
        self.foot  # noqa: B018 refuses one that is too far

    @cached_property
    def foot(self) -> Array:
        """Coordinates of the footpoint at the ball's centre."""
        return self.ball.footpoint_coords(self.footpoint)

    @property
    def statistic_name(self) -> str:
        """The name that a release will have: the one that was asked for."""
        return self.statistic.name if isinstance(self.statistic, Statistic) else self.statistic

    @property
    def kind(self) -> Kind:
        """What the released value is, whichever mechanism makes it."""
        if isinstance(self.statistic, Statistic):
            return self.statistic.kind
        return next(one.kind for (_, name), one in STATISTICS.items() if name == self.statistic)

    @property
    def suppositions(self) -> tuple[str, ...]:
        """What the mechanisms that may be taken, and the statistics in the form that they take, suppose."""
        meant = [mechanism for mechanism in MECHANISMS.values() if self._is_meant(mechanism)]
        forms = [form for m in meant if (form := form_of(self.statistic, m)) is not None]
        texts = [*(m.assumptions for m in meant), *(form.supposes(self.ball.space) for form in forms)]
        return tuple(dict.fromkeys(text for some in texts for text in some))

    def plan_one(self, mechanism: Mechanism) -> Plan:
        """Scale and predicted error of one mechanism; a MechanismError if it cannot give the guarantee."""
        with np.errstate(all="ignore"):
            statistic = self._statistic(mechanism)
            sensitivity = statistic.sensitivity(self.ball, self.n, self.foot)
            scale = mechanism.calibrate(self.guarantee, sensitivity, self.calibration)
            for room in statistic.rooms(self.ball):
                mechanism.check(room, self.n, sensitivity, scale)
            error = statistic.expected_error(mechanism, scale, self.ball)
        if not 0 < error < math.inf:
            raise MechanismError(
                f"scale = {scale:.4g}: the error of {mechanism.name} would be beyond float64: use other units."
            )
        return Plan(mechanism.name, self.guarantee, sensitivity, scale, error)

    def _statistic(self, mechanism: Mechanism) -> Statistic:
        """In the form that the mechanism takes, with the weights that belong to its noise."""
        statistic = statistic_for(mechanism, self.statistic, self.foot)
        return statistic if self.can_fill else statistic.without_fill()

    def plan_all(self) -> list[Plan]:
        """The plans of all mechanisms that can give the guarantee, baselines left out, best first."""
        return self._best([mechanism for mechanism in MECHANISMS.values() if not mechanism.is_baseline])

    def plan(self) -> Plan:
        """The mechanism that was named, or the best one; 'auto': of those that suppose nothing more than the others."""
        best = self._best([m for m in MECHANISMS.values() if self._is_meant(m)])[0]
        if not self.can_gather and by_name(best.mechanism).input == "gradient":
            raise MechanismError(
                f"mechanism = {self.mechanism!r} needs all records in memory at once: pass a NumPy array instead of a "
                "Dask array, or use mechanism='auto'."
            )
        return best

    def _is_meant(self, mechanism: Mechanism) -> bool:
        if self.mechanism != "auto":
            return mechanism.name == self.mechanism
        return not (mechanism.is_baseline or mechanism.assumptions)

    def _best(self, mechanisms: list[Mechanism]) -> list[Plan]:
        """The plans of those that can, best first; if none can, the first one's reason."""
        plans, refusals = list[Plan](), list[MechanismError]()
        for mechanism in mechanisms:
            try:
                plans.append(self.plan_one(mechanism))
            except MechanismError as error:
                refusals.append(error)
        if not plans:
            raise refusals[0]
        return sorted(plans, key=lambda plan: plan.expected_error)

    def law(self, plan: Plan) -> ReleaseLaw:
        """What the plan's mechanism publishes, at the plan's scale."""
        mechanism = by_name(plan.mechanism)
        statistic = self._statistic(mechanism).with_scale(plan.scale)
        return ReleaseLaw(statistic, mechanism, plan.scale, self.ball, self.n, self.foot)
