"""Riemannian Laplace: density ∝ exp(-rho(x, x̄)/scale) with respect to the volume (Reimherr et al. 2021).

On a homogeneous space the normaliser does not depend on x̄, so by the triangle inequality scale Delta/epsilon is
epsilon-DP (docs/proofs/riemannian_laplace.md). Drawn exactly: no Markov chain (docs/proofs/riemannian_laws.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.distributions.ideal import point_grid, rounded_point
from riemdp.distributions.riemannian import MOST_TRIALS, RiemannianLaplace, expected_trials, laplace_limit, mean_square
from riemdp.errors import MechanismError
from riemdp.mechanisms.base import pure_scale
from riemdp.mechanisms.visible import Visible, carry, from_origin
from riemdp.mechanisms.wrapped import WRAPPED_LAPLACE
from riemdp.releases.drawn import Drawn

Array = NDArray[Any]


@dataclass(frozen=True)
class Intrinsic:
    """The Riemannian Laplace law around the mean."""

    name: str = "riemannian-laplace"
    input: str = "point"  # around the origin; in a flat space, its coordinates
    takes_footpoint: bool = False
    is_baseline: bool = False
    assumptions: tuple[str, ...] = ()

    def calibrate(self, guarantee: Guarantee, sensitivity: float, method: str) -> float:
        """Delta/epsilon; other guarantees by conversion."""
        return pure_scale(self.name, guarantee, sensitivity, method)

    def check(self, ball: Ball, n: int, sensitivity: float, scale: float) -> None:
        """The law has a finite integral only below a limit of the scale; close to it, rejection takes too long.

        And float64 must have a grid for the points that it draws.
        """
        if ball.space.is_flat:
            WRAPPED_LAPLACE.check(ball, n, sensitivity, scale)
            return
        limit = laplace_limit(ball.space)
        if not scale < limit:
            raise MechanismError(
                f"scale = {scale:.4g}: the Riemannian Laplace law of {ball.space!r} exists only below {limit:.4g}; "
                f"it needs n * epsilon above {n * sensitivity / limit:.4g} here, or use mechanism='wrapped-laplace'."
            )
        trials = expected_trials(RiemannianLaplace(ball.space, ball.space.origin, scale))
        if not trials <= MOST_TRIALS:
            raise MechanismError(
                f"scale = {scale:.4g}: a draw of the Riemannian Laplace law would take about {trials:.2g} trials "
                f"(limit {MOST_TRIALS:.0g}), so near to where it ceases to exist: use mechanism='wrapped-laplace'."
            )
        point_grid(ball.space, scale, ball.radius)

    def draw(self, value: Array, scale: float, ball: Ball, footpoint: Array, size: int) -> Drawn:
        """The ideal point, rounded once to a public grid around the origin, moved to the ball's centre."""
        space = ball.space
        if space.is_flat:
            return WRAPPED_LAPLACE.draw(value, scale, ball, footpoint, size)
        law, grid = RiemannianLaplace(space, space.origin, scale), point_grid(space, scale, ball.radius)
        points = Visible(np.stack([rounded_point(space, value, law.ideal_coords(), grid) for _ in range(size)]))
        return Drawn(from_origin(points, ball), grid)

    def simulate(
        self, value: Array, scale: float, ball: Ball, footpoint: Array, rng: np.random.Generator, size: int
    ) -> Array:
        """Seeded draws of the same law, in float64."""
        space = ball.space
        noise = RiemannianLaplace(space, space.origin, scale).sample_coords(size, rng)
        if space.is_flat:
            return carry(Visible(value + noise), footpoint, ball)
        return from_origin(Visible(space.exp_coords(noise, value)), ball)

    def expected_error(self, scale: float, ball: Ball) -> float:
        """The law's own root mean square distance to its centre."""
        wrapped = WRAPPED_LAPLACE.expected_error(scale, ball)
        if ball.space.is_flat:
            return wrapped
        forecast = math.sqrt(mean_square(RiemannianLaplace(ball.space, ball.space.origin, scale)))
        # Without positive curvature volumes grow faster than in flat space, and so do distances.
        return max(forecast, wrapped) if ball.space.curvature_bounds[1] <= 0 else forecast


RIEMANNIAN_LAPLACE = Intrinsic()
