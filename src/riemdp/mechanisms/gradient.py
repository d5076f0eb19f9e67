"""K-norm gradient: density ∝ exp(-‖grad F(x)‖/scale), within the ball if k_max > 0 (Soto et al. 2022).

Scale 2 Delta/epsilon, Delta the sensitivity of the gradient: the normaliser depends on the data, which costs the
factor 2 (docs/proofs/kng.md). Drawn by exact rejection, in float64: its guarantee supposes idealized numerics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.distributions.kng import KNG, expected_trials
from riemdp.distributions.riemannian import RiemannianLaplace, laplace_limit, mean_square
from riemdp.errors import MechanismError
from riemdp.manifolds import Space
from riemdp.manifolds.capabilities import VolumeDensity
from riemdp.mechanisms.base import pure_scale, require_grid
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.noise import grid_step
from riemdp.randomness import Randomness, SystemRandomness
from riemdp.releases.drawn import Drawn

Array = NDArray[Any]

MOST_KNG_TRIALS = 1e6
MOST_LOSS = 1e3  # the tolerance of the mean is 1e-3 of its sensitivity, as a rule: beyond, rejection starves on it
IDEALIZED = "idealized numerics: the draw is exact rejection, but computed in float64"


@dataclass(frozen=True, repr=False)
class Field:
    """The records' gradient field, around the origin: all that the law needs of them."""

    points: Array
    center: Array  # approximate mean; the law does not depend on it


@dataclass(frozen=True)
class KNormGradient:
    """The K-norm gradient law of the Fréchet function."""

    name: str = "kng"
    input: str = "gradient"
    takes_footpoint: bool = False
    is_baseline: bool = False
    assumptions: tuple[str, ...] = (IDEALIZED,)

    def calibrate(self, guarantee: Guarantee, sensitivity: float, method: str) -> float:
        """2 Delta/epsilon; other guarantees by conversion."""
        return pure_scale(self.name, guarantee, 2 * sensitivity, method)

    def check(self, ball: Ball, n: int, sensitivity: float, scale: float) -> None:
        """Exists where the Riemannian Laplace law does; refused where rejection would take too long."""
        require_grid(scale)
        if not 2 * sensitivity <= MOST_LOSS * scale:
            raise MechanismError(
                f"scale = {scale:.4g}: with so little noise (epsilon above {MOST_LOSS:.0g}) a draw may take for ever, "
                "since the mean is known to a tolerance only: use mechanism='wrapped-laplace'."
            )
        limit = laplace_limit(ball.space)
        if not (is_truncated(ball.space) or scale < limit):
            raise MechanismError(
                f"scale = {scale:.4g}: the K-norm gradient law of {ball.space!r} exists only below {limit:.4g}; it "
                f"needs n * epsilon above {2 * n * sensitivity / limit:.4g} here, or use mechanism='wrapped-laplace'."
            )
        trials = expected_trials(ball.space, n, ball.radius, scale)
        if not trials <= MOST_KNG_TRIALS:
            raise MechanismError(
                f"scale = {scale:.4g}: a draw of the K-norm gradient law would take about {trials:.2g} trials "
                f"(limit {MOST_KNG_TRIALS:.0g}): use a smaller ball, a larger epsilon or mechanism='wrapped-laplace'."
            )

    def draw(self, value: Field, scale: float, ball: Ball, footpoint: Array, size: int) -> Drawn:
        """Draws as `simulate` makes them, with the operating system's bits."""
        return Drawn(self.simulate(value, scale, ball, footpoint, SystemRandomness(), size), None)

    def simulate(
        self,
        value: Field,
        scale: float,
        ball: Ball,
        footpoint: Array,
        rng: Randomness,
        size: int,
    ) -> Array:
        """Seeded draws by exact rejection, in float64."""
        drawn = Visible(_law(value, scale, ball).sample(size, rng))
        return _without_last_bits(drawn, scale, ball)

    def expected_error(self, scale: float, ball: Ball) -> float:
        """The error for records that all lie at the ball's centre, where ‖grad F(x)‖ = rho."""
        if not is_truncated(ball.space):
            return math.sqrt(mean_square(RiemannianLaplace(ball.space, ball.space.origin, scale)))
        return _truncated_error(ball.space, scale, ball.radius)


def is_truncated(space: Space) -> bool:
    """Whether the law lives on the ball only: the gradient's sensitivity is bounded nowhere else."""
    return space.curvature_bounds[1] > 0


def _without_last_bits(points: Visible, scale: float, ball: Ball) -> Array:
    """Points around the origin, moved to the ball's centre, their coordinates rounded to a public grid.

    The last bits of what float64 computes tell the records apart (docs/audits.md). Rounding is post-processing; that
    it hides all that float64 gives away is not proved.
    """
    step, space = grid_step(scale), ball.space
    with np.errstate(all="ignore"):
        coords = points.then(lambda x: space.log_coords(x, space.read(space.origin, "origin")))
        coords = coords.then(lambda v: step * np.floor(v / step + 0.5))
    return carry(coords, np.zeros(space.dim), ball)


def _law(field: Field, scale: float, ball: Ball) -> KNG:
    radius = ball.radius if is_truncated(ball.space) else math.inf
    return KNG(ball.space, field.points, field.center, scale, radius)


@lru_cache(maxsize=256)
def _truncated_error(space: Space, scale: float, radius: float) -> float:
    """The error of density exp(-t/scale) within the radius: t from the Gamma law cut there, weighted by volume."""
    from scipy.special import gammainc, gammaincinv

    size = max(256, min(4096, 2**20 // space.dim))
    rng = np.random.default_rng(0)
    share = (np.arange(size) + 0.5) / size * gammainc(space.dim, radius / scale)
    t = scale * gammaincinv(space.dim, share)
    direction = rng.standard_normal((size, space.dim))
    direction *= (t / np.linalg.norm(direction, axis=1))[:, None]
    weight = np.exp(space.capability(VolumeDensity).log_density(direction))
    return math.sqrt(float(np.average(t**2, weights=weight)))


KNG_MECHANISM = KNormGradient()
