"""Correlation matrices with the off-log metric: the off-diagonal part of their logarithms, as a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from riemdp.arguments import whole_number
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import asymmetry, eigh, positive_definite, record_logs, sum_logs, symmetric_part
from riemdp.manifolds.base import MEMBERSHIP_TOL, TANGENT_TOL, Array, Space
from riemdp.manifolds.capabilities import (
    ClosedFormMean,
    ExactPoints,
    FlatMean,
    GradientBounds,
    SpectralBalls,
    VolumeDensity,
)
from riemdp.manifolds.description import Remark
from riemdp.manifolds.flat_chart import FlatChart
from riemdp.manifolds.remarks import ASYMMETRIC
from riemdp.manifolds.scalars import norm
from riemdp.manifolds.spd import SPD, definite, invvecd, matrix_log, vecd
from riemdp.manifolds.spd_log_euclidean import log_slopes, sandwich
from riemdp.manifolds.unit_diagonals import diagonal_response, unit_diagonal_exp

MARGIN = 1 + 2.0**-40  # more than the roundings of a radius
# No float64 matrix has logarithms of eigenvalues farther apart than some 40: beyond, a release is pulled back.
FARTHEST_LOG = 300.0


@dataclass(frozen=True)
class Correlations(FlatChart, SPD, Space, ClosedFormMean, VolumeDensity, ExactPoints, GradientBounds, SpectralBalls):
    """Correlation matrices of full rank, with the off-log metric (Thanwerdas and Pennec 2022).

    Points have shape (k, k) and the diagonal 1, whatever is done with them. rho(a, b) = ‖off(log a) - off(log b)‖,
    off = without the diagonal: by off∘log this is R^{k(k-1)/2}, flat, and the same for any order of the variables.
    `project` takes covariance matrices, and so do releases.

    Parameters
    ----------
    k : int
        The number of variables, at least 2.

    Raises
    ------
    InputError
        If k is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    Ball.from_eigenvalue_bounds : The ball of all matrices with a least eigenvalue.

    Examples
    --------
    >>> import riemdp as rd
    >>> rd.Correlations(2).project([[4.0, 1.0], [1.0, 1.0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    @property
    def dim(self) -> int:
        """k(k-1)/2, the entries above the diagonal."""
        return self.k * (self.k - 1) // 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number(self.k, "k", 2))

    # --- the chart --------------------------------------------------------------------------------------------

    def to_chart(self, points: Array) -> Array:
        return vecd(matrix_log(points))[..., self.k :]

    def from_chart(self, values: Array) -> Array:
        """exp(S + D) with the diagonal D that makes its diagonal 1, scaled to that exactly; NaN if S is too long."""
        in_range = norm(values) <= FARTHEST_LOG
        hollow = self._hollow(np.where(in_range[..., None], values, np.nan))
        return self._scaled(definite(unit_diagonal_exp(hollow)))

    def _hollow(self, values: Array) -> Array:
        """Symmetric matrices with these entries off the diagonal, and 0 on it."""
        return invvecd(np.concatenate([np.zeros((*values.shape[:-1], self.k)), values], axis=-1))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        """The differential of log (Daleckii-Krein), off the diagonal."""
        values, frame = eigh(base)
        return vecd(sandwich(vectors, frame, log_slopes(values)))[..., self.k :]

    def from_coords(self, coords: Array, base: Array) -> Array:
        """The differential of exp at log(base), of the hollow matrix plus the diagonal that keeps the diagonal."""
        values, frame = eigh(base)
        slopes, hollow = 1 / log_slopes(values), self._hollow(coords)
        moved = np.diagonal(sandwich(hollow, frame, slopes), axis1=-2, axis2=-1)
        diagonal = np.linalg.solve(diagonal_response(frame, slopes), -moved[..., None])
        vectors = sandwich(hollow + diagonal * np.eye(self.k), frame, slopes)
        vectors[..., range(self.k), range(self.k)] = 0.0
        return vectors

    # --- what is a correlation matrix ------------------------------------------------------------------------

    def are_points(self, points: Array) -> Array:
        diagonal = np.diagonal(points, axis1=-2, axis2=-1)
        ones = (np.abs(diagonal - 1) <= MEMBERSHIP_TOL).all(axis=-1)
        return np.asarray(ones & (asymmetry(points) <= 0.0) & positive_definite(symmetric_part(points)))

    def settle(self, points: Array) -> Array:
        return self._scaled(symmetric_part(points))

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        size = np.abs(vectors).max(axis=(-2, -1))
        diagonal = np.abs(np.diagonal(vectors, axis1=-2, axis2=-1)).max(axis=-1)
        return np.asarray(super().are_tangent(vectors, base) & (diagonal <= TANGENT_TOL * size))

    def to_points(self, raw: Array) -> Array:
        """Covariances, symmetrised and divided by the standard deviations; what is not positive definite is NaN."""
        return self._scaled(super().to_points(raw))

    def _scaled(self, covariances: Array) -> Array:
        """With the diagonal 1 exactly; NaN where it is not positive."""
        with np.errstate(all="ignore"):
            deviations = np.sqrt(np.diagonal(covariances, axis1=-2, axis2=-1))
            scaled = covariances / deviations[..., :, None] / deviations[..., None, :]
        diagonal = np.where(np.isfinite(scaled[..., range(self.k), range(self.k)]), 1.0, np.nan)
        scaled[..., range(self.k), range(self.k)] = diagonal
        return np.asarray(scaled)

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        scaled = self._scaled(symmetric_part(raw))
        usable = np.asarray(np.isfinite(scaled).all(axis=(1, 2)))
        logs, definite_ones = record_logs(np.where(usable[:, None, None], scaled, self.origin))
        return logs[:, self.k :] - self.to_chart(base), usable & definite_ones

    # --- means ---------------------------------------------------------------------------------------------------

    def closed_form_mean(self, points: Array) -> FlatMean:
        """The mean of the logarithms, off the diagonal; how far the point's own chart is from it is looked at."""
        diagonals = np.diagonal(points, axis1=1, axis2=2)
        if not (np.abs(diagonals - 1) <= MEMBERSHIP_TOL).all():
            self._refuse(points)
        sums = sum_logs(points if (diagonals == 1).all() else self._scaled(symmetric_part(np.asarray(points, float))))
        if not sums.is_valid:
            self._refuse(points)
        mean = vecd(sums.total / sums.count)[self.k :]
        point = self.from_chart(mean)
        missed = float(np.linalg.norm(self.to_chart(point) - mean))
        return FlatMean(point, sums.rounding + missed + self._log_rounding(point))

    def _log_rounding(self, point: Array) -> float:
        """The rounding of the logarithm of one matrix, as `LogSum.rounding` has it."""
        return float(4 * (self.k + 1) * UNIT_ROUNDOFF * self.k / max(np.linalg.eigvalsh(point)[0], UNIT_ROUNDOFF))

    def point_rounding(self, radius: float) -> float:
        """Eigenvalues of a matrix within r of the identity are at least exp(-r - max(1, r e^{r/2})): the proof."""
        r = min(radius, 20.0)
        logs = min(r + max(1.0, r * math.exp(r / 2)), 700.0)
        return 16 * (self.k + 1) * self.k * UNIT_ROUNDOFF * math.exp(logs)

    def from_ambient(self, ambient: Array) -> Array:
        """Vectors too long for a float64 matrix are shortened."""
        most = FARTHEST_LOG / 2
        return self.from_chart(ambient * (most / max(most, float(norm(ambient)))))

    # --- the ball of all matrices with a least eigenvalue -----------------------------------------------------

    @property
    def greatest_eigenvalue(self) -> float:
        """No eigenvalue is above k, the trace."""
        return float(self.k)

    def spectral_center(self, low: float, high: float) -> Array:  # noqa: ARG002
        """The identity, whatever the bounds are."""
        return self.origin

    def spectral_radius(self, low: float, high: float) -> float:
        """Two bounds of ‖off(log c)‖, the smaller: docs/proofs/spaces/correlations.md."""
        top = min(high, self.k - (self.k - 1) * low)
        if not low <= 1 <= top:
            return 2.0**-40
        gap = math.log(top) - math.log(low)
        spread = (self.k // 2) * (self.k - self.k // 2) / self.k * gap**2
        norms = (self.k - 1) * math.log(low) ** 2 + math.log(top) ** 2 if low * top <= 1 else math.inf
        return MARGIN * math.sqrt(min(spread, norms)) + 2.0**-40

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "correlations"
    remarks: ClassVar[tuple[Remark, ...]] = (ASYMMETRIC,)

    @property
    def words(self) -> str:
        return f"correlation matrices of {self.k} variables (off-log metric)"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(2), cls(5)]
