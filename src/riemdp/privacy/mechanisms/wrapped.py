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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import MechanismError
from riemdp.privacy.calibration import gaussian_scale, laplace_scale
from riemdp.privacy.guarantee import Guarantee
from riemdp.privacy.noise import add_gaussian, add_laplace

Array = NDArray[Any]


@dataclass(frozen=True)
class Mechanism:
    """A way to add noise to coordinates: the calibration, the exact draw, and its law for simulations."""

    name: str
    calibrate: Callable[[Guarantee, float, str], float]  # (guarantee, sensitivity, method) -> scale
    add_noise: Callable[[Array, float, float], Array]  # (coordinates, scale, grid) -> released coordinates
    simulate: Callable[[np.random.Generator, int, int], Array]  # (rng, size, dim) -> noise of scale 1
    mean_square: Callable[[int], float]  # dim -> mean of the squared length of noise of scale 1
    longest: Callable[[int], float]  # dim -> a length that noise of scale 1 exceeds with probability < 1e-12


def _laplace_scale(guarantee: Guarantee, sensitivity: float, method: str) -> float:
    if method != "analytic":
        raise MechanismError(f"calibration = {method!r} belongs to wrapped-gaussian: leave it out for Laplace noise.")
    return laplace_scale(guarantee, sensitivity)


def _simulated_laplace(rng: np.random.Generator, size: int, dim: int) -> Array:
    """Length Gamma(d) times a uniform direction."""
    normal = rng.standard_normal((size, dim))
    length = rng.standard_gamma(dim, (size, 1))
    return np.asarray(normal * (length / np.linalg.norm(normal, axis=1, keepdims=True)))


WRAPPED_LAPLACE = Mechanism(
    name="wrapped-laplace",
    calibrate=_laplace_scale,
    add_noise=add_laplace,
    simulate=_simulated_laplace,
    mean_square=lambda dim: float(dim * (dim + 1)),
    longest=lambda dim: dim + 12 * math.sqrt(dim) + 30,
)

WRAPPED_GAUSSIAN = Mechanism(
    name="wrapped-gaussian",
    calibrate=gaussian_scale,
    add_noise=add_gaussian,
    simulate=lambda rng, size, dim: rng.standard_normal((size, dim)),
    mean_square=float,
    longest=lambda dim: math.sqrt(dim) + 8,
)
