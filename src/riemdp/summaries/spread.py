"""What can be said of records from their moments with noise: post-processing, on which no guarantee depends.

The noise of a full second moment has its spectrum within sqrt(2d) times that of one coordinate: eigenvalues beyond that
edge belong to true ones, and next to larger true ones, beyond a lower edge. How far noise pushed them apart is known.
Those below say nothing, and share evenly what the trace, which is known well, leaves them (docs/proofs/moments.md,
section 6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.manifolds import Space
from riemdp.manifolds.capabilities import Curvature
from riemdp.manifolds.scalars import t_cot, t_coth
from riemdp.regions import read_axes

Array = NDArray[Any]
# The largest eigenvalue of noise is beyond the edge sqrt(2d) by so many units of its fluctuation once in twenty times.
TRACY_WIDOM = 0.98
LARGEST_MATRIX = 10_000  # dimensions: 800 MB
FARTHEST_APART = 1e150  # whose square is no overflow
ROUNDINGS = 1e-12  # of the largest variance
# A mean curvature beyond this belongs to records as far apart as means are unique: sqrt(y) cot sqrt(y) is 0.27 there.
MOST_CURVED = 1.9


@dataclass(frozen=True, eq=False)
class Spread:
    """Variances (d,) along orthonormal directions (d, d), in columns, the largest first."""

    variances: Array
    directions: Array
    significant: Array  # (d,), which variances are beyond what noise alone makes

    @property
    def matrix(self) -> Array:
        """The positive semi-definite matrix (d, d) with these eigenvalues."""
        return np.asarray((self.directions * self.variances) @ self.directions.T)

    @property
    def total(self) -> float:
        """The sum of the variances."""
        return float(self.variances.sum())

    def chosen(self, count: int | None) -> Array:
        """Which directions: so many, the largest first; without a number all that are seen."""
        return np.flatnonzero(self.significant) if count is None else np.arange(min(count, len(self.variances)))

    def turned(self, orthogonal: Array) -> Spread:
        """The spread in other orthonormal coordinates."""
        return replace(self, directions=orthogonal @ self.directions)

    def widened(self, wide: Array) -> Spread:
        """That of S u for vectors u of this spread; a direction is seen if more than half of its variance was.

        And if it has a variance at all: where nothing is left for the others, theirs are roundings.
        """
        part = replace(self, variances=np.where(self.significant, self.variances, 0.0))
        whole, seen = (wide @ spread.matrix @ wide.T for spread in (self, part))
        values, vectors = _descending(whole)
        is_seen = 2 * ((seen @ vectors) * vectors).sum(axis=0) > values
        return Spread(np.maximum(values, 0.0), vectors, is_seen & (values > ROUNDINGS * values[0]))


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Moments of the records' coordinates at the centre of a ball, with noise: they may be seen by everybody.

    `second` is E[v vᵀ] (d, d) if `kind` is "full", its diagonal (d,) or its trace (), of vectors no longer than the
    `radius`. `first_noise` and `second_noise` are standard deviations of the noise of one number; that of `second` in
    an orthonormal basis of symmetric matrices, in which an entry beside the diagonal counts sqrt2. With `axes` S they
    are moments of narrowed coordinates u = S⁻¹ v; whatever else is not called narrowed is in coordinates v.
    """

    kind: str
    first: Array
    second: Array
    first_noise: float
    second_noise: float
    radius: float
    axes: Array | None = None

    @property
    def dim(self) -> int:
        """The dimension of the space."""
        return len(self.first)

    @property
    def trace(self) -> float:
        """E|v|², as released: of either sign."""
        return float(np.trace(self.second) if self.kind == "full" else np.sum(self.second))

    def seen_as(self, kind: str) -> NoisyMoments:
        """The same moments, or of a full second moment just its diagonal."""
        if kind == self.kind:
            return self
        return replace(self, kind=kind, second={"diagonal": self.second.diagonal()}[kind])

    @property
    def wide(self) -> Array:
        """S (d, d): what takes narrowed coordinates to those at the centre."""
        if self.axes is None:
            return np.eye(within_memory(self.dim))
        return np.diag(self.axes) if self.axes.ndim == 1 else self.axes

    def widened(self, narrowed: Array) -> Array:
        """S u of a vector u of narrowed coordinates."""
        return narrowed if self.axes is None else np.asarray(self.wide @ narrowed)

    def about_centre(self) -> Spread:
        """The second moment, cleared of noise: of vectors no longer than the radius."""
        return self._widened(self._cleared(self.second))

    def about_mean(self) -> Spread:
        """E[v vᵀ] - E[v] E[v]ᵀ, cleared of noise, that of the square included."""
        return self._widened(self.narrowed_about_mean())

    @property
    def total(self) -> float:
        """E|v - E[v]|², cleared of noise: without directions where numbers suffice, for there may be very many."""
        if self.kind == "full" or self.axes is not None:
            return self.about_mean().total
        variances = np.atleast_1d(self._about_mean())
        if self.kind == "diagonal":
            variances, _, _ = _by_size(variances, self.dim, self.second_noise, self.radius**2)
            return float(variances.sum())
        return _within(float(variances[0]), self.radius**2)

    def narrowed_about_mean(self) -> Spread:
        """The same of narrowed coordinates, in which the noise is the same in all directions."""
        return self._cleared(self._about_mean())

    def _cleared(self, noisy: Array) -> Spread:
        return CLEARED[self.kind](noisy, self.dim, self.second_noise, self.radius**2)

    def _widened(self, spread: Spread) -> Spread:
        return spread if self.axes is None else spread.widened(self.wide)

    def _about_mean(self) -> Array:
        if self.kind == "full":
            return np.asarray(self.second - np.outer(self.first, self.first) + self.first_noise**2 * np.eye(self.dim))
        squares = self.first**2 - self.first_noise**2
        return np.asarray(self.second - (squares if self.kind == "diagonal" else squares.sum()))

    @property
    def narrowed_total(self) -> float:
        """E|u - E[u]|² of narrowed coordinates, cleared of the noise of the square: of either sign."""
        noisy = self._about_mean()
        return float(np.trace(noisy) if self.kind == "full" else np.sum(noisy))

    def along_modes(self) -> tuple[Array, Array]:
        """Variances (d,) along the modes, as released, noise and all, and what noise alone reaches there.

        Both are empty where only the sum of the variances is known.
        """
        if self.kind == "trace":
            return np.zeros(0), np.zeros(0)
        noisy = self._about_mean() if self.kind == "full" else np.diag(self._about_mean())
        narrowed = self.wide.T @ self.about_mean().directions
        lengths, variances = (narrowed**2).sum(axis=0), (noisy @ narrowed * narrowed).sum(axis=0)
        return np.asarray(variances), np.asarray(EDGES[self.kind](self.dim, self.second_noise) * lengths)

    @property
    def edge(self) -> float:
        """Noise alone hardly ever makes a variance of narrowed coordinates that is larger."""
        return float(EDGES[self.kind](self.dim, self.second_noise)[0])

    @property
    def fill(self) -> float:
        """Root mean square distance of the records to the centre, in radii; of narrowed coordinates with axes."""
        return share_of_radius(self.trace, self.radius)

    def mean_coordinates(self, space: Space) -> Array:
        """Where the Fréchet mean is, in coordinates at the centre: H⁻¹ E[v], H the Hessian (moments.md, section 5)."""
        return self.widened(self.first) if space.is_flat else np.asarray(self.turn(space) @ self.first)

    def turn(self, space: Space) -> Array:
        """H⁻¹ S (d, d): how errors of the first moment become those of the mean."""
        if space.is_flat:
            return self.wide
        return np.asarray(inverse_hessian(space, self.about_centre().matrix) @ self.wide)

    def to_dict(self) -> dict[str, Any]:
        """The noisy moments as plain JSON data."""
        axes = None if self.axes is None else self.axes.tolist()
        return vars(self) | {"first": self.first.tolist(), "second": self.second.tolist(), "axes": axes}

    @classmethod
    def from_dict(cls, data: Any, dim: int, radius: float) -> NoisyMoments:
        """The moments that `to_dict` described, of a space of this dimension; anything else is an InputError.

        Older files leave the radius, which is that of the ball, and the axes out.
        """
        try:
            facts: dict[str, Any] = {"radius": radius, "axes": None} | data
            numbers = {name: _positive(facts[name]) for name in ("first_noise", "second_noise", "radius")}
            first, second = (np.array(facts[name], dtype=np.float64) for name in ("first", "second"))
            shape = {"full": (dim, dim), "diagonal": (dim,), "trace": ()}[facts["kind"]]
            right = first.shape == (dim,) and second.shape == shape and np.array_equal(second, second.T)
        except (LookupError, TypeError, ValueError, OverflowError):
            right = False
        if not (right and len(facts) == len(fields(cls)) and np.isfinite(first).all() and np.isfinite(second).all()):
            raise InputError("moments are not those of a summary: pass what Release.save() wrote.")
        return cls(facts["kind"], first, second, axes=read_axes(facts["axes"], dim), **numbers)


def within_memory(dim: int) -> int:
    """The dimension, if a matrix of it can be held; else an InputError."""
    if dim > LARGEST_MATRIX:
        raise InputError(
            f"{dim:,} dimensions: a matrix of them has too many numbers to be held (at most {LARGEST_MATRIX:,} "
            "dimensions): value and dispersion are what such a summary tells."
        )
    return dim


def share_of_radius(mean_square: float, radius: float) -> float:
    """The root of a mean square distance, with noise, in radii: from 0 to 1."""
    return math.sqrt(min(max(mean_square / radius**2, 0.0), 1.0))


def _positive(number: Any) -> float:
    if not isinstance(number, float) or not 0 < number < math.inf:
        raise ValueError(number)
    return float(number)


# --- curvature -------------------------------------------------------------------------------------------------


def mean_curvature(space: Space, second_moment: Array) -> Array:
    """E[R_v] in coordinates, factor by factor of a product; 0 where the space is flat or does not know it."""
    result = np.zeros_like(second_moment)
    start = 0
    for factor in space.parts:
        block = slice(start, start + factor.dim)
        start += factor.dim
        if factor.has(Curvature) and not factor.is_flat:
            result[block, block] = factor.capability(Curvature).mean_curvature(second_moment[block, block])
    return result


def inverse_hessian(space: Space, second_moment: Array) -> Array:
    """H⁻¹ (d, d), from E[v vᵀ] in coordinates at the centre."""
    curvatures, axes = np.linalg.eigh(mean_curvature(space, second_moment))
    return np.asarray((axes / _hessian(curvatures)) @ axes.T)


def _hessian(curvatures: Array) -> Array:
    """t cot t, t² = y, and t coth t for t² = -y: what all records at one distance, across their direction, would give.

    It is 1 - y/3 to first order, grows no faster than distances do in negative curvature, and stays away from 0.
    """
    angles = np.sqrt(np.minimum(np.abs(curvatures), np.where(curvatures > 0, MOST_CURVED, np.inf)))
    return np.where(curvatures > 0, t_cot(np.minimum(angles, math.sqrt(MOST_CURVED))), t_coth(angles))


# --- clearing moments of noise -----------------------------------------------------------------------------------


def noise_edge(dim: int, noise: float) -> float:
    """Eigenvalues of a symmetric matrix of noise are hardly ever above this: sqrt(2d) of one coordinate's, and more."""
    return noise * math.sqrt(2 * dim) * (1 + TRACY_WIDOM * math.pow(dim, -2 / 3) / 2)


def noise_edges(dim: int, noise: float) -> Array:
    """The k-th eigenvalue, of a matrix with k - 1 true ones, is hardly ever above its edge: that of what they leave."""
    return np.array([noise_edge(left, noise) for left in range(dim, 0, -1)])


def entry_edge(dim: int, noise: float) -> float:
    """The largest of so many numbers of noise is hardly ever above this."""
    return noise * (1 + math.sqrt(2 * math.log(dim + 1)))


def _full(noisy: Array, dim: int, noise: float, most: float) -> Spread:
    """The eigenvalues beyond their edges, each as it was without noise, nearly; the others share what is left."""
    values, vectors = _descending(noisy)
    seen = np.logical_and.accumulate(values > noise_edges(dim, noise))
    true = np.minimum.accumulate(np.maximum(values - _pushed(values, noise), 0.0))
    return Spread(_shared(true, seen, _within(float(np.trace(noisy)), most)), vectors, seen)


def _pushed(values: Array, noise: float) -> Array:
    """How far noise has pushed each eigenvalue away from the others; not from those that noise alone tells from it."""
    with np.errstate(over="ignore"):
        apart = np.clip((values[:, None] - values) / noise, -FARTHEST_APART, FARTHEST_APART)
    return np.asarray(noise / 2 * (apart / (apart**2 + 2)).sum(axis=1))


def _descending(matrix: Array) -> tuple[Array, Array]:
    """Eigenvalues, the largest first, and their vectors in columns."""
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], _upright(vectors[:, ::-1])


def _upright(vectors: Array) -> Array:
    """Each column with the sign in which its largest entry is positive: the same every time."""
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return np.asarray(vectors * np.where(largest < 0, -1.0, 1.0))


def _diagonal(noisy: Array, dim: int, noise: float, most: float) -> Spread:
    """The entries that are hardly ever of noise alone; the others share what is left."""
    variances, order, seen = _by_size(noisy, dim, noise, most)
    directions = np.zeros((within_memory(dim), dim))
    directions[order, np.arange(dim)] = 1.0
    return Spread(variances, directions, seen)


def _by_size(noisy: Array, dim: int, noise: float, most: float) -> tuple[Array, Array, Array]:
    """Variances, the largest first, where they were, and which are seen."""
    order = np.argsort(noisy)[::-1]
    values, seen = noisy[order], noisy[order] > entry_edge(dim, noise)
    return _shared(values, seen, _within(float(noisy.sum()), most)), order, seen


def _trace(noisy: Array, dim: int, noise: float, most: float) -> Spread:  # noqa: ARG001
    """A spread of the same variance in all directions."""
    variances = np.full(dim, _within(float(noisy), most) / dim)
    return Spread(variances, np.eye(within_memory(dim)), np.zeros(dim, dtype=bool))


def _shared(values: Array, seen: Array, total: float) -> Array:
    """The values that are seen, and for each other one its share of what they leave of the total."""
    left = max(total - float(values[seen].sum()), 0.0)
    return np.where(seen, values, left / max(len(values) - int(seen.sum()), 1))


def _within(total: float, most: float) -> float:
    return min(max(total, 0.0), most)


CLEARED: dict[str, Callable[[Array, int, float, float], Spread]] = {
    "full": _full,
    "diagonal": _diagonal,
    "trace": _trace,
}
EDGES: dict[str, Callable[[int, float], Array]] = {  # of the largest variance, the second one, ...
    "full": noise_edges,
    "diagonal": lambda dim, noise: np.full(dim, entry_edge(dim, noise)),
    "trace": lambda dim, _noise: np.full(dim, math.inf),
}
