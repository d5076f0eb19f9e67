"""SPD matrices with the affine-invariant metric."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from riemdp.kernels.constants import SMALLEST_NORMAL, UNIT_ROUNDOFF
from riemdp.kernels.hermitian import spectrum_in_real_form
from riemdp.kernels.spectral import (
    Decomposition,
    LogSum,
    eigh,
    mean_and_inverse,
    sum_logs,
    symmetric_part,
    upper_index,
)
from riemdp.manifolds.balls import ball_sinhc
from riemdp.manifolds.base import FARTHEST, Array, Space
from riemdp.manifolds.capabilities import (
    ClosedFormMean,
    Curvature,
    Embedding,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    Spectra,
    SpectralBalls,
    VolumeDensity,
)
from riemdp.manifolds.growth import Growth, affine_growth, affine_rate
from riemdp.manifolds.local_model import conjugate_gradients
from riemdp.manifolds.scalars import log_sinhc, t_coth
from riemdp.manifolds.spd import LOG_TINY, SPD, definite, invvecd, matrix_exp, matrix_log, vecd, whitened_logs

if TYPE_CHECKING:
    from flint import arb

# Up to this size the Hessian of all records costs less than a Newton step from a sample of them.
LARGEST_HESSIAN = 5
# Past this size the fourth-order moments would take more room than they are worth.
LARGEST_MOMENTS = 40
# Numbers in the records up to which the logs of all of them at several points are held at a time.
LARGEST_PAIRING = 2**16


def _sample(points: Array, size: int) -> Array:
    """About `size` records, evenly spread."""
    return np.asarray(points[:: max(1, -(-len(points) // size))], dtype=np.float64)


@dataclass(frozen=True)
class SPDAffine(
    SPD,
    Space,
    FrechetModel,
    ClosedFormMean,
    Curvature,
    VolumeDensity,
    ExactPoints,
    GradientBounds,
    Embedding,
    Spectra,
    SpectralBalls,
):
    """Symmetric positive definite matrices with the affine-invariant metric (Pennec et al. 2006).

    Points have shape (k, k), such as covariances. <u, v>_p = tr(p⁻¹ u p⁻¹ v) does not change under congruence;
    rho(a, b) is the length of the vector of the logarithms of the eigenvalues of a⁻¹ b.
    Everything is computed in the frame of the Cholesky factor p = L Lᵀ, in which p is the identity:
    coordinates of v are vecd(L⁻¹ v L⁻ᵀ). Unlike the symmetric square root, L does not mix badly scaled rows.

    Parameters
    ----------
    k : int
        The number of rows, at least 1.

    Raises
    ------
    InputError
        If k is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    SPDLogEuclidean : The same matrices with a flat metric.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> round(float(rd.SPDAffine(2).dist(np.eye(2), np.diag([np.e, 1.0]))), 12)
    1.0
    """

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """[-1/2, 0]; 1 x 1 matrices are a line."""
        return (0.0 if self.k == 1 else -0.5, 0.0)

    def exp_coords(self, coords: Array, base: Array) -> Array:
        points = matrix_exp(invvecd(coords))
        if np.array_equal(base, self.origin):  # nothing to move: the same bits, without the work
            return points
        return definite(_congruence(np.linalg.cholesky(base), points))

    def log_coords(self, points: Array, base: Array) -> Array:
        whitener = np.linalg.inv(np.linalg.cholesky(base))
        return vecd(matrix_log(_congruence(whitener, points)))

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        return whitened_logs(raw, np.linalg.inv(np.linalg.cholesky(base)), np.zeros(self.dim))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return vecd(_congruence(np.linalg.inv(np.linalg.cholesky(base)), vectors))

    def from_coords(self, coords: Array, base: Array) -> Array:
        return _congruence(np.linalg.cholesky(base), invvecd(coords))

    def point_rounding(self, radius: float) -> float:
        """1 x 1 matrices are flat, and their mean is found in coordinates: one exp and one log, if floats hold it."""
        if self.k > 1:
            return 0.0
        return 8 * UNIT_ROUNDOFF * (1 + radius) if radius < -LOG_TINY else math.inf

    def mean_curvature(self, second_moment: Array) -> Array:
        """R_v w = -[[w, v], v]/4 = (2vwv - wv² - v²w)/4, at the identity; the frames are congruences."""
        k, basis = self.k, invvecd(np.eye(self.dim)).reshape(self.dim, -1)
        entries = (basis.T @ second_moment @ basis).reshape(k, k, k, k)  # E[v_ij v_lm]
        square = entries.trace(axis1=1, axis2=2)
        around = entries.transpose(0, 3, 1, 2).reshape(k * k, k * k) @ basis.T  # E[v w v], w each of the basis
        beside = symmetric_part(basis.reshape(-1, k, k) @ square).reshape(self.dim, -1)  # (w E[v²] + E[v²] w)/2
        return np.asarray(symmetric_part(basis @ (around - beside.T)) / 2)

    def log_density(self, coords: Array) -> Array:
        """Sum over i < j of log sinhc((r_i - r_j)/2), r the eigenvalues of the whitened vector."""
        values, _ = eigh(invvecd(coords))
        i, j = np.triu_indices(self.k, 1)
        return np.asarray(log_sinhc((values[..., i] - values[..., j]) / 2).sum(axis=-1))

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """L exp(v) Lᵀ, at the point L Lᵀ of the computed Cholesky factor L of the base."""
        from flint import arb_mat

        factor = arb_mat(np.linalg.cholesky(base).tolist())
        return list((factor * arb_mat(self._ideal_matrix(coords)).exp() * factor.transpose()).entries())

    @property
    def growth_rate(self) -> float:
        return affine_rate(self.k)

    def volume_growth(self, t: float) -> Growth:
        return affine_growth(self.k, t)

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import acb_mat, arb

        try:
            values = [value.real for value in acb_mat(self._ideal_matrix(coords)).eig(multiple=True)]
        except ValueError:  # the balls are too wide to tell the eigenvalues
            return arb.nan()
        return math.prod((ball_sinhc((x - y) / 2) for x, y in combinations(values, 2)), start=arb(1)).log()

    def _ideal_matrix(self, coords: list[arb]) -> list[list[arb]]:
        """The symmetric matrix with these coordinates: `invvecd`."""
        from flint import arb

        matrix, root = [[x] * self.k for x in coords[: self.k]], arb(2).sqrt()
        for (i, j), x in zip(combinations(range(self.k), 2), coords[self.k :], strict=True):
            matrix[i][j] = matrix[j][i] = x / root
        return matrix

    def from_ambient(self, ambient: Array) -> Array:
        """Eigenvalues that rounding made negative, or zero, are lifted."""
        largest = float(np.abs(ambient).max()) / FARTHEST
        return definite(ambient / max(1.0, largest) + SMALLEST_NORMAL * self.origin)

    def ambient_step(self, length: float, farthest: float) -> float:
        """Eigenvalues are at least e^-farthest: a whitened change E, |E| <= 1/2, moves by |log(1 + E)| <= 2|E|."""
        return min(length, 1.0) / 2 * math.exp(-farthest)

    def mean_start(self, points: Array) -> Array:
        """The midpoint of the arithmetic and the harmonic mean: no eigenvalues, third-order accurate."""
        try:
            arithmetic, inverse = mean_and_inverse(points)
            harmonic = np.linalg.inv(inverse)
            with np.errstate(invalid="ignore"):  # infinite records
                start = self.exp_coords(self.log_coords(symmetric_part(harmonic), arithmetic) / 2, arithmetic)
        except np.linalg.LinAlgError:
            self._refuse(points)
        return start if np.isfinite(start).all() else self._refuse(points)

    def local_model(
        self, points: Array, x: Array, *, hessian: bool = True, decompose: Decomposition = np.linalg.eigh
    ) -> LocalModel:
        whitener = np.linalg.inv(np.linalg.cholesky(x))
        exact = hessian and self.k <= LARGEST_HESSIAN
        moments = hessian and not exact and self.k <= LARGEST_MOMENTS and len(points) > self._sample_size
        sums = sum_logs(points, whitener, moments=moments, hessian=exact, decompose=decompose)
        if not sums.is_valid:
            self._refuse(points)
        # The gradient is exact at the point (wᵀw)⁻¹ that the computed whitener w stands for.
        drift = float(np.linalg.norm(_congruence(whitener, x) - np.eye(self.k)))
        return LocalModel(
            descent=vecd(sums.total / sums.count),
            step=lambda g: self._step(g, points, whitener, sums),
            convexity=1.0,
            valid_within=np.inf,
            across=1.0,
            farthest=0.0,
            rounding=sums.rounding + 2 * drift + self._representation(x),
        )

    def _step(self, g: Array, points: Array, whitener: Array, sums: LogSum) -> Array:
        if sums.hessian.size:
            return np.linalg.solve(sums.hessian, g)
        return _newton_step(g, sums.moments, *self._spectrum(points, whitener, sums))

    @property
    def _sample_size(self) -> int:
        """Records of which the Newton step takes the eigenvectors: as much work as the step is worth."""
        return min(512, max(64, 2**18 // self.k**3))

    def _spectrum(self, points: Array, whitener: Array, sums: LogSum) -> tuple[Array, Array]:
        """Logs of the eigenvalues, and eigenvectors, of a sample of the whitened records."""
        if sums.spectrum is not None:
            logs, vectors = sums.spectrum
            stride = 1 if self.k <= LARGEST_HESSIAN else max(1, -(-len(logs) // self._sample_size))
            return spectrum_in_real_form(logs[::stride], vectors[::stride])
        values, vectors = eigh(_congruence(whitener, _sample(points, self._sample_size)))
        return np.log(values), vectors

    def gradient_norms(self, points: Array, candidates: Array) -> Array:
        """All pairs at once if there are few records, else one candidate after the other."""
        if len(points) * self.k**2 < LARGEST_PAIRING:
            return super().gradient_norms(points, candidates)
        whiteners = np.linalg.inv(np.linalg.cholesky(candidates))
        return np.array([np.linalg.norm(sum_logs(points, w).total) for w in whiteners]) / len(points)

    def rounding_limit(self, radius: float, n: int) -> float:
        """From the traces of records and x and of their inverses; whitened records have eigenvalues above e^-2r."""
        r = min(radius, 100.0)
        conditioning = self._largest_trace(r) ** 2 * math.exp(2 * r)
        return UNIT_ROUNDOFF * (12 * (self.k + 1) * conditioning + (2048 + n // 32) * 2 * radius)

    def _largest_trace(self, r: float) -> float:
        """The largest trace of points within r of the identity, whose logs have eigenvalues a with sum a² <= r².

        (e^a - 1 - a)/a² increases, so e^a <= 1 + a + (a/r)² (e^r - 1 - r), and sum a <= sqrt(k) r.
        """
        return self.k - 1 + math.exp(r) + (math.sqrt(self.k) - 1) * r

    def step_limit(self, radius: float) -> float:
        """Rounding of products and roots of matrices, times the condition number e^2r."""
        return 8 * (self.k + 1) ** 2 * UNIT_ROUNDOFF * math.exp(2 * min(radius, 100.0))

    def _representation(self, x: Array) -> float:
        """Distance by which float64 may miss a point: u times its (scaled) condition number."""
        scale = 1 / np.sqrt(np.diagonal(x))
        values = np.linalg.eigvalsh(x * scale[:, None] * scale)
        return float(4 * (self.k + 1) * UNIT_ROUNDOFF * self.k / max(values[0], UNIT_ROUNDOFF))

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "spd-affine"

    @property
    def words(self) -> str:
        return f"positive definite {self.k} × {self.k} matrices (affine-invariant metric)"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(2), cls(4)]


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
    slope = float((factors - 1).sum() / max(squares.sum(), SMALLEST_NORMAL)) if moments.size else 0.0
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
    middle = moments.reshape(-1)[_products(k)]
    square = middle.reshape(k, k, k, k).trace(axis1=2, axis2=3)
    return lambda v: square @ v + v @ square - 2 * (middle @ v.reshape(-1)).reshape(k, k)


@cache
def _products(k: int) -> NDArray[np.int64]:
    """(k², k²): where the moments have the mean of y_ij y_lm for row (i, m) and column (j, l)."""
    index = upper_index(k)
    position = index[:, None, :, None] * (k * (k + 1) // 2) + index.T[None, :, None, :]
    return position.reshape(k * k, k * k)
