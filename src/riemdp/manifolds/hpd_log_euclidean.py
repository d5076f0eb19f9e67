"""Hermitian positive definite matrices with the log-Euclidean metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.hermitian import as_real, eigh_of_real_form
from riemdp.kernels.spectral import record_logs, sum_logs, symmetric_part
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
from riemdp.manifolds.hpd import HPD
from riemdp.manifolds.spd import SQRT2, exponentials, invvecd, matrix_exp, matrix_log, vecd
from riemdp.manifolds.spd_log_euclidean import SPDLogEuclidean


@dataclass(frozen=True)
class HPDLogEuclidean(FlatChart, HPD, Space, ClosedFormMean, VolumeDensity, ExactPoints, GradientBounds, SpectralBalls):
    """Hermitian positive definite matrices, such as cross-spectra, with the log-Euclidean metric.

    Points are complex, of shape (k, k), and rho(a, b) = ‖log a - log b‖_F: by log this is R^{k²}, flat. Real
    matrices are taken as well; what comes out is complex.

    Parameters
    ----------
    k : int
        The number of rows, at least 2: a single one is `SPDLogEuclidean(1)`.

    Raises
    ------
    InputError
        If k is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    HPDAffine : The same matrices with the affine-invariant metric.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> round(float(rd.HPDLogEuclidean(2).dist(np.eye(2), [[2.0, 1.0j], [-1.0j, 2.0]])), 6)
    1.098612
    """

    def to_chart(self, points: Array) -> Array:
        return self.halved(vecd(matrix_log(points)))

    def from_chart(self, values: Array) -> Array:
        return matrix_exp(invvecd(self.doubled(values)))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return self.halved(self._real.to_coords(vectors, base))

    def from_coords(self, coords: Array, base: Array) -> Array:
        return self._real.from_coords(self.doubled(coords), base)

    @property
    def _real(self) -> SPDLogEuclidean:
        return SPDLogEuclidean(2 * self.k)

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        logs, usable = record_logs(raw)
        return self.halved(logs) - self.to_chart(base), usable

    def from_ambient(self, ambient: Array) -> Array:
        """exp, the logarithm pulled back where an eigenvalue is out of range."""
        largest = float(np.abs(ambient).max()) or 1.0
        top = float(np.abs(np.linalg.eigvalsh(invvecd(self.doubled(ambient / largest)))).max()) * largest
        return self.from_chart(ambient * min(1.0, math.log(FARTHEST) / (top or 1.0)))

    def closed_form_mean(self, points: Array) -> FlatMean:
        """exp(mean(log x_i)) in one pass; the point itself is rounded to u times its condition number."""
        sums = sum_logs(points, decompose=eigh_of_real_form)
        if not sums.is_valid:
            self._refuse(points)
        values, vectors = eigh_of_real_form(sums.total / sums.count)
        own = 4 * (2 * self.k + 1) * UNIT_ROUNDOFF * math.exp(min(values[-1] - values[0], 700.0))
        point = (vectors * exponentials(values, 2 * self.k)) @ vectors.conj().T
        return FlatMean(symmetric_part(as_real(point)), (sums.rounding + own) / SQRT2)

    def point_rounding(self, radius: float) -> float:
        """The rounding of real matrices of twice the size, where lengths are sqrt 2 times as long."""
        return self._real.point_rounding(SQRT2 * radius) / SQRT2

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "hpd-log-euclidean"

    @property
    def words(self) -> str:
        return f"Hermitian positive definite {self.k} × {self.k} matrices (log-Euclidean metric)"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(2), cls(3)]
