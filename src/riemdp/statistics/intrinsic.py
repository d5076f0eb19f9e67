"""The Fréchet mean and the tangent mean as coordinates: their values beside their sensitivities.

Both are computed around the origin of the space, to which an isometry takes the ball's centre.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.errors import ConvergenceError, InputError, MechanismError, RiemdpError
from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.manifolds.base import ROWS, Array, Space
from riemdp.manifolds.product import Product
from riemdp.manifolds.scalars import t_cot, t_coth
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.statistics.frechet import Records, error_bound, solve
from riemdp.statistics.sensitivity import (
    coordinates_lipschitz,
    coordinates_sensitivity,
    solver_tolerance,
    tangent_mean_sensitivity,
    with_solver_error,
)

# Past this share of the sensitivity, float64 is too coarse for the ball.
LARGEST_SOLVER_SHARE = 0.05
# Up to this share of the largest radius for which means are unique, every mean can be computed and certified
# (docs/proofs/bounded.md): the certificate's Hessian bound is at least CONVEXITY there, and DESCENTS passes do.
LARGEST_BALL, CONVEXITY, DESCENTS = 0.9, 0.2, 200_000
GUESS = 1e-6  # share of the radius to which the mean of a sample is worth finding
NEAR = 0.95  # within this share of it, a critical point can only be the mean


@dataclass(frozen=True)
class TangentMean:
    """(1/n) sum log_m0(x_i): one pass, sensitivity 2r/n in any curvature (docs/proofs/tangent_mean.md)."""

    name: ClassVar[str] = "tangent-mean"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """2r/n, plus twice the rounding of the quotient; the sum is exact."""
        if footpoint.any():
            raise InputError("footpoint must be left out for the tangent mean: it lives at the ball's centre.")
        exact = tangent_mean_sensitivity(ball.radius, n)
        return with_solver_error(exact, 2 * UNIT_ROUNDOFF * ball.radius)

    def value(self, records: Bounded, footpoint: Array) -> Array:  # noqa: ARG002
        """The mean of the coordinates at the centre."""
        return records.coordinate_mean().point


@dataclass(frozen=True)
class IntrinsicMean:
    """log_p0 of the Fréchet mean, computed to within a public tolerance (docs/proofs/coordinates_sensitivity.md).

    In a flat space it is the tangent mean, which is one exact pass.
    """

    name: ClassVar[str] = "frechet-mean"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """Sensitivity of the exact coordinates, plus twice the solver's error in coordinates."""
        if ball.space.is_flat:
            return TangentMean().sensitivity(ball, n, footpoint)
        return _budget(ball, n, footpoint)[0]

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """The coordinates, within the tolerance that the sensitivity counts on."""
        if records.space.is_flat:
            return TangentMean().value(records, footpoint)
        _, tolerance = _budget(records.ball, records.n, footpoint)
        return _coordinates(records, footpoint, tolerance / 2)


@dataclass(frozen=True)
class MeanPoint:
    """The Fréchet mean as a point around the origin, in a flat space its coordinates (proofs/riemannian_laplace.md)."""

    name: ClassVar[str] = "frechet-mean"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """As a distance: the bound on the coordinates at the centre is one on the mean itself."""
        if ball.space.is_flat:
            return TangentMean().sensitivity(ball, n, footpoint)
        return _point_budget(ball, n)[0]

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """The point, within the tolerance that the sensitivity counts on."""
        if records.space.is_flat:
            return TangentMean().value(records, footpoint)
        return mean_point(records)


def _budget(ball: Ball, n: int, footpoint: Array, point_rounding: float = 0.0) -> tuple[float, float]:
    """(sensitivity, tolerance): half of the tolerance is the solver's, half rounding of what it is turned into.

    Records count as inside a ball larger by the rounding of their own representation. All is public: that
    the tolerance can be reached for every data set in the ball is decided before any is looked at.
    """
    space, distance = ball.space, float(np.linalg.norm(footpoint))
    limit = _rounding_limit(space, max(ball.radius, distance), n) + point_rounding
    if ball.radius > LARGEST_BALL * space.uniqueness_radius or not limit < ball.radius:
        raise _refusal(ball, n)
    geometry = (space.curvature_bounds[1], space.injectivity_radius)
    exact = coordinates_sensitivity(ball.radius + limit, n, *geometry, distance + limit)
    tolerance = max(solver_tolerance(exact), 4 * limit / (1.0 if geometry[0] <= 0 else CONVEXITY))
    if tolerance > LARGEST_SOLVER_SHARE * exact:
        raise _refusal(ball, n)
    lipschitz = coordinates_lipschitz(ball.radius + limit + tolerance, *geometry, distance + limit)
    return with_solver_error(exact, tolerance, lipschitz), tolerance


def require_mean_point(ball: Ball, n: int) -> None:
    """Raise a MechanismError unless float64 can compute the mean of all n records in the ball as a point."""
    _point_budget(ball, n)


def mean_point(records: Bounded) -> Array:
    """The Fréchet mean as a point around the origin, in a flat space too."""
    with np.errstate(all="ignore"):
        return _point(records, _point_budget(records.ball, records.n)[1] / 2)


def _point_budget(ball: Ball, n: int) -> tuple[float, float]:
    return _budget(ball, n, np.zeros(ball.space.dim), ball.space._point_rounding(ball.radius))


def _rounding_limit(space: Space, radius: float, n: int) -> float:
    """What float64 may do to points, gradients and coordinates in a ball of this radius; the last term: if flat.

    Gradients are sums over blocks, which are merged: no more roundings than in a block, whatever n.
    """
    with np.errstate(over="ignore"):
        curved = 0.0 if space.is_flat else float(space._rounding_limit(radius, min(n, ROWS)))
    return curved + 128 * UNIT_ROUNDOFF * radius


def _refusal(ball: Ball, n: int) -> MechanismError:
    return MechanismError(
        f"radius = {ball.radius!r} is too large, or too small, to compute every Fréchet mean of {n} records of "
        f"{ball.space!r} accurately in float64: use another ball, a nearer footpoint or statistic='tangent-mean'."
    )


def _coordinates(records: Bounded, footpoint: Array, tol: float) -> Array:
    """log_p0 of the mean to within tol, factor by factor of a product; flat ones need no exp and log."""
    space = records.space
    if isinstance(space, Product):
        parts = zip(records.factors(), space._split_coords(footpoint), strict=True)
        return np.concatenate([_coordinates(*part, tol / math.sqrt(len(space.factors))) for part in parts])
    if space.is_flat:
        return np.asarray(records.coordinate_mean().point - footpoint)
    return space._log(_mean(records, tol), records.ball.at_origin(footpoint))


def _point(records: Bounded, tol: float) -> Array:
    """The mean to within tol, around the origin, factor by factor of a product."""
    space = records.space
    if isinstance(space, Product):
        return space._assemble([_point(part, tol / math.sqrt(len(space.factors))) for part in records.factors()])
    return records.closed_form().point if space.is_flat else _mean(records, tol)


def _mean(records: Bounded, tol: float) -> Array:
    """The mean to within tol: by Newton's method or, when that gets lost, by a descent that cannot."""
    space, origin = records.space, records.ball.at_origin(np.zeros(records.space.dim))
    with np.errstate(all="ignore"):
        with suppress(RiemdpError, np.linalg.LinAlgError):
            x = solve(records, tol, max_iter=50, start=_first_guess(records)).point
            if space._dist(origin, x) < NEAR * space.uniqueness_radius:
                return x
        return _descend(records, tol)


def _first_guess(records: Bounded) -> Array | None:
    """The mean of a sample, if there is one."""
    points = records.sample()
    if points is None:
        return None
    with suppress(RiemdpError, np.linalg.LinAlgError):
        return solve(Records(points, records.space), GUESS * records.ball.radius, max_iter=20).point
    return None


def _descend(records: Bounded, tol: float) -> Array:
    """Gradient steps from the tangent mean, short enough to stay in the ball and to converge for all data."""
    space = records.space
    x = records.start()
    step = _safe_step(space, records.ball.radius)
    for _ in range(DESCENTS):
        model = records.model(x)
        if error_bound(model) <= tol:
            return x
        x = space._exp(step * model.descent, x)
    raise ConvergenceError("The stated bounds on rounding errors do not hold on this machine: report it.")


def _safe_step(space: Space, radius: float) -> float:
    """r s cot(r s), s² = k_max, in positive curvature; 1/(2 r c coth(2 r c)), c² = -k_min, in negative."""
    k_min, k_max = space.curvature_bounds
    positive, negative = math.sqrt(max(k_max, 0.0)), math.sqrt(max(-k_min, 0.0))
    return float(t_cot(np.asarray(radius * positive)) / t_coth(np.asarray(2 * radius * negative)))
