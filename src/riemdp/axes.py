"""Directions in which vectors may be longer than in others: an ellipsoid's axes.

Vectors v are narrowed to u = S⁻¹ v, whose noise has the same size in all directions, and what is released is widened
back by S. S⁻¹ is a public matrix of few bits, so that narrowing is exact in floats whatever order BLAS adds in, and a
vector has the same bits in every block (docs/proofs/shaped.md, section 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.caching import cached_property

Array = NDArray[Any]
MATRIX_BITS = 24  # of an entry of S⁻¹, in proportion to its longest row
HALF = 24  # bits of each of the two pieces of a coordinate
LARGEST_FULL = 4000  # dimensions in which products of such pieces and entries are exact
LEAST_SHARE = 1e-8  # of the largest variance, that any direction is supposed to have
LEAST_NOISE = 0.25  # S ∝ C^¼, C the covariance: the axes with which a mean has least noise


@dataclass(frozen=True, eq=False)
class Axes:
    """S⁻¹, a matrix (d, d) or its diagonal (d,), of entries cut to few bits."""

    inverse: Array

    @classmethod
    def of_inverse(cls, inverse: Array) -> Axes:
        """With the entries cut to few bits; the longest axis has length 1, nearly."""
        return cls(_cut(inverse / _least(inverse)))

    @classmethod
    def for_variances(cls, variances: Array, directions: Array | None = None, power: float = LEAST_NOISE) -> Axes:
        """S ∝ C^power, for records of such a covariance C (docs/proofs/shaped.md, section 3)."""
        powers = np.maximum(variances / variances.max(), LEAST_SHARE) ** -power
        return cls.of_inverse(powers if directions is None else (directions * powers) @ directions.T)

    @property
    def is_diagonal(self) -> bool:
        """Whether the axes are those of the coordinates."""
        return self.inverse.ndim == 1

    @cached_property
    def matrix(self) -> Array:
        """The matrix S, or its diagonal."""
        return np.asarray(1 / self.inverse if self.is_diagonal else np.linalg.inv(self.inverse))

    @cached_property
    def size(self) -> float:
        """Root mean square length of noise of one unit in each narrowed coordinate: |S|, without axes sqrt(d)."""
        return float(np.linalg.norm(self.matrix))

    def widened(self, vectors: Array) -> Array:
        """S u of vectors u (..., d) that were released."""
        return np.asarray(vectors * self.matrix if self.is_diagonal else vectors @ self.matrix.T)

    def narrowed(self, coords: Array, grid: int) -> Array:
        """S⁻¹ v of rows v (n, d), whole multiples of 2^grid below 2^48 of them: one rounding for each number."""
        if self.is_diagonal:
            return np.asarray(coords * self.inverse)
        unit = _unit(self.inverse)
        entries, steps = self.inverse.T / unit, coords * 2.0**-grid
        high = np.rint(steps * 2.0**-HALF)
        low = steps - high * 2.0**HALF
        return np.asarray(((high @ entries) * 2.0**HALF + low @ entries) * (unit * 2.0**grid))


def _cut(inverse: Array) -> Array:
    """Whole multiples of its unit."""
    unit = _unit(inverse)
    return np.asarray(np.rint(inverse / unit) * unit)


def _unit(inverse: Array) -> float:
    """The power of 2 of which the entries are whole multiples: 2^-24 of the longest row, or of the largest entry."""
    longest = float(np.sqrt((inverse**2).sum(axis=1)).max() if inverse.ndim == 2 else np.abs(inverse).max())
    return math.ldexp(1.0, math.frexp(longest)[1] - MATRIX_BITS)


def _least(inverse: Array) -> float:
    """The least of the factors by which vectors are narrowed."""
    return float(np.linalg.norm(inverse, -2) if inverse.ndim == 2 else np.abs(inverse).min())
