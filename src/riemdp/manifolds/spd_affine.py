"""SPD matrices with the affine-invariant metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riemdp.kernels.spectral import UNIT_ROUNDOFF, eigh, sum_logs, symmetric_part
from riemdp.manifolds.base import Array, LocalModel
from riemdp.manifolds.scalars import log_sinhc, t_coth
from riemdp.manifolds.spd import SPD, invvecd, matrix_exp, matrix_log, vecd

# Records from which the Newton step takes its Hessian; the gradient always comes from all of them.
HESSIAN_SAMPLE = 512


@dataclass(frozen=True)
class SPDAffine(SPD):
    """SPD(k) with <u, v>_p = tr(p⁻¹ u p⁻¹ v), invariant under congruence (Pennec et al. 2006).

    Everything is computed in the frame of the Cholesky factor p = L Lᵀ, in which p is the identity:
    coordinates of v are vecd(L⁻¹ v L⁻ᵀ). Unlike the symmetric square root, L does not mix badly scaled rows.
    """

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """[-1/2, 0]; 1 x 1 matrices are a line."""
        return (0.0 if self.k == 1 else -0.5, 0.0)

    def _exp(self, coords: Array, base: Array) -> Array:
        factor = np.linalg.cholesky(base)
        return _congruence(factor, matrix_exp(invvecd(coords)))

    def _log(self, points: Array, base: Array) -> Array:
        whitener = np.linalg.inv(np.linalg.cholesky(base))
        return vecd(matrix_log(_congruence(whitener, points)))

    def _to_coords(self, vectors: Array, base: Array) -> Array:
        return vecd(_congruence(np.linalg.inv(np.linalg.cholesky(base)), vectors))

    def _from_coords(self, coords: Array, base: Array) -> Array:
        return _congruence(np.linalg.cholesky(base), invvecd(coords))

    def _log_density(self, coords: Array) -> Array:
        """Sum over i < j of log sinhc((r_i - r_j)/2), r the eigenvalues of the whitened vector."""
        values, _ = eigh(invvecd(coords))
        i, j = np.triu_indices(self.k, 1)
        return np.asarray(log_sinhc((values[..., i] - values[..., j]) / 2).sum(axis=-1))

    def _mean_closed_form(self, points: Array):  # type: ignore[no-untyped-def]
        """A 1 x 1 matrix is its logarithm: the log-Euclidean mean."""
        from riemdp.manifolds.spd_log_euclidean import SPDLogEuclidean

        return SPDLogEuclidean(self.k)._mean_closed_form(points)

    def _mean_start(self, points: Array) -> Array:
        """The log-Euclidean mean, of a sample if there are many records."""
        sample = points[:: max(1, len(points) // (16 * HESSIAN_SAMPLE))]
        sums = sum_logs(sample)
        if not sums.is_valid:
            self._refuse(points, sums)
        return matrix_exp(sums.total / sums.count)

    def _local_model(self, points: Array, x: Array) -> LocalModel:
        whitener = np.linalg.inv(np.linalg.cholesky(x))
        sums = sum_logs(points, whitener)
        if not sums.is_valid:
            self._refuse(points, sums)
        # The gradient is exact at the point (wᵀw)⁻¹ that the computed whitener w stands for.
        drift = np.linalg.norm(vecd(_congruence(whitener, x) - np.eye(self.k)))
        sample = points[:: max(1, len(points) // HESSIAN_SAMPLE)]
        return LocalModel(
            descent=vecd(sums.total / sums.count),
            step=_newton(_congruence(whitener, np.asarray(sample, dtype=np.float64))),
            convexity=1.0,
            reach=np.inf,
            rounding=float(sums.rounding + 2 * drift + self._representation(x)),
        )

    def _representation(self, x: Array) -> float:
        """Distance by which float64 may miss a point: u times its (scaled) condition number."""
        scale = 1 / np.sqrt(np.diagonal(x))
        values = np.linalg.eigvalsh(x * scale[:, None] * scale)
        return float(4 * (self.k + 1) * UNIT_ROUNDOFF * self.k / max(values[0], UNIT_ROUNDOFF))


def _congruence(factor: Array, matrix: Array) -> Array:
    return symmetric_part(factor @ matrix @ np.swapaxes(factor, -1, -2))


def _newton(whitened: Array) -> Callable[[Array], Array]:
    """g -> H⁻¹ g, H the mean over the records y of the Hessian of rho²/2 at the identity.

    In the eigenbasis of log y the Hessian multiplies entry (a, b) by (d/2) coth(d/2), d = log(y_a / y_b)
    (Pennec 2019, section 4.2). It is between 1 and a small number, so a few conjugate gradients solve it.
    """
    values, vectors = eigh(whitened)
    logs = np.log(np.maximum(values, UNIT_ROUNDOFF * values.max(axis=-1, keepdims=True)))
    factors = t_coth((logs[:, :, None] - logs[:, None, :]) / 2)
    transposed = np.ascontiguousarray(np.swapaxes(vectors, -1, -2))
    k = vectors.shape[-1]
    columns = np.ascontiguousarray(vectors.transpose(1, 0, 2).reshape(k, -1))

    def apply(v: Array) -> Array:
        inner = factors * (transposed @ (v @ columns).reshape(k, -1, k).transpose(1, 0, 2))
        spread = (vectors @ inner).transpose(1, 0, 2).reshape(k, -1)
        return symmetric_part(spread @ columns.T) / len(vectors)

    return lambda g: vecd(_conjugate_gradients(apply, invvecd(g)))


def _conjugate_gradients(apply: Callable[[Array], Array], b: Array, max_iter: int = 25) -> Array:
    """Solve apply(x) = b to a relative residual of ‖b‖ (at most 1e-2): what a quadratic step can use."""
    x, residual = np.zeros_like(b), b
    direction, square = b, float((b * b).sum())
    goal = square * min(1e-4, max(square, 1e-12))
    for _ in range(max_iter):
        if square <= goal:
            break
        image = apply(direction)
        alpha = square / float((direction * image).sum())
        x, residual = x + alpha * direction, residual - alpha * image
        square, old = float((residual * residual).sum()), square
        direction = residual + square / old * direction
    return x
