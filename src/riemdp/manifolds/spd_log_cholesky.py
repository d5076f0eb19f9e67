"""SPD matrices with the log-Cholesky metric: their Cholesky factors as vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.kernels.factors import (
    conditioning_of_one,
    factor_rounding,
    log_cholesky,
    most_lost,
    record_factors,
    strict_upper,
    sum_factors,
)
from riemdp.kernels.spectral import positive_definite, symmetric_part
from riemdp.manifolds.base import FARTHEST, Array, Space
from riemdp.manifolds.capabilities import (
    ClosedFormMean,
    ExactPoints,
    FlatMean,
    GradientBounds,
    SpectralBalls,
    VolumeDensity,
)
from riemdp.manifolds.flat_chart import FlatChart
from riemdp.manifolds.scalars import norm
from riemdp.manifolds.spd import LOG_HUGE, LOG_TINY, SPD, definite

MARGIN = 1 + 2.0**-40  # more than the roundings of a radius
LOST = 1e-3  # of a chart, or at all if it is shorter than 1: no more may be lost on the way through a matrix


@dataclass(frozen=True)
class SPDLogCholesky(FlatChart, SPD, Space, ClosedFormMean, VolumeDensity, ExactPoints, GradientBounds, SpectralBalls):
    """Symmetric positive definite matrices with the log-Cholesky metric (Lin 2019).

    Points have shape (k, k). By (log diag L, strict lower triangle) of p = L Lᵀ this is R^{k(k+1)/2}:
    rho(p, q)² = sum (log L_jj - log K_jj)² + sum_{i>j} (L_ij - K_ij)². No eigenvalues, so the fastest of the metrics;
    it depends on the order of the variables and, unlike the other two, on their unit.

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
    SPDLogEuclidean, SPDAffine : The same matrices with other metrics.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> round(float(rd.SPDLogCholesky(2).dist(np.eye(2), np.diag([np.e, 1.0]))), 12)
    0.5
    """

    def to_chart(self, points: Array) -> Array:
        return log_cholesky(np.linalg.cholesky(points))

    def from_chart(self, values: Array) -> Array:
        """L Lᵀ; NaN where float64 keeps too little of it to tell L again."""
        points = _square(self._factor(values))
        has_factor = positive_definite(points)[..., None, None]
        charts = self.to_chart(np.where(has_factor, points, self.origin))
        is_told = norm(charts - values) <= LOST * np.maximum(norm(values), 1.0)
        return np.where(has_factor & is_told[..., None, None], points, np.nan)

    def _factor(self, values: Array) -> Array:
        logs, (i, j) = values[..., : self.k], strict_upper(self.k)
        entries = np.zeros((*values.shape[:-1], self.k**2))
        in_range = (2 * logs > LOG_TINY) & (2 * logs < LOG_HUGE)
        entries[..., :: self.k + 1] = np.exp(np.where(in_range, logs, np.nan))
        entries[..., self.k * j + i] = values[..., self.k :]
        return entries.reshape(*values.shape[:-1], self.k, self.k)

    def to_coords(self, vectors: Array, base: Array) -> Array:
        """The differential of the chart: dL = L times the lower triangle, half of the diagonal, of L⁻¹ v L⁻ᵀ."""
        factor = np.linalg.cholesky(base)
        inverse, (i, j) = np.linalg.inv(factor), strict_upper(self.k)
        inner = _half_lower(inverse @ vectors @ np.swapaxes(inverse, -1, -2))
        strict = (factor @ inner)[..., j, i]
        return np.concatenate([np.diagonal(inner, axis1=-2, axis2=-1), strict], axis=-1)

    def from_coords(self, coords: Array, base: Array) -> Array:
        factor, (i, j) = np.linalg.cholesky(base), strict_upper(self.k)
        moved = np.zeros(np.broadcast_shapes((*coords.shape[:-1], 1, 1), factor.shape))
        moved[..., j, i] = coords[..., self.k :]
        diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
        moved[..., range(self.k), range(self.k)] = coords[..., : self.k] * diagonal
        return 2 * symmetric_part(moved @ np.swapaxes(factor, -1, -2))

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        charts, usable = record_factors(raw)
        charts -= self.to_chart(base)
        return charts, usable

    def from_ambient(self, ambient: Array) -> Array:
        """L Lᵀ, logarithms and entries pulled back where their squares would be out of range."""
        most = np.where(np.arange(self.dim) < self.k, math.log(FARTHEST) / 2, math.sqrt(FARTHEST))
        return _product(self._factor(np.clip(ambient, -most, most)))

    # --- means ---------------------------------------------------------------------------------------------

    def closed_form_mean(self, points: Array) -> FlatMean:
        """The mean of the charts in one pass; the point itself is rounded as every record is."""
        sums = sum_factors(points)
        if not sums.is_valid:
            self._refuse(points)
        factor = self._factor(sums.total / sums.count)
        own = conditioning_of_one(factor)
        point = symmetric_part(factor @ factor.T)  # if the bound is finite, it has a factor
        return FlatMean(point if own < math.inf else definite(point), sums.rounding + factor_rounding(self.k, own))

    def point_rounding(self, radius: float) -> float:
        """From bounds on L and L⁻¹ within the radius of the identity: docs/proofs/spaces/spd_log_cholesky.md."""
        r = min(radius, 30.0)
        size = math.sqrt(self.k * math.exp(2 * r) + r * r)
        inverse = math.exp(r) * sum((r * math.exp(r)) ** m for m in range(self.k)) if r < 5 else math.inf
        rows = self.k * (size * inverse) ** 2
        return 2 * factor_rounding(self.k, rows * (0.5 + size)) if rows <= most_lost(self.k) else math.inf

    # --- the ball of all spectra between two bounds -----------------------------------------------------------

    def spectral_radius(self, low: float, high: float) -> float:
        """sqrt(h²/4 + (k - 1) max_x (2c (cosh h - cosh x) + x²/4)), c = sqrt(low high), h = log(high/low)/2, |x| <= h.

        docs/proofs/spaces/spd_log_cholesky.md; it is the ball around c times the identity.
        """
        scale, half = math.sqrt(low) * math.sqrt(high), (math.log(high) - math.log(low)) / 2
        row = _largest_row(scale, half)
        return MARGIN * math.sqrt(half**2 / 4 + (self.k - 1) * row) + 2.0**-40

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "spd-log-cholesky"

    @property
    def words(self) -> str:
        return f"positive definite {self.k} × {self.k} matrices (log-Cholesky metric)"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(3)]


def _square(factor: Array) -> Array:
    """L Lᵀ, symmetric whatever was rounded."""
    return symmetric_part(factor @ np.swapaxes(factor, -1, -2))


def _product(factor: Array) -> Array:
    """L Lᵀ as a point: lifted if it has no factor any more."""
    return definite(_square(factor))


def _half_lower(a: Array) -> Array:
    """The lower triangle with half of the diagonal: what a Cholesky factor's differential takes."""
    lower = np.tril(a)
    k = a.shape[-1]
    lower[..., range(k), range(k)] /= 2
    return lower


def _largest_row(scale: float, half: float) -> float:
    """max over 0 <= x <= half of 2c (cosh half - cosh x) + x²/4: where 4c sinh x = x, or at an end."""
    if 4 * scale * math.sinh(half) <= half:
        return half**2 / 4
    low, high = 0.0, half
    for _ in range(200):  # the derivative falls through 0 between them, if it rises at all
        middle = (low + high) / 2
        low, high = (middle, high) if 4 * scale * math.sinh(middle) < middle else (low, middle)
    return 4 * scale * math.sinh((half + low) / 2) * math.sinh((half - low) / 2) + high**2 / 4
