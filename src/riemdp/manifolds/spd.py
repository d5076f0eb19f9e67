"""What the geometries of symmetric positive definite matrices share."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np

from riemdp.arguments import whole_number
from riemdp.errors import ConvergenceError, InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import (
    asymmetry,
    positive_definite,
    rebuild,
    record_logs,
    sum_logs,
    symmetric_part,
)
from riemdp.kernels.spectral import eigh as batched_eigh
from riemdp.manifolds.base import ROWS, TANGENT_TOL, Array, Space
from riemdp.manifolds.capabilities import FlatMean
from riemdp.manifolds.description import COORDINATES, ArrayForm, Remark
from riemdp.manifolds.remarks import ASYMMETRIC, UNITS_OF_MATRICES

SQRT2 = math.sqrt(2.0)
LOG_TINY, LOG_HUGE = -708.0, 709.0  # of float64


@cache
def _upper(k: int) -> tuple[Array, Array]:
    return np.triu_indices(k, 1)


def vecd(matrix: Array) -> Array:
    """Isometry of symmetric matrices (Frobenius) onto R^{k(k+1)/2}: the diagonal, then sqrt2·strict upper."""
    i, j = _upper(matrix.shape[-1])
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    return np.concatenate([diagonal, SQRT2 * matrix[..., i, j]], axis=-1)


def invvecd(coords: Array) -> Array:
    """The inverse of `vecd`."""
    k = (math.isqrt(8 * coords.shape[-1] + 1) - 1) // 2
    i, j = _upper(k)
    matrix = np.zeros((*coords.shape[:-1], k, k))
    matrix[..., range(k), range(k)] = coords[..., :k]
    matrix[..., i, j] = matrix[..., j, i] = coords[..., k:] / SQRT2
    return matrix


def matrix_exp(a: Array) -> Array:
    """exp of symmetric matrices, numerically positive definite."""
    values, vectors = batched_eigh(a)
    return rebuild(exponentials(values, a.shape[-1]), vectors)


def exponentials(values: Array, k: int) -> Array:
    """exp of the eigenvalues of k x k matrices, so that these are numerically positive definite.

    A float64 matrix cannot hold eigenvalue ratios past 1/(8ku): smaller eigenvalues are raised to that.
    NaN where the largest eigenvalue is itself out of range.
    """
    top = values.max(axis=-1, keepdims=True)
    floor = top + math.log(8 * k * UNIT_ROUNDOFF)
    in_range = (top > LOG_TINY) & (top < LOG_HUGE)
    return np.asarray(np.exp(np.where(in_range, np.maximum(values, floor), np.nan)))


def definite(a: Array) -> Array:
    """Symmetric matrices, those that rounding left without a Cholesky factor made positive definite.

    As in `matrix_exp`, eigenvalues below 8ku of the largest are raised to that.
    """
    lost = np.isfinite(a).all(axis=(-2, -1)) & ~positive_definite(a)
    if not lost.any():
        return a
    values, vectors = batched_eigh(a[lost])
    floor = 8 * a.shape[-1] * UNIT_ROUNDOFF * np.abs(values).max(axis=-1, keepdims=True)
    result = a.copy()
    result[lost] = rebuild(np.maximum(values, floor), vectors)
    return result


def matrix_log(a: Array) -> Array:
    """log of positive definite matrices; eigenvalues lost to rounding count as u times the largest."""
    values, vectors = batched_eigh(a)
    floor = UNIT_ROUNDOFF * values.max(axis=-1, keepdims=True)
    return rebuild(np.log(np.maximum(values, floor)), vectors)


def whitened_logs(raw: Array, whitener: Array | None, shift: Array) -> tuple[Array, Array]:
    """vecd(log(w x wᵀ)) - shift of each raw record x, and which are usable: one eigendecomposition for all of it."""
    logs, usable = record_logs(raw, whitener)
    logs -= shift
    return logs, usable


def are_symmetric(vectors: Array, base: Array) -> Array:
    """Whether matrices at a base are symmetric, but for rounding."""
    size = np.abs(vectors).max(axis=(-2, -1))
    skew = np.abs(vectors - np.swapaxes(vectors, -1, -2)).max(axis=(-2, -1))
    return np.broadcast_to(skew <= TANGENT_TOL * size, np.broadcast_shapes(skew.shape, base.shape[:-2]))


def definite_or_nan(raw: Array) -> Array:
    """The symmetric parts that are positive definite; NaN for the others, which cannot become points."""
    symmetric = symmetric_part(raw)
    with np.errstate(all="ignore"):
        return np.where(positive_definite(symmetric)[..., None, None], symmetric, np.nan)


if TYPE_CHECKING:
    _PartOfASpace = Space
else:
    _PartOfASpace = ABC  # a geometry is SPD and Space: two steps deep, not three


@dataclass(frozen=True)
class SPD(_PartOfASpace):
    """k x k symmetric positive definite matrices, as a set: all but the metric, for a space to inherit before Space."""

    k: int
    sums_check_records: ClassVar[bool] = True
    unit_length: ClassVar[float] = 1.0
    remedy: ClassVar[str] = "add a small multiple of the identity, or leave such records out"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k", 1))

    @property
    def dim(self) -> int:
        """k(k+1)/2, the entries on and above the diagonal."""
        return self.k * (self.k + 1) // 2

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(k, k), a symmetric matrix."""
        return (self.k, self.k)

    @property
    def injectivity_radius(self) -> float:
        """Infinite: geodesics never meet again."""
        return math.inf

    @property
    def origin(self) -> Array:
        """The identity matrix, of size k."""
        return np.eye(self.k)

    def are_points(self, points: Array) -> Array:
        """Symmetric within 1e-8 of the diagonal, and the Cholesky factorisation exists in float64."""
        return (asymmetry(points) <= 0.0) & positive_definite(symmetric_part(points))

    def settle(self, points: Array) -> Array:
        return symmetric_part(points)

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        return are_symmetric(vectors, base)

    def to_points(self, raw: Array) -> Array:
        """Symmetrise; what is not positive definite then cannot become a point."""
        return definite_or_nan(raw)

    def _random_coords(self, size: int, rng: np.random.Generator) -> Array:
        return rng.standard_normal((size, self.dim)) / math.sqrt(self.k)

    # --- as vectors of entries, and by their eigenvalues (docs/proofs/baselines.md) --------------------------

    def embed(self, points: Array) -> Array:
        """vecd, an isometry of the Frobenius norm."""
        return vecd(points)

    def nearest(self, vectors: Array, center: Array, radius: float) -> Array:
        """Eigenvalues are lifted to the least of those of the ball's points."""
        floor = np.exp(-radius) * float(np.linalg.eigvalsh(center)[0])
        values, frame = batched_eigh(invvecd(vectors))
        return definite(rebuild(np.maximum(values, floor), frame))

    def log_spectrum(self, point: Array) -> Array:
        """With the floor of `matrix_log`, and within the range of floats."""
        values = np.linalg.eigvalsh(point)
        return np.asarray(np.log(np.maximum(values, max(UNIT_ROUNDOFF * values[-1], math.exp(LOG_TINY)))))

    def spectral_center(self, low: float, high: float) -> Array:
        """sqrt(low high) times the identity."""
        return math.sqrt(low) * math.sqrt(high) * self.origin

    def spectral_radius(self, low: float, high: float) -> float:
        """sqrt(k)/2 log(high/low): the distance of the two multiples of the identity is twice that, in both metrics."""
        half = (math.log(high) - math.log(low)) / 2 + 2.0**-40  # not below the exact one
        return math.sqrt(self.k) * half

    # --- means ---------------------------------------------------------------------------------------------

    def closed_form_mean(self, points: Array) -> FlatMean:
        """exp(mean(log x_i)) in one pass, where the metric is flat: log-Euclidean, or 1 x 1.

        The point itself is rounded to u times its condition number.
        """
        sums = sum_logs(points)
        if not sums.is_valid:
            self._refuse(points)
        log_mean = sums.total / sums.count
        condition = math.exp(np.ptp(np.linalg.eigvalsh(log_mean)))
        return FlatMean(matrix_exp(log_mean), sums.rounding + 4 * (self.k + 1) * UNIT_ROUNDOFF * condition)

    def _refuse(self, points: Array) -> NoReturn:
        """Say what is wrong with records whose logarithms could not be summed."""
        for start in range(0, len(points), ROWS):
            good = self.contains(points[start : start + ROWS])
            if not good.all():
                index = start + int(np.argmin(good))
                raise InputError(f"X[{index}] is not a point of {self!r}: {self.remedy}.")
        raise ConvergenceError(f"The records are too ill-conditioned for float64: {self.remedy}.")

    # --- what it says of itself ---------------------------------------------------------------------------

    center_names: ClassVar[tuple[str, ...]] = ("identity",)
    remarks: ClassVar[tuple[Remark, ...]] = (ASYMMETRIC, UNITS_OF_MATRICES)

    @property
    def picture(self) -> str:
        return "matrix" if self.k > 1 else COORDINATES

    @classmethod
    def size_in(cls, form: ArrayForm) -> int:
        return math.isqrt(form.last) if form.is_table else form.last
