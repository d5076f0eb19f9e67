"""Scalar functions of the comparison geometries, smooth through zero."""

from __future__ import annotations

import math

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
    """sin(t) / t, entry by entry, 1 at t = 0."""
    safe, small = _safe(t)
    return np.asarray(np.where(small, 1 - t * t / 6, np.sin(safe) / safe))


def sinc_of(t: float) -> float:
    """sin(t) / t of one number."""
    return 1 - t * t / 6 if abs(t) < _SMALL else float(np.sin(t)) / t


def sinhc(t: Array) -> Array:
    """sinh(t) / t, entry by entry, 1 at t = 0."""
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


# So few numbers are added one by one, whether they are those of one vector or of many: the same bits, and faster.
SHORT = 16


def norm(x: NDArray[np.float64] | NDArray[np.complex128]) -> Array:
    """Euclidean norm over the last axis; accurate for vectors as small as 1e-300."""
    parts = np.ascontiguousarray(x).view(np.float64)
    if parts.ndim == 1 and 0 < len(parts) <= SHORT:
        return np.asarray(norm_of(parts.tolist()))
    if parts.ndim == 1:
        top = float(np.abs(parts).max(initial=0.0)) or 1.0
        return np.asarray(np.sqrt(np.add.reduce((parts / top) ** 2, initial=0.0)) * top)
    largest = over_last_axis(np.maximum, np.abs(parts))
    scale = np.where(largest > 0, largest, 1.0)
    return np.asarray(np.sqrt(over_last_axis(np.add, (parts / scale[..., None]) ** 2)) * scale)


def norm_of(parts: list[float]) -> float:
    """The Euclidean norm of the parts of one vector."""
    largest = max(map(abs, parts))
    if not 0 < largest < math.inf:
        return abs(0.0 * sum(parts))  # 0, or NaN
    total = 0.0
    for part in parts:
        ratio = part / largest
        total += ratio * ratio  # not **, which may differ in the last bit
    return math.sqrt(total) * largest


def over_last_axis(add: np.ufunc, x: Array) -> Array:
    """Sums, or maxima of what is not negative, over the last axis."""
    if not 0 < x.shape[-1] <= SHORT:
        return np.asarray(add.reduce(x, axis=-1, initial=0.0))
    total = x[..., 0]
    for i in range(1, x.shape[-1]):
        total = add(total, x[..., i])
    return total


def lengths(rows: Array) -> Array:
    """Euclidean norm of each row of a matrix, quickly: for numbers whose squares neither under- nor overflow."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def unit(x: Array) -> Array:
    """x / |x| over the last axis; NaN for zero."""
    if x.ndim == 1 and 0 < len(x) <= SHORT:
        return np.array(unit_of(x.tolist()))
    # Scaled first: a subnormal length is too coarse to divide by.
    scaled = x / over_last_axis(np.maximum, np.abs(x))[..., None]
    return np.asarray(scaled / norm(scaled)[..., None])


def unit_of(parts: list[float]) -> list[float]:
    """The parts of one vector, over its length; NaN for zero."""
    largest = max(map(abs, parts))
    if not 0 < largest < math.inf:
        return [math.nan] * len(parts)
    scaled = [part / largest for part in parts]
    length = norm_of(scaled)
    return [part / length for part in scaled]


def constant_curvature(curvature: float, second_moment: Array) -> Array:
    """E[R_v] = K (E|v|² - E[v vᵀ]) where the sectional curvature is K everywhere."""
    return np.asarray(curvature * (np.trace(second_moment) * np.eye(len(second_moment)) - second_moment))
