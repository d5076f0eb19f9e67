"""What each mechanism would do for a guarantee, from public inputs alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.errors import MechanismError
from riemdp.mechanisms import MECHANISMS, Mechanism, by_name
from riemdp.privacy.bounded import Ball
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
        with np.errstate(all="ignore"):
            sensitivity = self.sensitivity(mechanism)
            scale = mechanism.calibrate(self.guarantee, sensitivity, self.calibration)
            mechanism.check(self.ball, self.n, sensitivity, scale)
            error = mechanism.expected_error(scale, self.ball)
        if not 0 < error < math.inf:
            raise MechanismError(
                f"scale = {scale:.4g}: the error of {mechanism.name} would be beyond float64: use other units."
            )
        return Plan(mechanism.name, self.guarantee, sensitivity, scale, error)

    def plan_all(self) -> list[Plan]:
        """The plans of all mechanisms that can give the guarantee, baselines left out, best first."""
        return self._best([mechanism for mechanism in MECHANISMS.values() if not mechanism.is_baseline])

    def choose(self, name: str) -> Plan:
        """The plan of the named mechanism; 'auto': the best of those that suppose nothing more than the others."""
        if name != "auto":
            return self.plan_one(by_name(name))
        return self._best([m for m in MECHANISMS.values() if not (m.is_baseline or m.assumptions)])[0]

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
