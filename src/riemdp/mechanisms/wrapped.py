"""Exponential-wrapped Laplace and Gaussian: noise in a tangent space, carried over by exp.

The private value enters as its coordinates v = log_p0(x̄) in an orthonormal basis of T_p0, p0 public, of
Euclidean sensitivity Delta. Adding isotropic noise to v is the Euclidean mechanism; exp_p0 is post-processing
(docs/proofs/wrapped.md). On SPD with the log-Euclidean metric at p0 = I the Gaussian one is the tangent
Gaussian mechanism; with k_max <= 0 both are the mechanisms of the exponential-wrapped paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.errors import MechanismError
from riemdp.manifolds import Space
from riemdp.mechanisms.base import Mechanism, normal_scale, pure_scale, require_grid
from riemdp.mechanisms.visible import Visible, carry
from riemdp.privacy.noise import add_gaussian, add_laplace, grid_step
from riemdp.releases.drawn import Drawn

Array = NDArray[Any]


@dataclass(frozen=True)
class Wrapped:
    """Isotropic noise added to coordinates."""

    name: str
    calibrate: Callable[[Guarantee, float, str], float]
    add_noise: Callable[[Array, float, float], Array]  # (coordinates, scale, grid) -> released coordinates
    noise: Callable[[np.random.Generator, int, int], Array]  # (rng, size, dim) -> noise of scale 1
    mean_square: Callable[[int], float]  # dim -> mean of the squared length of noise of scale 1
    longest: Callable[[int], float]  # dim -> a length that noise of scale 1 exceeds with probability < 1e-12
    input: str = "coordinates"
    takes_footpoint: bool = True
    is_baseline: bool = False
    assumptions: tuple[str, ...] = ()

    def check(self, ball: Ball, n: int, sensitivity: float, scale: float) -> None:
        """It exists everywhere; float64 must have a grid for it."""
        require_grid(scale)

    def draw(self, value: Array, scale: float, ball: Ball, footpoint: Array, size: int) -> Drawn:
        """The noisy coordinates, rounded once, as a point."""
        grid = grid_step(scale)
        noisy = Visible(np.stack([self.add_noise(value, scale, grid) for _ in range(size)]))
        return Drawn(carry(noisy, footpoint, ball), grid, noisy.vectors)

    def simulate(
        self, value: Array, scale: float, ball: Ball, footpoint: Array, rng: np.random.Generator, size: int
    ) -> Array:
        """Seeded draws of what `draw` draws, in float64."""
        return carry(Visible(self.noisy(value, scale, rng, size)), footpoint, ball)

    def noisy(self, value: Array, scale: float, rng: np.random.Generator, size: int) -> Array:
        """The noisy coordinates, before they are made points."""
        return value + scale * self.noise(rng, size, len(value))

    def expected_error(self, scale: float, ball: Ball) -> float:
        """Root mean square distance of exp_p(noise) to p."""
        return _expected_error(self, scale, ball.space)


def require_wrapped(mechanism: Mechanism) -> Wrapped:
    """The mechanism, if its noise is isotropic and as it was drawn: what weights and clearing of noise rely on."""
    if not isinstance(mechanism, Wrapped):
        known = f"{WRAPPED_LAPLACE.name!r} or {WRAPPED_GAUSSIAN.name!r}"
        raise MechanismError(f"mechanism = {mechanism.name!r}: this statistic relies on the noise of {known}; use one.")
    return mechanism


@lru_cache(maxsize=256)
def _expected_error(mechanism: Wrapped, scale: float, space: Space) -> float:
    """Root mean square distance of exp_p(noise) to p, from public inputs only.

    Noise that stays within the injectivity radius keeps its length, rho(exp_p(v), p) = |v|: then it is exact.
    Otherwise geodesics come back, and it is simulated with a fixed seed.
    """
    if scale * mechanism.longest(space.dim) < space.injectivity_radius:
        return scale * math.sqrt(mechanism.mean_square(space.dim))
    size = max(256, min(4096, 2**20 // space.dim))
    noise = scale * mechanism.noise(np.random.default_rng(0), size, space.dim)
    return math.sqrt(float(np.mean(space.reached(noise) ** 2)))


def isotropic_laplace(rng: np.random.Generator, size: int, dim: int) -> Array:
    """Density ∝ exp(-|y|): length Gamma(d) times a uniform direction."""
    normal = rng.standard_normal((size, dim))
    length = rng.standard_gamma(dim, (size, 1))
    return np.asarray(normal * (length / np.linalg.norm(normal, axis=1, keepdims=True)))


def isotropic_gaussian(rng: np.random.Generator, size: int, dim: int) -> Array:
    """Independent standard normal vectors, in rows."""
    return rng.standard_normal((size, dim))


WRAPPED_LAPLACE = Wrapped(
    name="wrapped-laplace",
    calibrate=partial(pure_scale, "wrapped-laplace"),
    add_noise=add_laplace,
    noise=isotropic_laplace,
    mean_square=lambda dim: float(dim * (dim + 1)),
    longest=lambda dim: dim + 12 * math.sqrt(dim) + 30,
)

WRAPPED_GAUSSIAN = Wrapped(
    name="wrapped-gaussian",
    calibrate=normal_scale,
    add_noise=add_gaussian,
    noise=isotropic_gaussian,
    mean_square=float,
    longest=lambda dim: math.sqrt(dim) + 8,
)
