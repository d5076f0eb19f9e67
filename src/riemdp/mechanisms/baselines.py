"""The papers' baselines, with correct sensitivities: noise in the ambient space, then back to a point.

They ignore the geometry and are here to be compared with; `auto` never picks them (docs/proofs/baselines.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.capabilities import Embedding, Landmarks
from riemdp.mechanisms.base import normal_scale, pure_scale, require_grid, root_mean_square
from riemdp.mechanisms.visible import Visible
from riemdp.mechanisms.wrapped import isotropic_gaussian, isotropic_laplace
from riemdp.privacy.noise import add_gaussian, add_laplace, grid_step
from riemdp.releases.drawn import Drawn

Array = NDArray[Any]


def nearest_points(noisy: Visible, ball: Ball) -> Array:
    """Back to the space: unit length on the sphere; matrices get eigenvalues not below those of the ball's points."""
    embedding = ball.space.capability(Embedding)
    with np.errstate(all="ignore"):  # the zero vector has no direction
        return _or_center(embedding.nearest(noisy.vectors, ball.inner_center, ball.radius), ball)


def _or_center(points: Array, ball: Ball) -> Array:
    """The points; the ball's centre where float64 could not hold one."""
    lost = ~ball.space.holds(points)
    points[lost] = ball.inner_center
    return points


@dataclass(frozen=True)
class Extrinsic:
    """Isotropic noise in the ambient space (`Embedding`): symmetric matrices, or the space around the sphere."""

    name: str
    calibrate: Callable[[Guarantee, float, str], float]
    add_noise: Callable[[Array, float, float], Array]
    noise: Callable[[np.random.Generator, int, int], Array]
    input: str = "ambient"
    takes_footpoint: bool = False
    is_baseline: bool = True
    assumptions: tuple[str, ...] = ()

    def check(self, ball: Ball, n: int, sensitivity: float, scale: float) -> None:
        """Which spaces have it is decided by the sensitivity; float64 must have a grid for it."""
        require_grid(scale)

    def draw(self, value: Array, scale: float, ball: Ball, footpoint: Array, size: int) -> Drawn:
        """The noisy vector, rounded once, as the nearest point."""
        grid = grid_step(scale)
        noisy = Visible(np.stack([self.add_noise(value, scale, grid) for _ in range(size)]))
        return Drawn(nearest_points(noisy, ball), grid, noisy.vectors)

    def simulate(
        self, value: Array, scale: float, ball: Ball, footpoint: Array, rng: np.random.Generator, size: int
    ) -> Array:
        """Seeded draws of what `draw` draws, in float64."""
        return nearest_points(Visible(self.noisy(value, scale, rng, size)), ball)

    def noisy(self, value: Array, scale: float, rng: np.random.Generator, size: int) -> Array:
        """The noisy vectors, before they are taken to the space."""
        with np.errstate(over="ignore"):
            return value + scale * self.noise(rng, size, len(value))

    def centered(self, ball: Ball) -> Array:
        """The value of records that all lie at the ball's centre."""
        return ball.space.capability(Embedding).embed(ball.inner_center)

    def expected_error(self, scale: float, ball: Ball) -> float:
        """Simulated with a fixed seed."""
        return _expected_error(self, scale, ball)


@dataclass(frozen=True)
class Pointwise:
    """Laplace noise on every coordinate of every landmark, in units of the coordinate's public width."""

    name: str = "pointwise-laplace"
    input: str = "landmarks"
    takes_footpoint: bool = False
    is_baseline: bool = True
    assumptions: tuple[str, ...] = ()

    def calibrate(self, guarantee: Guarantee, sensitivity: float, method: str) -> float:
        """The sum of the coordinates' sensitivities over epsilon."""
        return pure_scale(self.name, guarantee, sensitivity, method)

    def check(self, ball: Ball, n: int, sensitivity: float, scale: float) -> None:
        """Which spaces have it is decided by the sensitivity; float64 must have a grid for each coordinate."""
        require_grid(scale * float(landmark_widths(ball).min()))
        require_grid(scale * float(landmark_widths(ball).max()))

    def draw(self, value: Array, scale: float, ball: Ball, footpoint: Array, size: int) -> Drawn:
        """Each coordinate with its own scale and grid; the coarsest grid is reported."""
        scales = (scale * landmark_widths(ball)).tolist()
        parts = [(value[j : j + 1], width, grid_step(width)) for j, width in enumerate(scales)]
        noisy = Visible(np.stack([np.concatenate([add_laplace(*part) for part in parts]) for _ in range(size)]))
        return Drawn(_as_shapes(noisy, ball), grid_step(max(scales)))

    def simulate(
        self, value: Array, scale: float, ball: Ball, footpoint: Array, rng: np.random.Generator, size: int
    ) -> Array:
        """Seeded draws of what `draw` draws, in float64."""
        noise = scale * landmark_widths(ball) * rng.laplace(size=(size, len(value)))
        return _as_shapes(Visible(value + noise), ball)

    def centered(self, ball: Ball) -> Array:
        """The value of records that all lie at the ball's centre."""
        return ball.space.capability(Landmarks).to_landmarks(ball.inner_center)

    def expected_error(self, scale: float, ball: Ball) -> float:
        """Simulated with a fixed seed."""
        return _expected_error(self, scale, ball)


def landmark_widths(ball: Ball) -> Array:
    """Length of the interval that each coordinate of an aligned record in B_r(m0) ranges over.

    An aligned record is a unit vector at an angle of at most r from m0, and m0 at arccos(m0_j) from the axis.
    """
    center = ball.space.capability(Landmarks).to_landmarks(ball.inner_center)
    angle = np.arccos(np.clip(center, -1.0, 1.0))
    width = np.cos(np.maximum(angle - ball.radius, 0.0)) - np.cos(np.minimum(angle + ball.radius, np.pi))
    return np.asarray(width * (1 + 2.0**-40) + 2.0**-45)  # not below the exact one


def _as_shapes(noisy: Visible, ball: Ball) -> Array:
    with np.errstate(all="ignore"):
        return _or_center(ball.space.capability(Landmarks).from_landmarks(noisy.vectors), ball)


@lru_cache(maxsize=256)
def _expected_error(mechanism: Extrinsic | Pointwise, scale: float, ball: Ball) -> float:
    """Root mean square distance to the centre, if the value before noise is the centre; a fixed seed."""
    center, rng = ball.inner_center, np.random.default_rng(0)
    points = mechanism.simulate(mechanism.centered(ball), scale, ball, np.zeros(ball.space.dim), rng, 2048)
    least = UNIT_ROUNDOFF * min(1.0, ball.space.injectivity_radius)  # where float64 cannot tell points apart
    return max(root_mean_square(ball.space, points, center), least)


EXTRINSIC_LAPLACE = Extrinsic(
    "extrinsic-laplace", partial(pure_scale, "extrinsic-laplace"), add_laplace, isotropic_laplace
)
EXTRINSIC_GAUSSIAN = Extrinsic("extrinsic-gaussian", normal_scale, add_gaussian, isotropic_gaussian)
POINTWISE_LAPLACE = Pointwise()
