"""The Fréchet mean and the tangent mean as coordinates: their values beside their sensitivities.

Both are computed around the origin of the space, to which an isometry takes the ball's centre.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.balls import Ball, mean_rounding
from riemdp.errors import MechanismError, RiemdpError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.base import ROWS, Array, Space
from riemdp.manifolds.capabilities import ClosedFormMean, FrechetModel
from riemdp.manifolds.scalars import t_cot, t_coth
from riemdp.mechanisms import Mechanism
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import Statistic, linear_sensitivity, refuse_footpoint
from riemdp.statistics.fill import WithFill
from riemdp.statistics.frechet import Records, error_bound, solve
from riemdp.statistics.refusals import too_coarse
from riemdp.statistics.sensitivity import (
    coordinates_lipschitz,
    coordinates_sensitivity,
    solver_tolerance,
    with_solver_error,
)

# Past this share of the sensitivity, float64 is too coarse for the ball.
LARGEST_SOLVER_SHARE = 0.05
# Up to this share of the largest radius for which means are unique, every mean can be computed: docs/proofs/bounded.md.
LARGEST_BALL = 0.9
# Steps of the descent are made for a ball larger by this factor, since rounding errors may lead out of the ball.
WIDER = 1.001
# After STEPS/rate steps that contract by this rate only rounding errors are left, SHARE_LEFT times those of one step
# over the rate.
STEPS, SHARE_LEFT = 180, 1.05
GUESS = 1e-6  # share of the radius to which the mean of a sample is worth finding
NEAR = 0.95  # within this share of it, a critical point can only be the mean
# How a solver may fail: float64 may hold neither what it looks for nor where it got lost.
LOST = (RiemdpError, ArithmeticError, ValueError)


@dataclass(frozen=True)
class TangentMean(Statistic):
    """(1/n) sum log_m0(x_i): one pass, sensitivity 2r/n in any curvature (docs/proofs/tangent_mean.md)."""

    name: ClassVar[str] = "tangent-mean"

    def with_noise(self, mechanism: Mechanism) -> Statistic:
        """Beside it, how full the ball is."""
        return WithFill(self, mechanism)

    def supposes(self, space: Space) -> tuple[str, ...]:  # noqa: ARG002
        """Nothing: it is linear."""
        return ()

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """2r/n, plus twice the rounding of the quotient; the sum is exact."""
        refuse_footpoint(footpoint, "tangent mean")
        return linear_sensitivity(ball, n)

    def tolerance(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """The rounding of the quotient."""
        return mean_rounding(ball.radius)

    def value(self, records: Bounded, footpoint: Array) -> Array:  # noqa: ARG002
        """The mean of the coordinates at the centre: vectors of the ball as they are."""
        return records.coordinate_mean().point


@dataclass(frozen=True)
class IntrinsicMean(Statistic):
    """log_p0 of the Fréchet mean, computed to within a public tolerance (docs/proofs/coordinates_sensitivity.md).

    In a flat space it is the tangent mean, which is one exact pass.
    """

    name: ClassVar[str] = "frechet-mean"

    def with_noise(self, mechanism: Mechanism) -> Statistic:
        """Beside it, how full the ball is."""
        return WithFill(self, mechanism)

    def supposes(self, space: Space) -> tuple[str, ...]:
        """Nothing where it is the tangent mean."""
        return () if space.is_flat else super().supposes(space)

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """Sensitivity of the exact coordinates, plus twice the solver's error in coordinates."""
        if ball.space.is_flat:
            return TangentMean().sensitivity(ball, n, footpoint)
        return _sensitivity_and_error(ball, n, footpoint)[0]

    def tolerance(self, ball: Ball, n: int, footpoint: Array) -> float:
        """Half of what it adds to the sensitivity of exact coordinates."""
        space, distance = ball.space, float(np.linalg.norm(footpoint))
        if space.is_flat:
            return TangentMean().tolerance(ball, n, footpoint)
        exact = coordinates_sensitivity(ball.radius, n, space.curvature_bounds[1], space.injectivity_radius, distance)
        return (self.sensitivity(ball, n, footpoint) - exact) / 2

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """The coordinates, within the tolerance that the sensitivity counts on."""
        if records.space.is_flat:
            return TangentMean().value(records, footpoint)
        _, tolerance = _sensitivity_and_error(records.ball, records.n, footpoint)
        with np.errstate(all="ignore"):
            return _coordinates(records, footpoint, tolerance / 2)


@dataclass(frozen=True)
class MeanPoint(Statistic):
    """The Fréchet mean as a point around the origin, in a flat space its coordinates (proofs/riemannian_laplace.md)."""

    name: ClassVar[str] = "frechet-mean"
    input: ClassVar[str] = "point"

    def supposes(self, space: Space) -> tuple[str, ...]:
        """Nothing where it is the tangent mean."""
        return () if space.is_flat else super().supposes(space)

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """As a distance: the bound on the coordinates at the centre is one on the mean itself."""
        if ball.space.is_flat:
            return TangentMean().sensitivity(ball, n, footpoint)
        return _point_sensitivity_and_error(ball, n)[0]

    def tolerance(self, ball: Ball, n: int, footpoint: Array) -> float:
        """How far the solver's mean may be from the exact one."""
        if ball.space.is_flat:
            return TangentMean().tolerance(ball, n, footpoint)
        return _point_sensitivity_and_error(ball, n)[1]

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """The point, within the tolerance that the sensitivity counts on."""
        if records.space.is_flat:
            return TangentMean().value(records, footpoint)
        return mean_point(records)


def _sensitivity_and_error(ball: Ball, n: int, footpoint: Array, point_rounding: float = 0.0) -> tuple[float, float]:
    """(sensitivity, tolerance): half of the tolerance is the solver's, half rounding of what it is turned into.

    Records count as inside a ball larger by the rounding of their own representation. All is public: that
    the tolerance is kept for every data set in the ball is decided before any is looked at.
    """
    space, distance = ball.space, float(np.linalg.norm(footpoint))
    _require_one_sign(space)
    limit = _rounding_limit(space, max(ball.radius, distance), n) + point_rounding
    if ball.radius > LARGEST_BALL * space.uniqueness_radius or not limit < ball.radius:
        raise _refusal(ball, n)
    geometry = (space.curvature_bounds[1], space.injectivity_radius)
    exact = coordinates_sensitivity(ball.radius + limit, n, *geometry, distance + limit)
    tolerance = max(solver_tolerance(exact), 4 * limit, 2 * _descent_error(space, ball.radius, limit))
    if tolerance > LARGEST_SOLVER_SHARE * exact:
        raise _refusal(ball, n)
    lipschitz = coordinates_lipschitz(ball.radius + limit + tolerance, *geometry, distance + limit)
    return with_solver_error(exact, tolerance, lipschitz), tolerance


def _require_one_sign(space: Space) -> None:
    """Raise a MechanismError if it, or a factor, curves both ways: there no descent is proved to end at the mean."""
    for factor in space.factors:
        _require_one_sign(factor)
    low, high = space.curvature_bounds
    if not space.factors and low < 0 < high:
        raise MechanismError(f"{space!r} has curvature of both signs: pass statistic='tangent-mean'.")


def require_mean_point(ball: Ball, n: int) -> None:
    """Raise a MechanismError unless float64 can compute the mean of all n records in the ball as a point."""
    _point_sensitivity_and_error(ball, n)


def mean_point(records: Bounded) -> Array:
    """The Fréchet mean as a point around the origin, in a flat space too."""
    with np.errstate(all="ignore"):
        return _point(records, _point_sensitivity_and_error(records.ball, records.n)[1] / 2)


def _point_sensitivity_and_error(ball: Ball, n: int) -> tuple[float, float]:
    return _sensitivity_and_error(ball, n, np.zeros(ball.space.dim), _point_rounding(ball.space, ball.radius))


def _point_rounding(space: Space, radius: float) -> float:
    """How far exp, and log again, may move the means of flat factors; other means are found as points."""
    if space.factors:
        return math.hypot(*(_point_rounding(factor, radius) for factor in space.factors))
    return space.capability(ClosedFormMean).point_rounding(radius) if space.is_flat else 0.0


def _rounding_limit(space: Space, radius: float, n: int) -> float:
    """What float64 may do to points, gradients and coordinates in a ball of this radius; the last term: if flat.

    Gradients are sums over blocks, which are merged: no more roundings than in a block, whatever n.
    """
    with np.errstate(over="ignore"):
        return _curved_limit(space, radius, min(n, ROWS)) + 128 * UNIT_ROUNDOFF * radius


def _curved_limit(space: Space, radius: float, n: int) -> float:
    """How wrong the gradients of curved factors may be, which a product puts together."""
    if space.is_flat:
        return 0.0
    if space.factors:
        return math.sqrt(len(space.factors)) * max(_curved_limit(factor, radius, n) for factor in space.factors)
    return float(space.capability(FrechetModel).rounding_limit(radius, n))


def _refusal(ball: Ball, n: int) -> MechanismError:
    return too_coarse(ball, n, lambda radius: _is_offered(ball.space, radius, n))


def _is_offered(space: Space, radius: float, n: int) -> bool:
    """Whether every mechanism takes means in balls of that radius, with the footpoint at the centre."""
    with suppress(RiemdpError):
        ball, foot = Ball(space, space.origin, radius), np.zeros(space.dim)
        return all(statistic.sensitivity(ball, n, foot) > 0 for statistic in (IntrinsicMean(), MeanPoint()))
    return False


def _coordinates(records: Bounded, footpoint: Array, tol: float) -> Array:
    """log_p0 of the mean to within tol, factor by factor of a product; flat ones need no exp and log."""
    space = records.space
    if space.factors:
        parts = zip(records.factors(), space.split_coords(footpoint), strict=True)
        return np.concatenate([_coordinates(*part, tol / math.sqrt(len(space.factors))) for part in parts])
    if space.is_flat:
        return np.asarray(records.coordinate_mean().point - footpoint)
    return space.log_coords(_mean(records, tol), records.ball.at_origin(footpoint))


def _point(records: Bounded, tol: float) -> Array:
    """The mean to within tol, around the origin, factor by factor of a product."""
    space = records.space
    if space.factors:
        return space.assemble([_point(part, tol / math.sqrt(len(space.factors))) for part in records.factors()])
    return records.closed_form().point if space.is_flat else _mean(records, tol)


def _mean(records: Bounded, tol: float) -> Array:
    """The mean to within tol: by Newton's method or, when that gets lost, by a descent that cannot."""
    with suppress(*LOST):
        x = solve(records, tol, max_iter=50, start=_first_guess(records)).point
        if _from_origin(records, x) < NEAR * records.space.uniqueness_radius:
            return x
    return _descend(records, tol)


def _first_guess(records: Bounded) -> Array | None:
    """The mean of a sample, if there is one."""
    points = records.sample()
    if points is None:
        return None
    with suppress(*LOST):
        return solve(Records(points, records.space), GUESS * records.ball.radius, max_iter=20).point
    return None


def _from_origin(records: Bounded, x: Array) -> float:
    return float(records.space.distance(records.ball.at_origin(np.zeros(records.space.dim)), x))


# --- a value for every data set (docs/proofs/bounded.md, section 4) -----------------------------------------------


def _descend(records: Bounded, tol: float) -> Array:
    """Gradient steps from the tangent mean, short enough to stay in the ball and to converge for all data.

    They end as soon as the certificate proves the tolerance, or else after a public number of them, when the bounds on
    rounding errors alone prove it. Should these be false, what is returned is a point near the ball all the same.
    """
    space, radius = records.space, records.ball.radius
    x, step = records.start(), _safe_step(space, radius)
    with suppress(*LOST):
        for _ in range(_passes(space, radius)):
            model = records.model(x)
            if error_bound(model) <= tol:
                break
            ahead = space.exp_coords(step * model.descent, x)
            if not _from_origin(records, ahead) <= 2 * radius:
                break
            x = ahead
    return x


def _safe_step(space: Space, radius: float) -> float:
    """r s cot(r s), s² = k_max, in positive curvature; 1/(2 r c coth(2 r c)), c² = -k_min, in negative."""
    (positive, negative), r = _roots_of_curvature(space), WIDER * radius
    return float(t_cot(np.asarray(r * positive)) / t_coth(np.asarray(2 * r * negative)))


def _roots_of_curvature(space: Space) -> tuple[float, float]:
    """(s, c): s² = max(k_max, 0) and c² = max(-k_min, 0)."""
    k_min, k_max = space.curvature_bounds
    return math.sqrt(max(k_max, 0.0)), math.sqrt(max(-k_min, 0.0))


def _rate(space: Space, radius: float) -> float:
    """The share of its distance to the mean that a point next to it loses at least in one step."""
    step = _safe_step(space, radius)
    return 0.9 * step**2 / (1 + 0.9 * step) if space.curvature_bounds[1] > 0 else step / (1 + step)


def _passes(space: Space, radius: float) -> int:
    """How many steps lead next to the mean, and from there as near as rounding errors allow."""
    angle = WIDER * radius * _roots_of_curvature(space)[0]
    far = 32 * math.tan(angle) ** 5 / angle if angle > 0 else 0.0
    return math.ceil(far + STEPS / _rate(space, radius))


def _descent_error(space: Space, radius: float, limit: float) -> float:
    """How far from the mean the last of these steps may end, if gradients are wrong by `limit` at most."""
    if space.factors:
        share = math.sqrt(len(space.factors))
        return share * max(_descent_error(factor, radius, limit / share) for factor in space.factors)
    if space.is_flat:
        return 0.0
    wrong = _safe_step(space, radius) * limit + space.capability(FrechetModel).step_limit(radius)
    return SHARE_LEFT * wrong / _rate(space, radius) if _is_steady(space, radius, wrong) else math.inf


def _is_steady(space: Space, radius: float, wrong: float) -> bool:
    """Whether steps that are so wrong lead next to the mean all the same."""
    positive, negative = _roots_of_curvature(space)
    if 0 < radius * positive <= 0.1:
        return wrong <= 0.05 * _rate(space, radius) * radius
    if positive > 0:
        return _passes(space, radius) * wrong <= (WIDER - 1) / 2 * radius
    unit = min(radius, 1 / negative) if negative > 0 else radius
    return bool(64 * wrong <= _safe_step(space, radius) ** 1.5 * unit)
