"""SPD matrices with the affine-invariant metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from riemdp.kernels.spectral import UNIT_ROUNDOFF, LogSum, eigh, sum_logs, symmetric_part, upper_index
from riemdp.kernels.threads import map_ranges
from riemdp.manifolds.base import Array, LocalModel
from riemdp.manifolds.local_model import conjugate_gradients
from riemdp.manifolds.scalars import log_sinhc, t_coth
from riemdp.manifolds.spd import SPD, definite, invvecd, matrix_exp, matrix_log, vecd

# The gradient always comes from all records; samples of them serve the first guess and the Newton step.
START_SAMPLE = 4096
# Past this size the fourth-order moments would take more room than they are worth.
LARGEST_MOMENTS = 40
TINY = float(np.finfo(float).tiny)


def _sample(points: Array, size: int) -> Array:
    """About `size` records, evenly spread."""
    return np.asarray(points[:: max(1, -(-len(points) // size))], dtype=np.float64)


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
        return definite(_congruence(factor, matrix_exp(invvecd(coords))))

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

    def _mean_start(self, points: Array) -> Array:
        """The midpoint of the arithmetic and the harmonic mean: no eigenvalues, third-order accurate."""
        sample = symmetric_part(_sample(points, START_SAMPLE))
        try:
            inverses = np.concatenate(map_ranges(lambda i, j: np.linalg.inv(sample[i:j]), len(sample), 256))
            arithmetic, harmonic = sample.mean(axis=0), np.linalg.inv(symmetric_part(inverses.mean(axis=0)))
            with np.errstate(invalid="ignore"):  # infinite records
                start = self._exp(self._log(symmetric_part(harmonic), arithmetic) / 2, arithmetic)
        except np.linalg.LinAlgError:
            self._refuse(points)
        return start if np.isfinite(start).all() else self._refuse(points)

    def _local_model(self, points: Array, x: Array) -> LocalModel:
        whitener = np.linalg.inv(np.linalg.cholesky(x))
        moments = self.k <= LARGEST_MOMENTS and len(points) > self._sample_size
        sums = sum_logs(points, whitener, moments=moments)
        if not sums.is_valid:
            self._refuse(points)
        # The gradient is exact at the point (wᵀw)⁻¹ that the computed whitener w stands for.
        drift = float(np.linalg.norm(_congruence(whitener, x) - np.eye(self.k)))
        return LocalModel(
            descent=vecd(sums.total / sums.count),
            step=lambda g: _newton_step(g, sums.moments, *self._spectrum(points, whitener, sums)),
            convexity=1.0,
            reach=np.inf,
            farthest=0.0,
            rounding=sums.rounding + 2 * drift + self._representation(x),
        )

    @property
    def _sample_size(self) -> int:
        """Records of which the Newton step takes the eigenvectors: as much work as the step is worth."""
        return min(512, max(64, 2**18 // self.k**3))

    def _spectrum(self, points: Array, whitener: Array, sums: LogSum) -> tuple[Array, Array]:
        """Logs of the eigenvalues, and eigenvectors, of a sample of the whitened records."""
        if sums.spectrum is not None:
            logs, vectors = sums.spectrum
            stride = max(1, -(-len(logs) // self._sample_size))
            return logs[::stride], vectors[::stride]
        values, vectors = eigh(_congruence(whitener, _sample(points, self._sample_size)))
        return np.log(values), vectors

    def _rounding_limit(self, radius: float, n: int) -> float:
        """tr(x), tr(x⁻¹) <= k - 1 + e^r for records and x, and whitened records have eigenvalues above e^-2r."""
        r = min(radius, 100.0)
        conditioning = (self.k - 1 + math.exp(r)) ** 2 * math.exp(2 * r)
        return UNIT_ROUNDOFF * (12 * (self.k + 1) * conditioning + (2048 + n // 32) * 2 * radius)

    def _representation(self, x: Array) -> float:
        """Distance by which float64 may miss a point: u times its (scaled) condition number."""
        scale = 1 / np.sqrt(np.diagonal(x))
        values = np.linalg.eigvalsh(x * scale[:, None] * scale)
        return float(4 * (self.k + 1) * UNIT_ROUNDOFF * self.k / max(values[0], UNIT_ROUNDOFF))


def _congruence(factor: Array, matrix: Array) -> Array:
    return symmetric_part(factor @ matrix @ np.swapaxes(factor, -1, -2))


def _newton_step(g: Array, moments: Array, logs: Array, vectors: Array) -> Array:
    """H⁻¹ g, H the mean over the records of the Hessian of rho²/2 at the identity, by conjugate gradients.

    In the eigenbasis of y = log(record) the Hessian multiplies entry (a, b) by c(d) = (d/2) coth(d/2),
    d = y_a - y_b (Pennec 2019, section 4.2). Its part 1 + b d² is v + b [y, [y, v]], whose mean needs only
    the second moments of y: it is taken over all records. The rest, c(d) - 1 - b d², is small: its mean is
    taken over a sample with these `logs` and `vectors`. Exact if the sample is everything.
    """
    squares = (logs[:, :, None] - logs[:, None, :]) ** 2
    factors = t_coth(np.sqrt(squares) / 2)
    slope = float((factors - 1).sum() / max(squares.sum(), TINY)) if moments.size else 0.0
    rest = factors - 1 - slope * squares
    k, transposed = vectors.shape[-1], np.swapaxes(vectors, -1, -2)
    columns = vectors.transpose(1, 0, 2).reshape(k, -1)
    twice_commuted = _double_commutator(moments, k) if moments.size else np.zeros_like

    def apply(v: Array) -> Array:
        inner = rest * (transposed @ (v @ columns).reshape(k, -1, k).transpose(1, 0, 2))
        sampled = (vectors @ inner).transpose(1, 0, 2).reshape(k, -1) @ columns.T / len(vectors)
        return symmetric_part(v + slope * twice_commuted(v) + sampled)

    return vecd(conjugate_gradients(apply, invvecd(g)))


def _double_commutator(moments: Array, k: int) -> Callable[[Array], Array]:
    """v -> mean of [y, [y, v]] = mean of y²v + vy² - 2yvy, from the mean products of the entries of y."""
    index = upper_index(k)
    products = moments[index[:, :, None, None], index]  # (i, j, l, m): mean of y_ij y_lm
    square = np.einsum("ijjm->im", products)
    middle = np.ascontiguousarray(products.transpose(0, 3, 1, 2)).reshape(k * k, k * k)
    return lambda v: square @ v + v @ square - 2 * (middle @ v.reshape(-1)).reshape(k, k)
