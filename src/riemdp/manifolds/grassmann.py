"""Subspaces of R^n of one dimension p, with the norm of the principal angles between two of them as their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from riemdp.arguments import real_array, whole_number
from riemdp.errors import InputError
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.balls import ball_dot, ball_norm
from riemdp.manifolds.base import MEMBERSHIP_TOL, TANGENT_FLOOR, TANGENT_TOL, Array, Space
from riemdp.manifolds.capabilities import (
    Curvature,
    ExactPoints,
    FrechetModel,
    GradientBounds,
    LocalModel,
    VolumeDensity,
)
from riemdp.manifolds.description import ArrayForm
from riemdp.manifolds.growth import MARGIN
from riemdp.manifolds.local_model import add_blocks, certain, rounding
from riemdp.manifolds.scalars import norm, sinc, t_cot

if TYPE_CHECKING:
    from flint import arb

# Units of roundoff, for each of n sqrt p, by which a projector, a log and an exp may be wrong (see the space's proof).
ROUNDED, LOG_ERROR, STEP_ERROR = 8, 64, 32
# Eigenvalues, or singular values, closer than this share of the largest do not tell a subspace.
LEAST_GAP = 1e-12
# Below pi, where t cot t ends: with k_max = 2 it is farther than the cut locus.
LARGEST_ANGLE = 3.1


@dataclass(frozen=True)
class Grassmann(Space, FrechetModel, Curvature, VolumeDensity, ExactPoints, GradientBounds):
    """Subspaces of R^n of dimension p; rho² is the sum of the squares of the principal angles between two.

    A point is the orthogonal projector P onto the subspace, of shape (n, n): P = Pᵀ = P² of trace p, the same for
    every basis. `project` takes bases (..., n, p) as well. Tangent vectors at P are the symmetric matrices T with
    T = PT + TP. Means are unique in balls of radius below pi/4.

    Parameters
    ----------
    n : int
        Dimension of the surrounding space, at least 2.
    p : int
        Dimension of the subspaces, from 1 (axes: lines without a direction) to n/2. For larger ones, take their
        orthogonal complements, which have the same distances.

    Raises
    ------
    InputError
        If n or p is not such a number.

    See Also
    --------
    Space : What all spaces can do.
    Sphere : Lines with a direction.

    Examples
    --------
    >>> import numpy as np, riemdp as rd
    >>> space = rd.Grassmann(3)
    >>> axis = space.project([[0.0], [-2.0], [0.0]])  # a basis of one vector, of any length and sign
    >>> round(float(space.dist(space.origin, axis)), 6)
    1.570796
    """

    n: int
    p: int = 1
    remedy: ClassVar[str] = "leave out records that are NaN, or whose rank does not tell a subspace of this dimension"
    raw_forms: ClassVar[str] = "bases (..., n, p)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole_number(self.n, "n", 2))
        object.__setattr__(self, "p", whole_number(self.p, "p", 1))
        if 2 * self.p > self.n:
            remedy = "pass at most n/2 and take the orthogonal complements, which have the same distances"
            raise InputError(f"p = {self.p} is more than half of n = {self.n}: {remedy}.")

    @property
    def dim(self) -> int:
        """p (n - p): how p directions may turn into the n - p others."""
        return self.p * (self.n - self.p)

    @property
    def point_shape(self) -> tuple[int, ...]:
        """(n, n), a projector."""
        return (self.n, self.n)

    @property
    def curvature_bounds(self) -> tuple[float, float]:
        """(0, 2); lines form half of a sphere of curvature 1."""
        return (1.0, 1.0) if self.p == 1 else (0.0, 2.0)

    @property
    def injectivity_radius(self) -> float:
        """Pi/2, a right angle."""
        return math.pi / 2

    @property
    def radian(self) -> float:
        """Distances are those of angles."""
        return 1.0

    @property
    def origin(self) -> Array:
        """The span of the first p axes."""
        return np.diag((np.arange(self.n) < self.p).astype(float))

    # --- the maps -------------------------------------------------------------------------------------------

    def exp_coords(self, coords: Array, base: Array) -> Array:
        """Exp of each vector by itself; NaN for what no decomposition is asked about."""
        wild = np.asarray(~(np.abs(coords) <= 1e100).all(axis=-1))
        points = self._exp_of_vectors(np.where(wild[..., None], 0.0, coords), base)
        return np.where(wild[..., None, None], np.nan, points)

    def _exp_of_vectors(self, coords: Array, base: Array) -> Array:
        """The span of Y cos(A) + Z K sinc(A), A² = KᵀK, with (Y, Z) the frame of the base."""
        block, (within, across) = self._block(coords), self._frame(base)
        _, angles, right = np.linalg.svd(block, full_matrices=False)
        cosine, sine = (_function(f(angles), right) for f in (np.cos, sinc))
        return _projector(within @ cosine + across @ (block @ sine))

    def log_coords(self, points: Array, base: Array) -> Array:
        """Log of each record by itself; NaN for what is by far no projector, which no decomposition is asked about."""
        far = np.asarray(~(np.abs(points) <= 2).all(axis=(-2, -1)))
        coords = self._log_of_projectors(np.where(far[..., None, None], self.origin, points), base)
        return np.where(far[..., None], np.nan, coords)

    def _log_of_projectors(self, points: Array, base: Array) -> Array:
        """From the singular values of YᵀB, the cosines, and the part of B across the base, as long as the sines."""
        basis, (within, across) = self._basis(points), self._frame(base)
        left, cosine, right = np.linalg.svd(_transposed(within) @ basis)
        beyond = _transposed(across) @ (basis @ _transposed(right))
        sine = norm(_transposed(beyond))
        stretch = np.where(sine > 0, np.arctan2(sine, cosine) / np.where(sine > 0, sine, 1.0), 1.0)
        return self._flat((beyond * stretch[..., None, :]) @ _transposed(left))

    def to_coords(self, vectors: Array, base: Array) -> Array:
        within, across = self._frame(base)
        return self._flat(_transposed(across) @ vectors @ within)

    def from_coords(self, coords: Array, base: Array) -> Array:
        within, across = self._frame(base)
        half = across @ self._block(coords) @ _transposed(within)
        return np.asarray(half + _transposed(half))

    def _block(self, coords: Array) -> Array:
        """Coordinates as matrices (n - p, p)."""
        return coords.reshape(*coords.shape[:-1], self.n - self.p, self.p)

    def _flat(self, block: Array) -> Array:
        return np.asarray(block.reshape(*block.shape[:-2], self.dim))

    def _basis(self, points: Array) -> Array:
        """Some orthonormal basis (..., n, p) of the subspaces."""
        return np.asarray(np.linalg.eigh(points)[1][..., -self.p :])

    def _frame(self, base: Array) -> tuple[Array, Array]:
        """Orthonormal bases of the subspace, Y, and across it: the columns of a reflection that takes the origin there.

        Y is the basis whose upper block S is symmetric and not negative; the reflection is 1 - V (1 + S)⁻¹ Vᵀ with
        V = Y + (1, 0)ᵀ, which takes (1, 0)ᵀ to -Y and divides by nothing small.
        """
        basis = self._basis(base)
        left, cosine, right = np.linalg.svd(basis[..., : self.p, :])
        within = basis @ _transposed(left @ right)
        lower = within[..., self.p :, :]
        shrunk = lower @ _function(1 / (1 + cosine), _transposed(left))
        body = np.eye(self.n - self.p) - shrunk @ _transposed(lower)
        return within, np.concatenate([-_transposed(lower), body], axis=-2)

    def mean_curvature(self, second_moment: Array) -> Array:
        """R_V W = W VᵀV + V VᵀW - 2 V WᵀV, for blocks V and W."""
        rows, columns = self.n - self.p, self.p
        moment = second_moment.reshape(rows, columns, rows, columns)
        right, left = np.einsum("kakb->ab", moment), np.einsum("ikjk->ij", moment)
        plain = np.kron(np.eye(rows), right) + np.kron(left, np.eye(columns))
        return np.asarray(plain - 2 * moment.transpose(0, 3, 2, 1).reshape(self.dim, self.dim))

    # --- what is a projector --------------------------------------------------------------------------------

    def are_points(self, points: Array) -> Array:
        return self._are_projectors(points, MEMBERSHIP_TOL)

    def settle(self, points: Array) -> Array:
        return points if self._are_projectors(points, self._unit * ROUNDED).all() else self.to_points(points)

    def _are_projectors(self, points: Array, tolerance: float) -> Array:
        skew, excess = points - _transposed(points), points @ points - points
        size = np.sqrt((skew * skew).sum(axis=(-2, -1)) + (excess * excess).sum(axis=(-2, -1)))
        return np.asarray((size <= tolerance) & (np.abs(np.trace(points, axis1=-2, axis2=-1) - self.p) < 0.5))

    def are_tangent(self, vectors: Array, base: Array) -> Array:
        within = base @ vectors
        off = [vectors - _transposed(vectors), vectors - within - _transposed(within)]
        size, length = sum(map(_size, off)), _size(vectors)
        return np.asarray(size <= TANGENT_TOL * length + TANGENT_FLOOR)

    def to_points(self, raw: Array) -> Array:
        """The nearest projector: onto the p leading eigenvectors of (x + xᵀ)/2, if they stand out."""
        flat = np.array(raw.reshape(-1, self.n, self.n), dtype=np.float64)
        with np.errstate(all="ignore"):
            far = ~self._are_projectors(flat, self._unit * ROUNDED)
        if far.any():
            flat[far] = self._nearest(flat[far])
        return flat.reshape(raw.shape)

    def _nearest(self, raw: Array) -> Array:
        scaled, good = _scaled(raw)
        values, vectors = np.linalg.eigh((scaled + _transposed(scaled)) / 2)
        good &= values[:, -self.p] - values[:, -self.p - 1] > LEAST_GAP * np.abs(values).max(axis=-1)
        return np.where(good[:, None, None], _projector(vectors[..., -self.p :]), np.nan)

    def project(self, raw: Any) -> Array:
        """Turn bases, projectors or symmetric matrices into projectors.

        Parameters
        ----------
        raw : array of shape (..., n, p) or (..., n, n)
            Bases, orthonormal or not, in columns; or matrices, of which the nearest projector is taken: that onto the
            p leading eigenvectors, so that a covariance matrix becomes its principal subspace.

        Returns
        -------
        array of shape (..., n, n)
            Projectors.

        Raises
        ------
        InputError
            If one tells no subspace of dimension p: NaN, a basis of less than full rank, equal eigenvalues, or a
            matrix that is far from symmetric, such as one of n vectors in its rows.

        Examples
        --------
        >>> import riemdp as rd
        >>> rd.Grassmann(2).project([[3.0], [3.0]]).round(12).tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        array = real_array(raw, "raw")
        if array.shape[-2:] != (self.n, self.p):
            self.check_form(array.shape, array.dtype, "raw")
            _check_symmetric(array, self)
            return super().project(array)
        return super().project(self._spans(array.reshape(-1, self.n, self.p)).reshape(*array.shape[:-1], self.n))

    def _spans(self, bases: Array) -> Array:
        """The projectors onto the spans of columns; NaN where these are not independent."""
        scaled, good = _scaled(bases)
        left, values, _ = np.linalg.svd(scaled, full_matrices=False)
        good &= values[:, -1] > LEAST_GAP * values[:, 0]
        return np.where(good[:, None, None], _projector(left), np.nan)

    # --- volumes and exact points ---------------------------------------------------------------------------

    def log_density(self, coords: Array) -> Array:
        """Log of the product of sinc over sums and differences of two angles, and n - 2p times over each angle."""
        angles = np.linalg.svd(self._block(coords), compute_uv=False)
        inside = angles[..., 0] < math.pi / 2
        safe = np.where(inside[..., None], angles, 0.0)
        i, j = np.triu_indices(self.p, 1)
        pairs = sinc(safe[..., i] - safe[..., j]) * sinc(safe[..., i] + safe[..., j])
        single = (self.n - 2 * self.p) * np.log(sinc(safe)).sum(axis=-1)
        return np.where(inside, np.log(pairs).sum(axis=-1) + single, -np.inf)

    @property
    def longest_vector(self) -> float:
        """The length to where all p angles are right ones."""
        return MARGIN * math.sqrt(self.p) * math.pi / 2

    def ideal_exp(self, coords: list[arb], base: Array) -> list[arb]:
        """Q exp(X) (1, 0)ᵀ (1, 0) exp(X)ᵀ Qᵀ: Q the computed frame of the base, made orthogonal exactly."""
        from flint import arb_mat

        frame = arb_mat(_ideal_orthonormal(np.concatenate(self._frame(base), axis=-1))).transpose()
        turned = (frame * arb_mat(self._ideal_generator(coords)).exp()).tolist()
        basis = arb_mat([row[: self.p] for row in turned])
        return list((basis * basis.transpose()).entries())

    def _ideal_generator(self, coords: list[arb]) -> list[list[arb]]:
        """The antisymmetric matrix with the block of these coordinates below its diagonal."""
        from flint import arb

        rows = [[arb(0)] * self.n for _ in range(self.n)]
        for index, c in enumerate(coords):
            i, j = self.p + index // self.p, index % self.p
            rows[i][j], rows[j][i] = c, -c
        return rows

    def ideal_log_density(self, coords: list[arb]) -> arb:
        from flint import arb

        angles, right = self._ideal_angles(coords), arb.pi() / 2
        if any(angle >= right for angle in angles):
            return arb.neg_inf()
        if not all(angle < right for angle in angles):
            return arb.nan()
        factors = [(x - y).sinc() * (x + y).sinc() for x, y in combinations(angles, 2)]
        factors += [angle.sinc() ** (self.n - 2 * self.p) for angle in angles]
        return math.prod(factors, start=arb(1)).log()

    def _ideal_angles(self, coords: list[arb]) -> list[arb]:
        """The singular values of the block; NaN while the balls do not tell them."""
        from flint import acb_mat, arb

        columns = [coords[j :: self.p] for j in range(self.p)]
        if self.p == 1:
            return [ball_norm(coords)]
        try:
            squares = acb_mat([[ball_dot(a, b) for b in columns] for a in columns]).eig(multiple=True)
        except ValueError:
            return [arb.nan()]
        return [square.real.sqrt() for square in squares]

    def from_ambient(self, ambient: Array) -> Array:
        point = self.to_points(ambient / (np.abs(ambient).max() or 1.0))
        return point if np.isfinite(point).all() else self.origin

    def ambient_step(self, length: float, farthest: float) -> float:  # noqa: ARG002
        """A change of e < 1/2 moves the nearest projector by at most 2e as a matrix, hence by less than 2.3e."""
        return min(length, 1.0) / 3

    # --- means --------------------------------------------------------------------------------------------------

    def mean_start(self, points: Array) -> Array:
        """The nearest projector to the mean of the projectors."""
        start = self.to_points(points.mean(axis=0))
        return start if np.isfinite(start).all() else np.asarray(points[0])

    def local_model(self, points: Array, x: Array, *, hessian: bool = True) -> LocalModel:
        """The Hessian is bounded by that of constant curvature k_max, up to where the farthest record is pi/2 away."""
        k_max, error = self.curvature_bounds[1], LOG_ERROR * self._unit

        def block(i: int, j: int) -> tuple[Array, Array, tuple[float, Array]]:
            logs = self.log_coords(points[i:j], x)
            lengths = norm(logs)
            across = _least_bend(lengths + error, k_max)
            moment = logs.T @ logs if hessian else np.zeros(())
            return logs.sum(axis=0), np.array([lengths.sum(), across.sum()]), (float(lengths.max()), moment)

        descent, (length, across), ends = add_blocks(block, len(points))
        farthest = max(end for end, _ in ends) + error
        steepest = 1 + abs(float(_least_bend(np.array(farthest), k_max)))
        across -= rounding(16 * steepest, steepest, len(points))
        lower, valid_within = certain(float(across), farthest, k_max)
        room = math.pi / 2 - farthest  # up to the cut locus
        return LocalModel(
            descent=descent,
            step=self._step(np.sum([moment for _, moment in ends], axis=0) / len(points)) if hessian else np.asarray,
            convexity=lower if room > 0 else -math.inf,
            valid_within=min(valid_within, max(room, 0.0)),
            across=float(across),
            farthest=farthest,
            rounding=self._rounding(float(length), len(points)),
        )

    def _step(self, second_moment: Array) -> Any:
        """Newton's step with the Hessian of rho²/2 to second order, 1 - R/3."""
        return lambda g: np.linalg.solve(np.eye(self.dim) - self.mean_curvature(second_moment) / 3, g)

    @property
    def _unit(self) -> float:
        """What one operation on all entries may cost."""
        return UNIT_ROUNDOFF * self.n * math.sqrt(self.p)

    def _rounding(self, length: float, n: int) -> float:
        return LOG_ERROR * self._unit + rounding(0, length, n)

    def rounding_limit(self, radius: float, n: int) -> float:
        return self._rounding(2 * radius + LOG_ERROR * self._unit, n)

    def step_limit(self, radius: float) -> float:  # noqa: ARG002
        return STEP_ERROR * self._unit

    # --- what it says of itself ---------------------------------------------------------------------------------

    cli_name: ClassVar[str | None] = "grassmann"
    variants: ClassVar[dict[str, dict[str, Any]]] = {f"grassmann-{p}": {"p": p} for p in (2, 3, 4)}

    @property
    def words(self) -> str:
        return f"subspaces of dimension {self.p} of R^{self.n}"

    @classmethod
    def examples(cls) -> list[Space]:
        return [cls(2), cls(4, 1), cls(4, 2), cls(5, 2)]

    @classmethod
    def size_in(cls, form: ArrayForm, p: int = 1) -> int:  # noqa: ARG003
        """n: the command line reads projectors, whatever p is."""
        return math.isqrt(form.last) if form.is_table else form.last


def _least_bend(distances: Array, k_max: float) -> Array:
    """t cot t, which bounds the Hessian of rho²/2 at these distances from below, up to the cut locus and past it."""
    return t_cot(np.minimum(math.sqrt(k_max) * distances, LARGEST_ANGLE))


def _check_symmetric(matrices: Array, space: Grassmann) -> None:
    """Vectors in the rows of a square matrix are no projector, and its symmetric part has nothing to do with them."""
    with np.errstate(all="ignore"):
        skew = np.linalg.norm(matrices - _transposed(matrices), axis=(-2, -1))
        if (skew > np.linalg.norm(matrices, axis=(-2, -1)) / 2).any():
            shape = f"(..., {space.n}, {space.p})"
            raise InputError(f"raw is far from symmetric, so no projectors: pass bases, in columns, of shape {shape}.")


def _transposed(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def _function(values: Array, right: Array) -> Array:
    """The symmetric matrices with these eigenvalues, and the rows of `right` as eigenvectors."""
    return np.asarray((_transposed(right) * values[..., None, :]) @ right)


def _projector(basis: Array) -> Array:
    """B Bᵀ, symmetric to the last bit."""
    product = basis @ _transposed(basis)
    return np.asarray((product + _transposed(product)) / 2)


def _size(a: Array) -> Array:
    """Frobenius' norm, of subnormal matrices too."""
    return norm(a.reshape(*a.shape[:-2], -1))


def _scaled(raw: Array) -> tuple[Array, Array]:
    """Matrices with the largest entry 1, and which of them are finite and not zero: the others become zero."""
    largest = np.abs(raw).max(axis=(-2, -1), initial=0.0)
    good = np.isfinite(largest) & (largest > 0)
    factor = np.where(good, largest, 1.0)[:, None, None]
    return np.where(good[:, None, None], raw, 0.0) / factor, good


def _ideal_orthonormal(columns: Array) -> list[list[arb]]:
    """The columns made orthonormal one after the other, in balls."""
    from flint import arb

    found: list[list[arb]] = []
    for column in columns.T.tolist():
        rest = [arb(x) for x in column]
        for other in found:
            along = ball_dot(other, rest)
            rest = [x - along * y for x, y in zip(rest, other, strict=True)]
        size = ball_norm(rest)
        found.append([x / size for x in rest])
    return found
