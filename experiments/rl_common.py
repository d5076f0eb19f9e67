"""The examples of the Riemannian Laplace paper, which the K-norm gradient paper takes over.

P(2): Wishart(I/2, 2 degrees of freedom) within 1.5 of the identity. S²: polar angle uniform on [0, pi/8], azimuth
uniform. epsilon = 1. Errors are Euclidean lengths of vech(x̃) - vech(x̄), or of x̃ - x̄ in R³, as in the papers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import riemdp as rd

Array = NDArray[np.float64]

EPSILON = 1.0


def wishart(rng: np.random.Generator, n: int) -> Array:
    """Records of P(2): G Gᵀ/2 with a 2 x 2 matrix G of standard normals, kept if within 1.5 of the identity."""
    space, kept = rd.SPDAffine(2), np.empty((0, 2, 2))
    while len(kept) < n:
        g = rng.standard_normal((4 * n, 2, 2))
        x = g @ g.transpose(0, 2, 1) / 2
        x = x[np.linalg.eigvalsh(x)[:, 0] > 1e-6]
        kept = np.concatenate([kept, x[space.dist(x, np.eye(2)) < 1.5]])
    return kept[:n]


def polar(rng: np.random.Generator, n: int) -> Array:
    """Records of S² around the north pole."""
    theta, phi = math.pi / 8 * rng.random(n), 2 * math.pi * rng.random(n)
    return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=1)


def vech(matrix: Array) -> Array:
    """Diagonal and upper entry, unweighted, as the papers embed P(2) in R³."""
    return np.stack([matrix[..., 0, 0], matrix[..., 1, 1], matrix[..., 0, 1]], axis=-1)


def unchanged(points: Array) -> Array:
    """S² as a part of R³."""
    return points


@dataclass(frozen=True)
class Example:
    """A space, a public ball of it, and records in the ball."""

    name: str
    space: rd.Space
    radius: float
    records: Callable[[np.random.Generator, int], Array]
    embed: Callable[[Array], Array]

    @property
    def ball(self) -> rd.Ball:
        """Public: around the identity, or the north pole."""
        center = np.array([0.0, 0.0, 1.0]) if isinstance(self.space, rd.Sphere) else np.eye(2)
        return rd.Ball(self.space, center, self.radius)

    def mean(self, records: Array) -> Array:
        """Of the records; not private."""
        return rd.frechet_mean(records, self.space, tol=1e-8).point

    def error(self, released: Array, mean: Array) -> Array:
        """Euclidean lengths, as in the papers."""
        return np.linalg.norm(self.embed(np.asarray(released)) - self.embed(mean), axis=-1)


P2 = Example("P(2)", rd.SPDAffine(2), 1.5, wishart, vech)
S2 = Example("S²", rd.Sphere(2), math.pi / 8, polar, unchanged)


def laplace_in_space(rng: np.random.Generator, size: int, scale: float) -> Array:
    """Euclidean Laplace noise in R³: density ∝ exp(-|y|/scale)."""
    law = rd.RiemannianLaplace(rd.Euclidean(3), np.zeros(3), scale)
    return law.sample(size, rng)


def share_not_positive(vectors: Array) -> float:
    """Share of vectors (n, 3) that are no positive definite matrix."""
    a, b, c = vectors.T
    return float(np.mean(~((a > 0) & (a * b > c * c))))


BELOW = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2), "frameon": False, "fontsize": 8}
"""A panel's own legend, below it."""
