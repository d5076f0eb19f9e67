"""Private means: the value of each statistic beside its sensitivity.

Both are computed around the origin of the space, to which an isometry takes the ball's centre.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from riemdp.errors import ConvergenceError, InputError, MechanismError, RiemdpError
from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array, Space, whole_number
from riemdp.manifolds.product import Product
from riemdp.manifolds.scalars import t_cot, t_coth
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.mechanisms import MECHANISMS
from riemdp.privacy.release import Plan, Release, carry, release
from riemdp.statistics.frechet import error_bound, solve
from riemdp.statistics.plans import plan_all
from riemdp.statistics.sensitivity import (
    coordinates_lipschitz,
    coordinates_sensitivity,
    solver_tolerance,
    tangent_mean_sensitivity,
    with_solver_error,
)
from riemdp.version import __version__

ROUNDING = "the stated bounds on the rounding errors of the mean's evaluation hold"
# Past this share of the sensitivity, float64 is too coarse for the ball.
LARGEST_SOLVER_SHARE = 0.05
# Up to this share of the largest radius for which means are unique, every mean can be computed and certified
# (docs/proofs/bounded.md): the certificate's Hessian bound is at least CONVEXITY there, and DESCENTS passes do.
LARGEST_BALL, CONVEXITY, DESCENTS = 0.9, 0.2, 200_000
NEAR = 0.95  # within this share of it, a critical point can only be the mean


class Statistic(Protocol):
    """A summary with values in R^d: coordinates at the footpoint."""

    name: ClassVar[str]

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """How far replacing one record moves the computed value, from public inputs."""

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """The private coordinates."""


@dataclass(frozen=True)
class TangentMean:
    """(1/n) sum log_m0(x_i): one pass, sensitivity 2r/n in any curvature (docs/proofs/tangent_mean.md)."""

    name: ClassVar[str] = "tangent-mean"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """2r/n, plus twice the rounding of the sum."""
        if footpoint.any():
            raise InputError("footpoint must be left out for the tangent mean: it lives at the ball's centre.")
        exact = tangent_mean_sensitivity(ball.radius, n)
        return with_solver_error(exact, 64 * UNIT_ROUNDOFF * ball.radius)

    def value(self, records: Bounded, footpoint: Array) -> Array:  # noqa: ARG002
        """The mean of the coordinates at the centre."""
        return records.coordinate_mean().point


@dataclass(frozen=True)
class IntrinsicMean:
    """log_p0 of the Fréchet mean, computed to within a public tolerance (docs/proofs/coordinates_sensitivity.md)."""

    name: ClassVar[str] = "frechet-mean"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """Sensitivity of the exact coordinates, plus twice the solver's error in coordinates."""
        return self._budget(ball, n, footpoint)[0]

    def value(self, records: Bounded, footpoint: Array) -> Array:
        """The coordinates, within the tolerance that the sensitivity counts on."""
        _, tolerance = self._budget(records.ball, records.n, footpoint)
        return _coordinates(records, footpoint, tolerance / 2)

    def _budget(self, ball: Ball, n: int, footpoint: Array) -> tuple[float, float]:
        """(sensitivity, tolerance): half of the tolerance is the solver's, half rounding of the coordinates.

        Records count as inside a ball larger by the rounding of their own representation. All is public: that
        the tolerance can be reached for every data set in the ball is decided before any is looked at.
        """
        space, distance = ball.space, float(np.linalg.norm(footpoint))
        limit = _rounding_limit(space, max(ball.radius, distance), n)
        if ball.radius > LARGEST_BALL * space.uniqueness_radius or not limit < ball.radius:
            raise _refusal(ball, n)
        geometry = (space.curvature_bounds[1], space.injectivity_radius)
        exact = coordinates_sensitivity(ball.radius + limit, n, *geometry, distance + limit)
        tolerance = max(solver_tolerance(exact), 4 * limit / (1.0 if geometry[0] <= 0 else CONVEXITY))
        if tolerance > LARGEST_SOLVER_SHARE * exact:
            raise _refusal(ball, n)
        lipschitz = coordinates_lipschitz(ball.radius + limit + tolerance, *geometry, distance + limit)
        return with_solver_error(exact, tolerance, lipschitz), tolerance


def _rounding_limit(space: Space, radius: float, n: int) -> float:
    """What float64 may do to points, gradients and coordinates in a ball of this radius; the last term: if flat."""
    with np.errstate(over="ignore"):
        return float(space._rounding_limit(radius, n)) + 128 * UNIT_ROUNDOFF * radius


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


def _mean(records: Bounded, tol: float) -> Array:
    """The mean to within tol: by Newton's method or, when that gets lost, by a descent that cannot."""
    space, origin = records.space, records.ball.at_origin(np.zeros(records.space.dim))
    with np.errstate(all="ignore"):
        with suppress(RiemdpError, np.linalg.LinAlgError):
            x = solve(records, tol, max_iter=50).point
            if space._dist(origin, x) < NEAR * space.uniqueness_radius:
                return x
        return _descend(records, tol)


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


STATISTICS: dict[str, Statistic] = {s.name: s for s in (IntrinsicMean(), TangentMean())}


def _known(argument: str, name: Any, names: Iterable[str]) -> None:
    if not isinstance(name, str) or name not in names:
        raise InputError(f"{argument} = {name!r}: pass one of {', '.join(map(repr, names))}.")


def _statistic(name: str, ball: Ball) -> Statistic:
    # In a flat space both are the same, and the tangent mean is one exact pass.
    return STATISTICS["tangent-mean" if ball.space.is_flat else name]


def _plans(
    ball: Ball, n: int, guarantee: Guarantee, mechanism: str, calibration: str, footpoint: Any, statistic: str
) -> list[Plan]:
    if not isinstance(ball, Ball):
        raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
    _known("mechanism", mechanism, ["auto", *MECHANISMS])
    _known("calibration", calibration, ["analytic", "classical"])
    _known("statistic", statistic, STATISTICS)
    sensitivity = _statistic(statistic, ball).sensitivity(ball, n, ball.footpoint_coords(footpoint))
    return plan_all(mechanism, ball.space, guarantee, sensitivity, calibration)


def plan(
    ball: Ball,
    n: int,
    guarantee: Guarantee,
    *,
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
) -> list[Plan]:
    """What each mechanism that can give the guarantee would do with n records in the ball, best first.

    Needs no data: the predicted error supposes that the true mean is the footpoint.
    """
    return _plans(ball, whole_number(n, "n", 1), guarantee, "auto", calibration, footpoint, statistic)


def private_mean(
    X: Any,
    ball: Ball,
    guarantee: Guarantee,
    *,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
    ledger: Ledger | None = None,
) -> Release:
    """A differentially private Fréchet mean of the records X (n, *point_shape) in a public ball.

    Values of records never raise: one outside the ball is moved onto it, an unusable one to its centre.
    With a ledger the guarantee is reserved before any noise is drawn. `calibration="classical"` is the
    classical Gaussian; `footpoint` (public) is where wrapped mechanisms add their noise, by default the
    ball's centre; `statistic="tangent-mean"` releases the mean of the logs at the centre instead.
    """
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
    records = Bounded(X, ball)
    best = _plans(ball, records.n, guarantee, mechanism, calibration, footpoint, statistic)[0]
    chosen, foot = _statistic(statistic, ball), ball.footpoint_coords(footpoint)
    return release(
        lambda: chosen.value(records, foot),
        best,
        ball=ball,
        footpoint=foot,
        statistic=statistic,
        n=records.n,
        version=__version__,
        assumptions=(ROUNDING,),
        ledger=ledger,
    )


class Simulation(np.ndarray[Any, np.dtype[np.float64]]):
    """Seeded draws (size, *point_shape) of what a mechanism might release: never a release."""

    is_release = False


def simulate(
    X: Any,
    ball: Ball,
    guarantee: Guarantee,
    *,
    size: int,
    seed: int,
    mechanism: str = "auto",
    calibration: str = "analytic",
    footpoint: Any = None,
    statistic: str = "frechet-mean",
) -> Simulation:
    """`size` draws from the law of `private_mean(X, ...)`, in float64 and seeded: not private, never to publish."""
    count, rng = whole_number(size, "size", 1), np.random.default_rng(whole_number(seed, "seed", 0))
    records = Bounded(X, ball)
    best = _plans(ball, records.n, guarantee, mechanism, calibration, footpoint, statistic)[0]
    foot = ball.footpoint_coords(footpoint)
    value = _statistic(statistic, ball).value(records, foot)
    noise = MECHANISMS[best.mechanism].simulate(rng, count, ball.space.dim)
    points = carry(value + best.scale * noise, foot, ball)
    return ball.space._write(points, ball.center).view(Simulation)
