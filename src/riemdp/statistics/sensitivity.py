"""How far replacing one record can move a summary, from public numbers only.

The records lie in a public ball of radius r around m0, sectional curvature is at most k_max,
s = sqrt(max(k_max, 0)) and r < 1/2 min(injectivity radius, pi/s). Every bound is evaluated in ball arithmetic
and rounded up.

| summary                            | sensitivity                             | attained, k_max > 0        |
|------------------------------------|-----------------------------------------|----------------------------|
| Fréchet mean                       | 2 tan(rs)/(s n)                         | in the limit of large n    |
| its coordinates in T_m0            | 2 tan(rs)/(s n)                         | in the limit of large n    |
| ... in T_p0, D = rho(p0, m0)       | the same times sinc(rs)/sinc((r + D) s) | no                         |
| grad F at a point of the ball      | S(rs)/(s n)                             | by three points of the rim |
| tangent mean (1/n) sum log_m0(x_i) | 2r/n                                    | yes                        |

sinc y = sin(y)/y. With s = 0 (k_max <= 0) every row is 2r/n. Proofs: docs/proofs/mean_sensitivity.md,
docs/proofs/coordinates_sensitivity.md and docs/proofs/tangent_mean.md.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from riemdp.errors import InputError

if TYPE_CHECKING:
    from flint import arb

SOLVER_SHARE = 1e-3
"""An iterative solver's error as a share of the sensitivity: it costs at most 0.2 % more noise."""


def mean_sensitivity(radius: float, n: int, k_max: float, injectivity_radius: float) -> float:
    """Bound the distance between Fréchet means of neighbouring data: 2 tan(rs)/(s n), 2r/n if k_max <= 0.

    docs/proofs/mean_sensitivity.md, section 5; no smaller constant holds for every n on spheres and shapes.
    """
    r, s, _ = _public_ball(radius, k_max, injectivity_radius)
    return _rounded_up(_twice_tangent(r, s) / _records(n))


def coordinates_sensitivity(
    radius: float, n: int, k_max: float, injectivity_radius: float, footpoint_distance: float = 0.0
) -> float:
    """Bound the distance between log_p0 of neighbouring means: 2 tan(rs)/(s n) sinc(rs)/sinc((r + D) s).

    D = `footpoint_distance` is rho(p0, m0), or more. At p0 = m0 coordinates cost nothing: the bound is that
    of the mean itself (docs/proofs/coordinates_sensitivity.md).
    """
    r, s, horizon = _public_ball(radius, k_max, injectivity_radius)
    stretch = (r * s).sinc() / (_farthest(r, horizon, footpoint_distance) * s).sinc()
    return _rounded_up(_twice_tangent(r, s) * stretch / _records(n))


def coordinates_lipschitz(
    radius: float, k_max: float, injectivity_radius: float, footpoint_distance: float = 0.0
) -> float:
    """Lipschitz constant 1/sinc((r + D) s) of log_p0 on the ball: how a solver's error grows in coordinates.

    It is 1 for k_max <= 0 (docs/proofs/coordinates_sensitivity.md, section 4).
    """
    r, s, horizon = _public_ball(radius, k_max, injectivity_radius)
    return _rounded_up(1 / (_farthest(r, horizon, footpoint_distance) * s).sinc())


def tangent_mean_sensitivity(radius: float, n: int) -> float:
    """Bound the change of (1/n) sum log_m0(x_i): 2r/n in any curvature (docs/proofs/tangent_mean.md)."""
    return _rounded_up(2 * _exact(_number("positive", "radius", radius)) / _records(n))


def kng_sensitivity(radius: float, n: int, k_max: float, injectivity_radius: float) -> float:
    """Bound the change of grad F at a point of the ball: S(rs)/(s n), and 2r/n if k_max <= 0.

    S(r) = 2 max_q q sqrt(1 - tan(q/2)^2/tan(r)^2) is the longest chord of the ball's image under log_y, y on
    the rim. Any q gives an upper bound on S(r), so the q found in floats decides how tight the result is,
    never whether it is true (docs/proofs/mean_sensitivity.md, section 6).
    """
    r, s, _ = _public_ball(radius, k_max, injectivity_radius)
    chord = 2 * r if s == 0 else _chord_bound(r * s, _exact(_chord_distance(float(r * s)))) / s
    return _rounded_up(chord / _records(n))


def mean_sensitivity_as_printed(radius: float, n: int, k_max: float) -> float:
    """Evaluate the published bound on the mean, 2r(2 - h)/(n h) with h = a cot a, a = 2rs.

    Reimherr, Bharath and Soto (2021), Theorem 2; for comparison only. It needs r < pi/(4s), grows
    without limit there, and is never below the sharp bound.
    """
    r, s, horizon = _public_ball(radius, k_max, math.inf)
    if not 4 * r < horizon:
        raise InputError(f"radius={radius!r} must be below {float(horizon) / 4:.6g} for the printed bound.")
    h = (2 * r * s).cos() / (2 * r * s).sinc()
    return _rounded_up(2 * r * (2 - h) / (h * _records(n)))


def solver_tolerance(sensitivity: float) -> float:
    """Return the error to ask of an iterative solver, 1e-3 sensitivity."""
    return SOLVER_SHARE * _number("positive", "sensitivity", sensitivity)


def with_solver_error(sensitivity: float, solver_error: float, lipschitz: float = 1.0) -> float:
    """Sensitivity of a computed summary: sensitivity + 2 lipschitz solver_error.

    For a mean's coordinates, `lipschitz` is `coordinates_lipschitz` (docs/proofs/certificate.md, section 6).
    """
    error = _exact(_number("non-negative", "solver_error", solver_error))
    stretch = _number("positive", "lipschitz", lipschitz)
    return _rounded_up(_number("positive", "sensitivity", sensitivity) + 2 * stretch * error)


def _twice_tangent(r: arb, s: arb) -> arb:
    """2 tan(rs)/s, written so that s = 0 gives 2r."""
    return 2 * r * (r * s).sinc() / (r * s).cos()


def _chord_bound(r: arb, q: arb) -> arb:
    """Upper bound on S(r) from any q in (0, pi): the diameter of a ball that holds the log image."""
    weight = 2 * q * (q / 2).cos() ** 2 / (q + q.sin())
    return 2 * ((weight * r.tan()) ** 2 + q**2 - 2 * weight * q * (q / 2).tan()).sqrt()


def _chord_distance(r: float) -> float:
    """The best q: tan(q/2) (q + sin q) = 2 cos(q/2)^2 tan(r)^2, by bisection of [r, 2r]."""
    low, high = r, 2 * r
    for _ in range(60):
        q = (low + high) / 2
        too_small = math.tan(q / 2) * (q + math.sin(q)) < 2 * (math.cos(q / 2) * math.tan(r)) ** 2
        low, high = (q, high) if too_small else (low, q)
    return low


def _public_ball(radius: float, k_max: float, injectivity_radius: float) -> tuple[arb, arb, arb]:
    """r, s and the horizon min(injectivity radius, pi/s), once 2r is certainly below it."""
    r = _exact(_number("positive", "radius", radius))
    s = _exact(max(_number("finite", "k_max", k_max), 0.0)).sqrt()
    horizon = _exact(_number("positive or infinite", "injectivity_radius", injectivity_radius))
    if s > 0:
        horizon = horizon.min(s.pi() / s)
    if not 2 * r < horizon:
        raise InputError(
            f"radius={radius!r} must be below {float(horizon) / 2:.6g}, half the smaller of the injectivity"
            " radius and pi/sqrt(k_max), so that the mean is unique; use a smaller ball."
        )
    return r, s, horizon


def _farthest(r: arb, horizon: arb, footpoint_distance: float) -> arb:
    """r + D, the farthest a point of the ball is from the footpoint, once certainly below the horizon."""
    farthest = r + _number("non-negative", "footpoint_distance", footpoint_distance)
    if not farthest < horizon:
        raise InputError(
            f"footpoint_distance={footpoint_distance!r} must be below {float(horizon - r):.6g} so that log is"
            " defined on the whole ball; use a footpoint nearer to the ball's centre."
        )
    return farthest


_KINDS: dict[str, Callable[[float], bool]] = {
    "finite": math.isfinite,
    "positive": lambda value: 0 < value < math.inf,
    "non-negative": lambda value: 0 <= value < math.inf,
    "positive or infinite": lambda value: value > 0,
}


def _number(kind: str, name: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not _KINDS[kind](number):
        raise InputError(f"{name}={value!r} must be a {kind} real number.")
    return number


def _records(n: int) -> int:
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if count < 1:
        raise InputError(f"n={n!r} must be the number of records, an integer of at least 1.")
    return count


def _exact(value: float) -> arb:
    """The float as an exact ball; flint is imported here, late, to keep `import riemdp` quick."""
    from flint import arb

    return arb(value)


def _rounded_up(value: arb) -> float:
    """A float that is certainly not below the value, and the nearest such up to the ball's width."""
    number = float(value.upper())
    if not math.isfinite(number):
        raise InputError("radius gives a sensitivity beyond the range of floats; use a smaller ball.")
    return number if _exact(number) >= value else math.nextafter(number, math.inf)
