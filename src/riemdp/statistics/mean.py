"""Private means: the value of each statistic beside its sensitivity.

Both are computed around the origin of the space, to which an isometry takes the ball's centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from riemdp.errors import InputError, MechanismError
from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array, whole_number
from riemdp.privacy.bounded import Ball, Bounded
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.mechanisms import by_name
from riemdp.privacy.release import Plan, Release, carry, plan_all, release
from riemdp.statistics.frechet import solve
from riemdp.statistics.sensitivity import (
    coordinates_lipschitz,
    coordinates_sensitivity,
    solver_tolerance,
    tangent_mean_sensitivity,
    with_solver_error,
)

ROUNDING = "the stated bounds on the rounding errors of the mean's evaluation hold"
# Past this share of the sensitivity, float64 is too coarse for the ball.
LARGEST_SOLVER_SHARE = 0.05


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
        mean = solve(records, tolerance / 2, max_iter=500)
        return records.space._log(mean.point, records.ball.at_origin(footpoint))

    def _budget(self, ball: Ball, n: int, footpoint: Array) -> tuple[float, float]:
        """(sensitivity, tolerance): half of the tolerance is the solver's, half rounding of the coordinates.

        Records count as inside a ball larger by the rounding of their own representation. All is public: that
        the tolerance can be reached for every data set in the ball is decided before any is looked at.
        """
        space, distance = ball.space, float(np.linalg.norm(footpoint)) * (1 + 1e-12)
        limit = space._rounding_limit(ball.radius, n)
        geometry = (space.curvature_bounds[1], space.injectivity_radius)
        exact = coordinates_sensitivity(ball.radius + limit, n, *geometry, distance)
        tolerance = max(solver_tolerance(exact), 4 * limit)
        if tolerance > LARGEST_SOLVER_SHARE * exact:
            raise MechanismError(
                f"radius = {ball.radius!r} is too large to compute a Fréchet mean of {n} records of {space!r} "
                "accurately enough in float64: use statistic='tangent-mean' or a smaller ball."
            )
        lipschitz = coordinates_lipschitz(ball.radius + limit + tolerance, *geometry, distance)
        return with_solver_error(exact, tolerance, lipschitz), tolerance


STATISTICS: dict[str, Statistic] = {s.name: s for s in (IntrinsicMean(), TangentMean())}


def _statistic(name: str, ball: Ball) -> Statistic:
    if name not in STATISTICS:
        raise InputError(f"statistic = {name!r}: pass one of {', '.join(map(repr, STATISTICS))}.")
    # In a flat space both are the same, and the tangent mean is one exact pass.
    return STATISTICS["tangent-mean" if ball.space.is_flat else name]


def _plans(
    ball: Ball, n: int, guarantee: Guarantee, mechanism: str, calibration: str, footpoint: Any, statistic: str
) -> list[Plan]:
    if not isinstance(ball, Ball):
        raise InputError(f"ball = {ball!r}: pass a Ball with a public centre and radius.")
    if mechanism != "auto":
        by_name(mechanism)
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
    from riemdp import __version__

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
    count = whole_number(size, "size", 1)
    records = Bounded(X, ball)
    best = _plans(ball, records.n, guarantee, mechanism, calibration, footpoint, statistic)[0]
    foot = ball.footpoint_coords(footpoint)
    value = _statistic(statistic, ball).value(records, foot)
    noise = by_name(best.mechanism).simulate(np.random.default_rng(seed), count, ball.space.dim)
    points = carry(value + best.scale * noise, foot, ball)
    return ball.space._write(points, ball.center).view(Simulation)
