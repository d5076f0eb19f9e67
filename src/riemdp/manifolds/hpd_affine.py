"""Hermitian positive definite matrices with the affine-invariant metric."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from riemdp.errors import RiemdpError
from riemdp.kernels.hermitian import as_complex, as_real, eigh_of_real_form
from riemdp.kernels.spectral import eigh
from riemdp.manifolds.balls import ball_sinhc
from riemdp.manifolds.base import Array, Space
from riemdp.manifolds.capabilities import (
    Curvature,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    SpectralBalls,
    VolumeDensity,
)
from riemdp.manifolds.growth import Growth, affine_growth, affine_rate
from riemdp.manifolds.hpd import HPD, SQRT2, basis
from riemdp.manifolds.scalars import log_sinhc
from riemdp.manifolds.spd import invvecd
from riemdp.manifolds.spd_affine import SPDAffine

if TYPE_CHECKING:
    from flint import acb, acb_mat, arb


@dataclass(frozen=True)
class HPDAffine(HPD, Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds, SpectralBalls):
    """Hermitian positive definite matrices, such as cross-spectra, with the affine-invariant metric.

    Points are complex, of shape (k, k); <u, v>_p = tr(p⁻¹ u p⁻¹ v) does not change under congruence x -> a x a*. Real
    matrices are taken as well; what comes out is complex.

    Parameters
    ----------
    k : int
        The number of rows, at least 2: a single one is `SPDAffine(1)`.

    Raises
    ------
    InputError
        If k is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    HPDLogEuclidean : The same matrices with a flat metric.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> round(float(rd.HPDAffine(2).dist(np.eye(2), [[2.0, 1.0j], [-1.0j, 2.0]])), 6)
    1.098612
    """

    @property
    def _real(self) -> SPDAffine:
        return SPDAffine(2 * self.k)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """[-1/2, 0], as for real matrices."""
        return (-0.5, 0.0)

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return self._real.exp_coords(self.doubled(coords), base)

    def log_coords(self, points: Array, base: Array) -> Array:
        return self.halved(self._real.log_coords(points, base))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        return self.halved(self._real.to_coords(vectors, base))

    def from_coords(self, coords: Array, base: Array) -> Array:
        return self._real.from_coords(self.doubled(coords), base)

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        logs, usable = self._real.record_log(raw, base)
        return self.halved(logs), usable

    def mean_curvature(self, second_moment: Array) -> Array:
        """The mean curvature of real matrices, for vectors among the Hermitian ones."""
        rows = basis(self.k)
        return np.asarray(rows @ self._real.mean_curvature(rows.T @ second_moment @ rows) @ rows.T) / 2

    # --- volumes ------------------------------------------------------------------------------------------------

    def log_density(self, coords: Array) -> Array:
        """Twice the sum over i < j of log sinhc((r_i - r_j)/2), r the eigenvalues of the whitened vector."""
        values = np.sort(eigh(invvecd(self.doubled(coords)))[0], axis=-1)[..., ::2]
        i, j = np.triu_indices(self.k, 1)
        return np.asarray(2 * log_sinhc((values[..., i] - values[..., j]) / 2).sum(axis=-1))

    @property
    def growth_rate(self) -> float:
        return 2 * affine_rate(self.k)

    def volume_growth(self, t: float) -> Growth:
        """Twice the logarithm of real k x k matrices, at every length of the vector of eigenvalues."""
        return Growth(*(2 * part for part in affine_growth(self.k, t)))

    # --- exact points -------------------------------------------------------------------------------------------

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """L exp(v) L*, in real form, at the point L L* of the computed Cholesky factor L, made complex again."""
        from flint import acb_mat

        factor = acb_mat(as_complex(np.linalg.cholesky(base)).tolist())
        return _ideal_real((factor * self._ideal_matrix(coords).exp() * factor.conjugate().transpose()).tolist())

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        try:
            values = [value.real for value in self._ideal_matrix(coords).eig(multiple=True)]
        except ValueError:  # the balls are too wide to tell the eigenvalues
            return arb.nan()
        return 2 * math.prod((ball_sinhc((x - y) / 2) for x, y in combinations(values, 2)), start=arb(1)).log()

    def _ideal_matrix(self, coords: list[arb]) -> acb_mat:
        """The Hermitian matrix with these coordinates."""
        from flint import acb, acb_mat, arb

        root, pairs = arb(2).sqrt(), self.k * (self.k - 1) // 2
        matrix = acb_mat(self.k, self.k)
        for i in range(self.k):
            matrix[i, i] = acb(coords[i])
        upper = zip(combinations(range(self.k), 2), coords[self.k :], coords[self.k + pairs :], strict=False)
        for (i, j), x, y in upper:
            matrix[i, j], matrix[j, i] = acb(x / root, y / root), acb(x / root, -y / root)
        return matrix

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return self.inner_shape

    def from_ambient(self, ambient: Array) -> Array:
        """The nearest of complex form, eigenvalues that rounding made negative, or zero, lifted."""
        return self._real.from_ambient(as_real(as_complex(ambient)))

    def ambient_step(self, length: float, farthest: float) -> float:
        """The step of real matrices: all lengths are sqrt 2 times as long there."""
        return self._real.ambient_step(SQRT2 * length, SQRT2 * farthest)

    # --- means --------------------------------------------------------------------------------------------------

    def mean_start(self, points: Array) -> Array:
        try:
            return as_real(as_complex(self._real.mean_start(points)))
        except RiemdpError:
            self._refuse(points)

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:
        """The model of the real forms, a totally geodesic part of the real matrices of twice the size."""
        model = self._model(points, x, hessian)
        return replace(
            model,
            descent=self.halved(model.descent),
            step=lambda g: self.halved(model.step(self.doubled(g))),
            rounding=model.rounding / SQRT2,
        )

    def _model(self, points: Array, x: Array, hessian: bool) -> LocalModel:
        try:
            return self._real.local_model(points, x, hessian=hessian, decompose=eigh_of_real_form)
        except RiemdpError:  # of real forms
            self._refuse(points)

    def rounding_limit(self, radius: float, n: int) -> float:
        return self._real.rounding_limit(SQRT2 * radius, n) / SQRT2

    def step_limit(self, radius: float) -> float:
        return self._real.step_limit(SQRT2 * radius) / SQRT2

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "hpd-affine"

    @property
    def words(self) -> str:
        return f"Hermitian positive definite {self.k} × {self.k} matrices (affine-invariant metric)"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(2), cls(3)]


def _ideal_real(rows: list[list[acb]]) -> list[arb]:
    """Entries of the real form of a Hermitian matrix, row by row.

    Its diagonal is real: balls around 0 would have to be smaller than the grid, however large the other entries are.
    """
    from flint import arb

    found: list[arb] = []
    for i, row in enumerate(rows):
        parts = [(z.real, arb(0) if i == j else z.imag) for j, z in enumerate(row)]
        found += [x for a, b in parts for x in (a, -b)]
        found += [x for a, b in parts for x in (b, a)]
    return found
