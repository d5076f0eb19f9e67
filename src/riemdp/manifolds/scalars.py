"""Scalar functions of the comparison geometries, smooth through zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Below this the next term of each series is under the unit roundoff.
_SMALL = 1e-4


def _safe(t: Array) -> tuple[Array, NDArray[np.bool_]]:
    """(t with small entries replaced by 1, mask of the small entries)."""
    small = np.abs(t) < _SMALL
    return np.where(small, 1.0, t), small


def sinc(t: Array) -> Array:
    """sin(t) / t."""
    safe, small = _safe(t)
    return np.asarray(np.where(small, 1 - t * t / 6, np.sin(safe) / safe))


def sinhc(t: Array) -> Array:
    """sinh(t) / t."""
    safe, small = _safe(t)
    return np.asarray(np.where(small, 1 + t * t / 6, np.sinh(safe) / safe))


def log_sinhc(t: Array) -> Array:
    """log(sinh(t) / t) without overflow: |t| + log((1 - exp(-2|t|)) / (2|t|))."""
    safe, small = _safe(np.abs(t))
    return np.asarray(np.where(small, t * t / 6, safe + np.log(-np.expm1(-2 * safe) / (2 * safe))))


def t_cot(t: Array) -> Array:
    """t cot(t): the Hessian of half the squared distance across the geodesic, curvature 1."""
    safe, small = _safe(t)
    return np.asarray(np.where(small, 1 - t * t / 3, safe / np.tan(safe)))


def t_coth(t: Array) -> Array:
    """t coth(t): the same in curvature -1."""
    safe, small = _safe(t)
    return np.asarray(np.where(small, 1 + t * t / 3, safe / np.tanh(safe)))


def norm(x: NDArray[np.float64] | NDArray[np.complex128]) -> Array:
    """Euclidean norm over the last axis; accurate for vectors as small as 1e-300."""
    parts = np.ascontiguousarray(x).view(np.float64)
    largest = np.abs(parts).max(axis=-1, keepdims=True, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return np.asarray(np.sqrt(((parts / scale) ** 2).sum(axis=-1)) * scale[..., 0])


def lengths(rows: Array) -> Array:
    """Euclidean norm of each row of a matrix, quickly: for numbers whose squares neither under- nor overflow."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def unit(x: Array) -> Array:
    """x / |x| over the last axis; NaN for zero."""
    # Scaled first: a subnormal length is too coarse to divide by.
    scaled = x / np.abs(x).max(axis=-1, keepdims=True)
    return np.asarray(scaled / norm(scaled)[..., None])
