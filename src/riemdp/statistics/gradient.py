"""The gradient field of the Fréchet function, which the K-norm gradient mechanism draws from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from riemdp.balls import Ball
from riemdp.manifolds.base import Array
from riemdp.mechanisms.gradient import Field
from riemdp.privacy.bounded import Bounded
from riemdp.statistics.base import Statistic
from riemdp.statistics.intrinsic import mean_point, require_mean_point
from riemdp.statistics.sensitivity import kng_sensitivity


@dataclass(frozen=True)
class GradientField(Statistic):
    """x -> grad F(x) = -(1/n) sum log_x(x_i), on the ball if k_max > 0 (docs/proofs/mean_sensitivity.md, 6)."""

    name: ClassVar[str] = "frechet-mean"
    input: ClassVar[str] = "gradient"

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:  # noqa: ARG002
        """How far replacing one record moves the gradient at any point where the law lives."""
        space = ball.space
        require_mean_point(ball, n)
        return kng_sensitivity(ball.radius, n, space.curvature_bounds[1], space.injectivity_radius)

    def value(self, records: Bounded, footpoint: Array) -> Field:  # noqa: ARG002
        """The records around the origin, and their mean to start from."""
        return Field(records._around_origin.all(), mean_point(records))
