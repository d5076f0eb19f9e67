"""SPD matrices with the log-Euclidean metric: a vector space in disguise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from riemdp.arguments import check_batches, finite_array, random_generator, real_array, whole_number
from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.kernels.spectral import eigh, symmetric_part
from riemdp.manifolds.base import FARTHEST, Array, Space
from riemdp.manifolds.capabilities import (
    ClosedFormMean,
    Embedding,
    ExactPoints,
    GradientBounds,
    Spectra,
    SpectralBalls,
    VolumeDensity,
)
from riemdp.manifolds.spd import SPD, SQRT2, invvecd, matrix_exp, matrix_log, vecd, whitened_logs

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class SPDLogEuclidean(
    SPD, Space, ClosedFormMean, VolumeDensity, ExactPoints, GradientBounds, Embedding, Spectra, SpectralBalls
):
    """Symmetric positive definite matrices with the log-Euclidean metric (Arsigny et al. 2007).

    Points have shape (k, k), and rho(a, b) = ‖log a - log b‖_F: by vecd∘log this is R^{k(k+1)/2}. It is flat: means
    have a closed form, and noise is that of a vector space.

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
    SPDAffine : The same matrices with the affine-invariant metric.
    LogGaussian : A law on them.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> round(float(rd.SPDLogEuclidean(2).dist(np.eye(2), np.diag([np.e, 1.0]))), 12)
    1.0
    """

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """(0, 0): the space is flat."""
        return (0.0, 0.0)

    def exp_coords(self, coords: Array, base: Array) -> Array:
        return matrix_exp(matrix_log(base) + invvecd(coords))

    def log_coords(self, points: Array, base: Array) -> Array:
        return vecd(matrix_log(points) - matrix_log(base))

    def record_log(self, raw: Array, base: Array) -> tuple[Array, Array]:
        return whitened_logs(raw, None, vecd(matrix_log(base)))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        """The differential of log at the base (Daleckii-Krein), isometric by definition of the metric."""
        values, vectors_of_base = eigh(base)
        return vecd(sandwich(vectors, vectors_of_base, log_slopes(values)))

    def from_coords(self, coords: Array, base: Array) -> Array:
        values, vectors_of_base = eigh(base)
        return sandwich(invvecd(coords), vectors_of_base, 1 / log_slopes(values))

    def point_rounding(self, radius: float) -> float:
        """The condition number of a matrix within the radius of the identity is at most exp(sqrt(2) r)."""
        return 4 * (self.k + 1) * UNIT_ROUNDOFF * math.exp(min(SQRT2 * radius, 700.0))

    def log_density(self, coords: Array) -> Array:
        return np.zeros(coords.shape[:-1])

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """vecd(log x); the computed logarithm of the base is taken as exact."""
        return [c + x for c, x in zip(coords, vecd(matrix_log(base)).tolist(), strict=True)]

    def ideal_log_density(self, coords: list[arb]) -> arb:  # noqa: ARG002
        from flint import arb

        return arb(0)

    @property
    def ambient_shape(self) -> tuple[int, ...]:
        return (self.dim,)

    def from_ambient(self, ambient: Array) -> Array:
        """exp, the logarithm pulled back where an eigenvalue is out of range."""
        largest = float(np.abs(ambient).max()) or 1.0
        spectrum = np.linalg.eigvalsh(invvecd(ambient / largest))
        top = float(np.abs(spectrum).max()) * largest
        return matrix_exp(invvecd(ambient * min(1.0, math.log(FARTHEST) / (top or 1.0))))

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        return length

    # --- the vector space ---------------------------------------------------------------------------------

    def vecd(self, matrix: ArrayLike) -> Array:
        """Isometry of symmetric matrices onto R^{k(k+1)/2}: (diagonal, sqrt2·strict upper triangle).

        Parameters
        ----------
        matrix : array of shape (..., k, k)
            Symmetric matrices.

        Returns
        -------
        array of shape (..., k(k+1)/2)
            Vectors of the same length.

        Raises
        ------
        InputError
            If a matrix is not symmetric or not finite.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.SPDLogEuclidean(2).vecd([[1.0, 2.0], [2.0, 3.0]]).round(4).tolist()
        [1.0, 3.0, 2.8284]
        """
        return vecd(symmetric_part(self._vectors(matrix, self.origin, "matrix")))

    def invvecd(self, coords: ArrayLike) -> Array:
        """Symmetric matrices of vectors: the inverse of `vecd`.

        Parameters
        ----------
        coords : array of shape (..., k(k+1)/2)
            Vectors.

        Returns
        -------
        array of shape (..., k, k)
            Symmetric matrices.

        Raises
        ------
        InputError
            If a number is not finite, or the shape is another.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.SPDLogEuclidean(2).invvecd([1.0, 3.0, 2 * 2**0.5]).round(12).tolist()
        [[1.0, 2.0], [2.0, 3.0]]
        """
        return invvecd(self._coords(coords))

    def oplus(self, a: ArrayLike, b: ArrayLike) -> Array:
        """The sum a ⊕ b = exp(log a + log b) of the vector space SPD(k).

        Parameters
        ----------
        a, b : array of shape (..., k, k)
            Symmetric positive definite matrices; the leading axes broadcast.

        Returns
        -------
        array of shape (..., k, k)
            Symmetric positive definite matrices.

        Raises
        ------
        InputError
            If something is not such a matrix, or the result is beyond the range of float64.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.SPDLogEuclidean(1).oplus([[2.0]], [[3.0]]).round(12).tolist()
        [[6.0]]
        """
        p, q = self._operands(a, b)
        return self._exp_in_range(self.log_coords(q, self.origin), p, "b")

    def ominus(self, a: ArrayLike, b: ArrayLike) -> Array:
        """The difference a ⊖ b = exp(log a - log b) of the vector space SPD(k).

        Parameters
        ----------
        a, b : array of shape (..., k, k)
            As of `oplus`.

        Returns
        -------
        array of shape (..., k, k)
            What gives a when b is added to it by `oplus`.

        Raises
        ------
        InputError
            As `oplus` does.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.SPDLogEuclidean(1).ominus([[6.0]], [[3.0]]).round(12).tolist()
        [[2.0]]
        """
        p, q = self._operands(a, b)
        return self._exp_in_range(-self.log_coords(q, self.origin), p, "b")

    def _operands(self, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
        p, q = self._points(a, "a"), self._points(b, "b")
        check_batches(a=self._batch(p), b=self._batch(q))
        return p, q

    def odot(self, t: ArrayLike, a: ArrayLike) -> Array:
        """The multiple t ⊙ a = exp(t log a) = a^t of the vector space SPD(k).

        Parameters
        ----------
        t : float or array of shape (...)
            Numbers; they broadcast with the leading axes of a.
        a : array of shape (..., k, k)
            Symmetric positive definite matrices.

        Returns
        -------
        array of shape (..., k, k)
            Symmetric positive definite matrices.

        Raises
        ------
        InputError
            If something is not such a matrix or number, or the result is beyond the range of float64.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.SPDLogEuclidean(1).odot(0.5, [[9.0]]).round(12).tolist()
        [[3.0]]
        """
        times, point = finite_array(t, "t"), self._points(a, "a")
        check_batches(t=times.shape, a=self._batch(point))
        return self._exp_in_range(times[..., None] * self.log_coords(point, self.origin), self.origin, "t")

    # --- what it says of itself ---------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "spd-log-euclidean"

    @property
    def words(self) -> str:
        return f"positive definite {self.k} × {self.k} matrices (log-Euclidean metric)"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(1), cls(3)]


@dataclass(frozen=True, eq=False)
class LogGaussian:
    """The log-Gaussian law of SPD matrices: vecd(log X) ~ N(vecd(log mean), covariance) (Schwartzman 2016).

    The density is with respect to the Lebesgue measure of vecd(X), whose Jacobian is
    J(X) = (1/det X) prod_{i<j} (ln a_i - ln a_j)/(a_i - a_j) over the eigenvalues, 1/a_i where two coincide.

    Parameters
    ----------
    mean : array of shape (k, k)
        A symmetric positive definite matrix.
    covariance : array of shape (d, d)
        Of vecd(log X), with d = k(k+1)/2; symmetric positive definite.

    Raises
    ------
    InputError
        If either is not such a matrix.

    See Also
    --------
    SPDLogEuclidean : The space of these matrices.
    RiemannianGaussian : Another law, on any space.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> rd.LogGaussian(np.eye(2), 0.1 * np.eye(3)).sample(5, 0).shape
    (5, 2, 2)
    """

    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        space = self._space()
        mean = space._points(self.mean, "mean")
        covariance = real_array(self.covariance, "covariance")
        if covariance.shape != (space.dim, space.dim):
            raise InputError(f"covariance has shape {covariance.shape}: pass {(space.dim, space.dim)}.")
        if not SPDLogEuclidean(space.dim).contains(covariance):
            raise InputError("covariance is not symmetric positive definite: pass one that is.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)

    def _space(self) -> SPDLogEuclidean:
        shape = real_array(self.mean, "mean").shape
        if len(shape) != 2 or shape[0] != shape[1] or shape[0] == 0:
            raise InputError(f"mean has shape {shape}: pass one (k, k) matrix.")
        return SPDLogEuclidean(shape[0])

    def log_density(self, points: ArrayLike) -> Array:
        """Logarithm of the density at SPD matrices.

        Parameters
        ----------
        points : array of shape (..., k, k)
            Symmetric positive definite matrices.

        Returns
        -------
        array of shape (...)
            With respect to the Lebesgue measure of vecd(X).

        Raises
        ------
        InputError
            If something is not such a matrix.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> law = rd.LogGaussian(np.eye(1), np.eye(1))
        >>> round(float(law.log_density([[1.0]])), 4)
        -0.9189
        """
        space = self._space()
        x = space._points(points, "points")
        factor = np.linalg.cholesky(self.covariance)
        standardised = np.linalg.solve(factor, space.log_coords(x, self.mean)[..., None])[..., 0]
        log_det = np.log(np.diagonal(factor)).sum()
        exponent = -0.5 * (standardised**2).sum(axis=-1) - log_det - 0.5 * space.dim * math.log(2 * math.pi)
        return np.asarray(exponent + self._log_jacobian(x))

    def _log_jacobian(self, x: Array) -> Array:
        values, _ = eigh(x)
        i, j = np.triu_indices(x.shape[-1], 1)
        return np.asarray(np.log(log_slopes(values)[..., i, j]).sum(axis=-1) - np.log(values).sum(axis=-1))

    def density(self, points: ArrayLike) -> Array:
        """Density at SPD matrices.

        Parameters
        ----------
        points : array of shape (..., k, k)
            As of `log_density`, of which this is the exponential.

        Returns
        -------
        array of shape (...)
            With respect to the Lebesgue measure of vecd(X).

        Raises
        ------
        InputError
            As `log_density` does.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> law = rd.LogGaussian(np.eye(1), np.eye(1))
        >>> round(float(law.density([[1.0]])), 4)
        0.3989
        """
        return np.exp(self.log_density(points))

    def sample(self, size: int, rng: np.random.Generator | int) -> Array:
        """Independent draws: exp of a Gaussian in the tangent space.

        Parameters
        ----------
        size, rng : as of Space.random_point
            How many, and where randomness comes from, or a seed.

        Returns
        -------
        array of shape (size, k, k)
            Symmetric positive definite matrices.

        Raises
        ------
        InputError
            If an argument is not as described.

        Examples
        --------
        >>> import numpy as np, riemdp as rd
        >>> rd.LogGaussian(np.eye(2), 0.1 * np.eye(3)).sample(5, 0).shape
        (5, 2, 2)
        """
        space = self._space()
        normal = random_generator(rng).standard_normal((whole_number(size, "size", 1), space.dim))
        return space.exp_coords(normal @ np.linalg.cholesky(self.covariance).T, self.mean)


def log_slopes(values: Array) -> Array:
    """Divided differences (ln a - ln b)/(a - b) of all pairs of eigenvalues; 1/a where they coincide.

    With x = (a - b)/(a + b) it is 2 artanh(x)/(a - b), which has no cancellation.
    """
    a, b = values[..., :, None], values[..., None, :]
    x = (a - b) / (a + b)
    small = np.abs(x) < 1e-4
    safe = np.where(small, 0.5, x)
    return np.asarray(2 / (a + b) * np.where(small, 1 + x * x / 3, np.arctanh(safe) / safe))


def sandwich(inner: Array, vectors: Array, factors: Array) -> Array:
    """V (factors ∘ (Vᵀ inner V)) Vᵀ."""
    transposed = np.swapaxes(vectors, -1, -2)
    return symmetric_part(vectors @ (factors * (transposed @ inner @ vectors)) @ transposed)
