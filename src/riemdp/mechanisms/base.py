"""What a mechanism is."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.errors import MechanismError
from riemdp.manifolds import Space
from riemdp.privacy.calibration import gaussian_scale, laplace_scale
from riemdp.releases.drawn import Drawn

Array = NDArray[Any]
LEAST_NOISE, MOST_NOISE = 1e-50, 1e20  # scales, in units of the sensitivity
LEAST_SCALE, MOST_SCALE = 1e-290, 1e305  # float64 has a grid, a 2^20-th of the scale, and room for the noise


class Mechanism(Protocol):
    """A law around a private value: its calibration, exact draws for releases, and seeded ones to look at it.

    `value` is what the statistic of kind `input` computes (riemdp.statistics.catalogue).
    """

    @property
    def name(self) -> str:
        """The name by which users ask for it."""

    @property
    def input(self) -> str:
        """The kind of private value that it takes."""

    @property
    def takes_footpoint(self) -> bool:
        """Whether noise may be added at another point than the centre."""

    @property
    def is_baseline(self) -> bool:
        """Whether it is there for comparison, and never chosen by 'auto'."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What its guarantee supposes beyond what every release does."""

    def calibrate(self, guarantee: Guarantee, sensitivity: float, method: str) -> float:
        """The least scale that is proved to give the guarantee."""

    def check(self, ball: Ball, n: int, sensitivity: float, scale: float) -> None:
        """Raise a MechanismError that says what would work, if there is no such law here."""

    def draw(self, value: Any, scale: float, ball: Ball, footpoint: Array, size: int) -> Drawn:
        """Independent draws from the operating system's bits: one for a release, more for an audit."""

    def simulate(
        self, value: Any, scale: float, ball: Ball, footpoint: Array, rng: np.random.Generator, size: int
    ) -> Array:
        """Seeded draws of points, in float64."""

    def expected_error(self, scale: float, ball: Ball) -> float:
        """Root mean square distance to the value before noise, supposing that it is the ball's centre."""


def pure_scale(name: str, guarantee: Guarantee, sensitivity: float, method: str) -> float:
    """The scale of a law that is (sensitivity/scale)-DP."""
    if method != "analytic":
        raise MechanismError(f"calibration = {method!r} belongs to Gaussian noise: leave it out for {name}.")
    return _sensible(laplace_scale(guarantee, sensitivity), guarantee, sensitivity)


def normal_scale(guarantee: Guarantee, sensitivity: float, method: str) -> float:
    """The scale of Gaussian noise."""
    return _sensible(gaussian_scale(guarantee, sensitivity, method), guarantee, sensitivity)


def _sensible(scale: float, guarantee: Guarantee, sensitivity: float) -> float:
    """The scale, unless its powers would leave float64, which no guarantee that is worth anything asks for."""
    if not LEAST_NOISE * sensitivity < scale:
        raise MechanismError(f"{guarantee!r} promises nothing, for hardly any noise gives it: ask for less.")
    if not scale < MOST_NOISE * sensitivity:
        raise MechanismError(f"{guarantee!r} leaves nothing but noise: ask for more.")
    return scale


def require_grid(scale: float) -> None:
    """Raise a MechanismError unless float64 has room for noise of this scale, and for its grid."""
    if not LEAST_SCALE <= scale <= MOST_SCALE:
        size = "tiny" if scale < LEAST_SCALE else "huge"
        raise MechanismError(
            f"scale = {scale:.4g}: float64 has no room for noise so {size}: use units of the records in which it is "
            f"between {LEAST_SCALE:.0e} and {MOST_SCALE:.0e}."
        )


def root_mean_square(space: Space, points: Array, center: Array) -> float:
    """Root mean square distance of points to a centre."""
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.mean(space.distance(center, points) ** 2)))
