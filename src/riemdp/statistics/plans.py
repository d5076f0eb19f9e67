"""What each mechanism would do for a guarantee, from public inputs alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from riemdp.errors import MechanismError
from riemdp.mechanisms import MECHANISMS, Mechanism, by_name
from riemdp.privacy.bounded import Ball
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.release import Plan


@dataclass(frozen=True)
class Request:
    """What is asked for, without the data; `sensitivity` is that of the value which a mechanism takes."""

    ball: Ball
    n: int
    guarantee: Guarantee
    calibration: str
    sensitivity: Callable[[Mechanism], float]

    def plan_one(self, mechanism: Mechanism) -> Plan:
        """Scale and predicted error of one mechanism; a MechanismError if it cannot give the guarantee."""
        sensitivity = self.sensitivity(mechanism)
        scale = mechanism.calibrate(self.guarantee, sensitivity, self.calibration)
        mechanism.check(self.ball, self.n, sensitivity, scale)
        error = mechanism.expected_error(scale, self.ball)
        return Plan(mechanism.name, self.guarantee, sensitivity, scale, error)

    def plan_all(self) -> list[Plan]:
        """The plans of all mechanisms that can give the guarantee, baselines left out, best first."""
        plans, refusal = [], MechanismError("")
        for mechanism in MECHANISMS.values():
            try:
                if not mechanism.is_baseline:
                    plans.append(self.plan_one(mechanism))
            except MechanismError as error:
                refusal = refusal if refusal.args[0] else error
        if not plans:
            raise refusal
        return sorted(plans, key=lambda plan: plan.expected_error)

    def choose(self, name: str) -> Plan:
        """The plan of the named mechanism; 'auto': the best of those that suppose nothing more than the others."""
        if name != "auto":
            return self.plan_one(by_name(name))
        return next(plan for plan in self.plan_all() if not by_name(plan.mechanism).assumptions)
