"""What each mechanism would do for a guarantee, from public inputs alone."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from riemdp.errors import InputError, MechanismError
from riemdp.manifolds import Space
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.mechanisms import MECHANISMS, Mechanism, by_name
from riemdp.privacy.release import Plan


def plan_one(mechanism: Mechanism, space: Space, guarantee: Guarantee, sensitivity: float, method: str) -> Plan:
    """Scale and predicted error of one mechanism; a MechanismError if it cannot give the guarantee."""
    scale = mechanism.calibrate(guarantee, sensitivity, method)
    return Plan(mechanism.name, guarantee, sensitivity, scale, expected_error(mechanism, scale, space))


def plan_all(
    name: str, space: Space, guarantee: Guarantee, sensitivity: float, method: str = "analytic"
) -> list[Plan]:
    """The plans of all mechanisms that can give the guarantee (or of the named one), best first."""
    if not isinstance(guarantee, Guarantee):
        raise InputError(f"guarantee = {guarantee!r}: pass for example PureDP(1.0) or GDP(0.5).")
    if name != "auto":
        return [plan_one(by_name(name), space, guarantee, sensitivity, method)]
    plans = []
    for mechanism in MECHANISMS.values():
        try:
            plans.append(plan_one(mechanism, space, guarantee, sensitivity, method))
        except MechanismError:
            continue
    if not plans:
        raise MechanismError(f"No mechanism gives {guarantee!r} with calibration = {method!r}: use 'analytic'.")
    return sorted(plans, key=lambda plan: plan.expected_error)


@lru_cache(maxsize=256)
def expected_error(mechanism: Mechanism, scale: float, space: Space) -> float:
    """Root mean square distance of exp_p(noise) to p, from public inputs only.

    Noise that stays within the injectivity radius keeps its length, rho(exp_p(v), p) = |v|: then it is exact.
    Otherwise geodesics come back, and it is simulated with a fixed seed.
    """
    if scale * mechanism.longest(space.dim) < space.injectivity_radius:
        return scale * math.sqrt(mechanism.mean_square(space.dim))
    size = max(256, min(4096, 2**20 // space.dim))
    noise = scale * mechanism.simulate(np.random.default_rng(0), size, space.dim)
    origin = space._read(space.origin, "origin")
    return float(np.sqrt(np.mean(space._dist(origin, space._exp(noise, origin)) ** 2)))
