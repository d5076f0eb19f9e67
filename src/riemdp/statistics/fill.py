"""How full the ball is: the root mean square distance of the records to its centre, beside their mean.

E|v|², v the records' coordinates at the centre, is one more number of the release. Beside the mean of the v it costs
nothing; beside a Fréchet mean, of which it is no function, less than 0.5 % more noise (docs/proofs/moments.md,
section 7). A ball that nearly all records would leave shows: they are all on its rim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from riemdp.arithmetic import round_up
from riemdp.balls import Ball
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.base import Array, Space
from riemdp.mechanisms import Mechanism
from riemdp.mechanisms.visible import Visible
from riemdp.mechanisms.wrapped import WRAPPED_GAUSSIAN, WRAPPED_LAPLACE
from riemdp.privacy.bounded import Bounded
from riemdp.releases.release import Release
from riemdp.statistics.base import Statistic, vectors_up_to
from riemdp.statistics.moments import free_for_trace
from riemdp.statistics.sensitivity import with_solver_error
from riemdp.summaries.spread import share_of_radius

BESIDE_FRECHET = 5.05  # in radii, the weight of E|v|² that costs no more than sqrt(1 + 1/10.1²), 0.49 %


@dataclass(frozen=True)
class WithFill(Statistic):
    """A mean, as coordinates, and (1/n) sum |v_i|²/b wherever that costs nothing, or hardly anything."""

    name: ClassVar[str] = "mean with fill"

    mean: Statistic
    noise: Mechanism

    def supposes(self, space: Space) -> tuple[str, ...]:
        """What the sensitivity of the mean takes for granted."""
        return self.mean.supposes(space)

    def without_fill(self) -> Statistic:
        """The mean alone, without the number beside it."""
        return self.mean

    def _weight(self, ball: Ball) -> float | None:
        """b, public; None where there is no fill."""
        is_linear = not self.mean.supposes(ball.space)
        if self.noise.name == WRAPPED_GAUSSIAN.name:
            return round_up(free_for_trace, ball.radius) if is_linear else BESIDE_FRECHET * ball.radius
        return 2 * ball.radius if is_linear and self.noise.name == WRAPPED_LAPLACE.name else None

    def sensitivity(self, ball: Ball, n: int, footpoint: Array) -> float:
        """The sensitivity of the mean, to the last bit where it is linear; else that of both together."""
        alone, weight = self.mean.sensitivity(ball, n, footpoint), self._weight(ball)
        if weight is None or not self.mean.supposes(ball.space):
            return alone
        both = round_up(lambda d, r, b: (d**2 + (r**2 / (b * n)) ** 2).sqrt(), alone, ball.radius, weight)
        return with_solver_error(both, 2 * UNIT_ROUNDOFF * ball.radius)

    def tolerance(self, ball: Ball, n: int, footpoint: Array) -> float:
        """How far the computed mean may be from the exact one."""
        return self.mean.tolerance(ball, n, footpoint)

    def rooms(self, ball: Ball) -> tuple[Ball, ...]:
        """The records' own ball, and a line."""
        weight = self._weight(ball)
        return (ball,) if weight is None else (ball, vectors_up_to(ball.radius**2 / weight, 1))

    def value(self, records: Bounded, footpoint: Array) -> Array | tuple[Array, Array]:
        """The mean, and the mean square of the very same coordinates, rounded once."""
        weight = self._weight(records.ball)
        if weight is None:
            return np.asarray(self.mean.value(records, footpoint))
        mean, square = records.moment_sums("trace").means([weight])  # in one pass, and the mean itself if it is linear
        return (self.mean.value(records, footpoint) if self.mean.supposes(records.space) else mean), square

    def expected_error(self, mechanism: Mechanism, scale: float, ball: Ball) -> float:
        """The predicted error of the mean."""
        return self.mean.expected_error(mechanism, scale, ball)

    def finish(self, noisy: list[Visible], ball: Ball, n: int) -> Array:
        """What the mean makes of its own part."""
        return np.asarray(self.mean.finish(noisy[:1], ball, n))

    def completed(self, release: Release, noisy: list[Visible]) -> Release:
        """The release, with its fill."""
        weight = self._weight(release.ball)
        if weight is None:
            return release
        mean_square = float(noisy[1].vectors[0, 0]) * weight
        return replace(release, fill=share_of_radius(mean_square, release.ball.radius))
