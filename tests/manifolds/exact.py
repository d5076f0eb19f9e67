"""The spaces once more, from their definitions, in 60-digit arithmetic: references that share no code with riemdp.

Points and vectors are NumPy arrays of mpmath numbers. `read` takes the floats of a point to the exact point
that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mpmath as mp
import numpy as np

from riemdp.manifolds import (
    Correlations,
    Euclidean,
    Grassmann,
    HPDAffine,
    HPDLogEuclidean,
    Hyperbolic,
    KendallShapes,
    Rotations,
    Simplex,
    Space,
    SPDAffine,
    SPDLogCholesky,
    SPDLogEuclidean,
    Sphere,
    Torus,
)

mp.mp.dps = 60


def lift(x: np.ndarray) -> np.ndarray:
    """Floats as exact numbers."""
    array = np.asarray(x)
    convert = mp.mpc if np.iscomplexobj(array) else mp.mpf
    return np.array([convert(v) for v in array.reshape(-1).tolist()], dtype=object).reshape(array.shape)


def drop(x: np.ndarray) -> np.ndarray:
    """Exact numbers as floats."""
    return np.array([float(v) for v in np.asarray(x).reshape(-1)]).reshape(np.shape(x))


def length(v: np.ndarray) -> mp.mpf:
    """Euclidean (Frobenius, Hermitian) norm."""
    return mp.sqrt(sum(abs(t) ** 2 for t in v.reshape(-1)))


class ExactEuclidean:
    def __init__(self, space: Euclidean) -> None:
        self.space = space

    def read(self, x):
        return lift(x)

    def exp(self, v, p):
        return p + v

    def log(self, q, p):
        return q - p

    def norm(self, v, p):
        return length(v)


class ExactSphere:
    def __init__(self, space: Sphere) -> None:
        self.radius = 1 / mp.sqrt(mp.mpf(space.curvature))

    def read(self, x):
        return lift(x) * (self.radius / length(lift(x)))

    def exp(self, v, p):
        t = length(v) / self.radius
        return mp.cos(t) * p + mp.sinc(t) * v

    def log(self, q, p):
        t = 2 * mp.atan2(length(q - p), length(q + p))
        return (q - mp.cos(t) * p) / mp.sinc(t)

    def norm(self, v, p):
        return length(v)


    def coordinates(self, v, p):
        """By the reflection that takes p to ∓ the north pole."""
        p = p / self.radius
        side = 1 if p[-1] >= 0 else -1
        return v[:-1] - p[:-1] * ((v @ p + side * v[-1]) / (1 + abs(p[-1])))


class ExactSimplex(ExactSphere):
    """By the roots of shares, on the sphere of radius 2."""

    def __init__(self, space: Simplex) -> None:
        super().__init__(space.model)

    def read(self, x):
        shares = lift(x)
        return np.array([2 * mp.sqrt(share / sum(shares)) for share in shares], dtype=object)


class ExactHyperbolic:
    def __init__(self, space: Hyperbolic) -> None:
        self.radius, self.is_disc = 1 / mp.sqrt(-mp.mpf(space.curvature)), space.model == "poincare"

    def read(self, x):
        """The space part is the truth; or y of the Poincaré ball, x = 2R y/(1 - |y|²)."""
        y = lift(x)
        part = 2 * self.radius * y / (1 - y @ y) if self.is_disc else y[1:]
        return np.concatenate([[mp.sqrt(self.radius**2 + part @ part)], part])

    def lorentz(self, u, v):
        return u[1:] @ v[1:] - u[0] * v[0]

    def exp(self, v, p):
        t = self.norm(v, p) / self.radius
        return mp.cosh(t) * p + (mp.sinh(t) / t if t else 1) * v

    def log(self, q, p):
        t = 2 * mp.asinh(mp.sqrt(max(0, self.lorentz(q - p, q - p))) / (2 * self.radius))
        return (q - mp.cosh(t) * p) * (t / mp.sinh(t) if t else 1)

    def norm(self, v, p):
        return mp.sqrt(max(0, self.lorentz(v, v)))


    def coordinates(self, v, p):
        """By the boost that takes p to the origin."""
        p = p / self.radius
        return v[1:] - p[1:] * (v[0] / (1 + p[0]))


class ExactKendall:
    def __init__(self, space: KendallShapes) -> None:
        pass

    def read(self, x):
        z = lift(np.asarray(x) @ [1, 1j] if not np.iscomplexobj(x) else x)
        z = z - sum(z) / len(z)
        return z / length(z)

    def exp(self, v, p):
        t = length(v)
        return mp.cos(t) * p + mp.sinc(t) * v

    def log(self, q, p):
        product = sum(mp.conj(a) * b for a, b in zip(p, q, strict=True))
        aligned = q * (mp.conj(product) / abs(product))
        rest = aligned - abs(product) * p
        sine = length(rest)
        return rest * (mp.atan2(sine, abs(product)) / sine if sine else 1)

    def norm(self, v, p):
        return length(v)


    def coordinates(self, v, p):
        """By two reflections: of (1, ..., 1) to an axis, which drops it, and of p to -p_0/|p_0| times an axis."""
        v, p = (self.centred(w) for w in (v, p))
        size = abs(p[0])
        phase = p[0] / size if size else mp.mpc(1)
        along = sum(mp.conj(a) * b for a, b in zip(p, v, strict=True)) + mp.conj(phase) * v[0]
        rest = v[1:] - p[1:] * (along / (1 + size))
        return np.array([part for c in rest for part in (mp.re(c), mp.im(c))], dtype=object)

    def centred(self, v):
        root = mp.sqrt(len(v))
        return v[1:] - (v[0] + sum(v) / root) / (root + 1)


def of_symmetric(function: Callable, a: np.ndarray) -> np.ndarray:
    """f(a) of a symmetric matrix by its eigenvalues."""
    half = (a + a.T) / 2
    values, vectors = mp.eigsy(mp.matrix(half.tolist()))
    rebuilt = vectors * mp.diag([function(v) for v in values]) * vectors.T
    return np.array(rebuilt.tolist(), dtype=object)


def inverse(a: np.ndarray) -> np.ndarray:
    return np.array((mp.matrix(a.tolist()) ** -1).tolist(), dtype=object)


class ExactSPDAffine:
    def __init__(self, space: SPDAffine) -> None:
        self.last: tuple = (None, None)

    def read(self, x):
        return (lift(x) + lift(x).T) / 2

    def roots(self, p):
        """Square root of p and its inverse, kept for the next record at the same p."""
        if self.last[0] is not p:
            root = of_symmetric(mp.sqrt, p)
            self.last = (p, (root, inverse(root)))
        return self.last[1]

    def exp(self, v, p):
        root, inverse_root = self.roots(p)
        return root @ of_symmetric(mp.exp, inverse_root @ v @ inverse_root) @ root

    def log(self, q, p):
        root, inverse_root = self.roots(p)
        return root @ of_symmetric(mp.log, inverse_root @ q @ inverse_root) @ root

    def norm(self, v, p):
        solved = inverse(p) @ v
        return mp.sqrt(np.trace(solved @ solved))


    def coordinates(self, v, p):
        """In the frame of the Cholesky factor, off-diagonal entries times sqrt(2)."""
        whitener = inverse(np.array(mp.cholesky(mp.matrix(p.tolist())).tolist(), dtype=object))
        w = whitener @ v @ whitener.T
        upper = np.triu_indices(len(w), 1)
        return np.concatenate([np.diagonal(w), w[upper] * mp.sqrt(2)])


def symmetric(x):
    return (x + x.T) / 2


def vecd(a: np.ndarray) -> np.ndarray:
    """The diagonal, then sqrt(2) times what is above it."""
    return np.concatenate([np.diagonal(a), a[np.triu_indices(len(a), 1)] * mp.sqrt(2)])


def scaled(a: np.ndarray) -> np.ndarray:
    """With the diagonal 1."""
    deviations = np.array([mp.sqrt(x) for x in np.diagonal(a)], dtype=object)
    return a / deviations[:, None] / deviations


def log_cholesky(a: np.ndarray) -> np.ndarray:
    factor = np.array(mp.cholesky(mp.matrix(a.tolist())).tolist(), dtype=object)
    return np.concatenate([[mp.log(x) for x in np.diagonal(factor)], factor.T[np.triu_indices(len(a), 1)]])


def of_hermitian(function: Callable, a: np.ndarray) -> np.ndarray:
    """f(a) of a Hermitian matrix by its eigenvalues."""
    values, vectors = mp.eighe(mp.matrix(hermitian(a).tolist()))
    rebuilt = vectors * mp.diag([function(v) for v in values]) * vectors.H
    return np.array(rebuilt.tolist(), dtype=object)


def hermitian(a: np.ndarray) -> np.ndarray:
    return (a + adjoint(a)) / 2


def adjoint(a: np.ndarray) -> np.ndarray:
    return np.array([[mp.conj(x) for x in row] for row in a.T], dtype=object)


def complex_vecd(a: np.ndarray) -> np.ndarray:
    """The real diagonal, then sqrt(2) times the real and the imaginary parts above it."""
    upper = a[np.triu_indices(len(a), 1)] * mp.sqrt(2)
    parts = [[mp.re(x) for x in np.diagonal(a)], [mp.re(x) for x in upper], [mp.im(x) for x in upper]]
    return np.array([x for part in parts for x in part], dtype=object)


def from_real_form(x: np.ndarray) -> np.ndarray:
    """The complex matrix of an array, or of its real form of twice the size."""
    array = np.asarray(x)
    if np.iscomplexobj(array):
        return lift(array)
    real = lift(array)
    return (real[::2, ::2] + real[1::2, 1::2]) / 2 + mp.mpc(0, 1) * (real[1::2, ::2] - real[::2, 1::2]) / 2


class ExactHPDAffine:
    def __init__(self, space: HPDAffine) -> None:
        pass

    def read(self, x):
        return hermitian(from_real_form(x))

    def roots(self, p):
        root = of_hermitian(mp.sqrt, p)
        return root, inverse(root)

    def exp(self, v, p):
        root, inverse_root = self.roots(p)
        return root @ of_hermitian(mp.exp, inverse_root @ v @ inverse_root) @ root

    def log(self, q, p):
        root, inverse_root = self.roots(p)
        return root @ of_hermitian(mp.log, inverse_root @ q @ inverse_root) @ root

    def norm(self, v, p):
        solved = inverse(p) @ v
        return mp.sqrt(mp.re(np.trace(solved @ solved)))

    def coordinates(self, v, p):
        whitener = inverse(np.array(mp.cholesky(mp.matrix(p.tolist())).tolist(), dtype=object))
        return complex_vecd(whitener @ v @ adjoint(whitener))


# The isometries onto R^d of spaces that are defined by one, from exact matrices.
CHARTS: dict[type[Space], Callable] = {
    SPDLogEuclidean: lambda a: vecd(of_symmetric(mp.log, symmetric(a))),
    Correlations: lambda a: vecd(of_symmetric(mp.log, scaled(symmetric(a))))[len(a) :],
    HPDLogEuclidean: lambda a: complex_vecd(of_hermitian(mp.log, a)),
    SPDLogCholesky: lambda a: log_cholesky(symmetric(a)),
}


def in_chart(space: Space) -> bool:
    """Whether its exact points and vectors are those of R^d."""
    return type(space) in CHARTS


class ExactChart:
    """Points are their images in R^d, and so are tangent vectors: no inverse, and no differential, is needed."""

    def __init__(self, space: Space) -> None:
        self.chart = CHARTS[type(space)]

    def read(self, x):
        return self.chart(lift(x))

    def exp(self, v, p):
        return p + v

    def log(self, q, p):
        return q - p

    def norm(self, v, p):
        return length(v)


class ExactRotations:
    """Matrices; the floats of a point stand for the nearest rotation."""

    def __init__(self, space: Rotations) -> None:
        pass

    def read(self, x):
        r = lift(x)
        for _ in range(8):  # Newton's iteration doubles the digits
            r = (r + inverse(r).T) / 2
        return r

    def exp(self, v, p):
        w = self.coordinates(v, p)
        t, a = length(w), self.hat(w)
        half = mp.sinc(t / 2)
        return p @ (lift(np.eye(3)) + mp.sinc(t) * a + half * half / 2 * (a @ a))

    def log(self, q, p):
        r = p.T @ q
        skew = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]], dtype=object) / 2
        sine, cosine = length(skew), (np.trace(r) - 1) / 2
        if sine < mp.mpf(10) ** -20 and cosine < 0:
            raise AssertionError("a half turn")
        return p @ self.hat(skew * (mp.atan2(sine, cosine) / sine if sine else 1))

    def norm(self, v, p):
        return length(v) / mp.sqrt(2)

    def coordinates(self, v, p):
        a = p.T @ v
        return np.array([a[2, 1] - a[1, 2], a[0, 2] - a[2, 0], a[1, 0] - a[0, 1]], dtype=object) / 2

    def hat(self, w):
        x, y, z = w
        return np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]], dtype=object)


class ExactGrassmann:
    """By the exponential of antisymmetric matrices, and by eigenvalues of products of projectors."""

    def __init__(self, space: Grassmann) -> None:
        self.n, self.p = space.n, space.p

    def read(self, x):
        p = (lift(x) + lift(x).T) / 2
        for _ in range(6):
            p = p @ p @ (3 * lift(np.eye(self.n)) - 2 * p)
        return p

    def exp(self, v, p):
        turn = to_array(mp.expm(mp.matrix((v @ p - p @ v).tolist())))
        return turn @ p @ turn.T

    def log(self, q, p):
        """q p q = B cos² Bᵀ, on p: with f(cos²) = angle/(sin cos), the part of q p f across p."""
        values, vectors = mp.eigsy(mp.matrix((p @ q @ p).tolist()))
        axes, half = to_array(vectors), 0 * p
        for square, axis in list(zip(list(values), axes.T, strict=True))[self.n - self.p :]:
            beyond = q @ axis - p @ (q @ axis)
            sine = length(beyond) / mp.sqrt(square)
            half = half + np.outer(beyond, axis) * (mp.atan2(sine, mp.sqrt(square)) / (sine * mp.sqrt(square)) if sine else 1)
        return half + half.T

    def norm(self, v, p):
        return length(v) / mp.sqrt(2)

    def coordinates(self, v, p):
        """In the frame of the reflection that takes the first axes to minus the basis with a symmetric upper block."""
        k = self.p
        upper = to_array(mp.sqrtm(mp.matrix(p[:k, :k].tolist())))
        basis = p[:, :k] @ to_array(mp.inverse(mp.matrix(upper.tolist())))
        sums = basis + lift(np.eye(self.n)[:, :k])
        inner = to_array(mp.inverse(mp.matrix((lift(np.eye(k)) + upper).tolist())))
        across = (lift(np.eye(self.n)) - sums @ inner @ sums.T)[:, k:]
        return (across.T @ v @ basis).reshape(-1)


def to_array(m: mp.matrix) -> np.ndarray:
    """The real entries of a matrix of mpmath."""
    return np.array([[mp.re(x) for x in row] for row in m.tolist()], dtype=object)


class ExactTorus:
    def __init__(self, space: Torus) -> None:
        pass

    def read(self, x):
        return lift(x)

    def exp(self, v, p):
        return p + v

    def log(self, q, p):
        return np.array([x - 2 * mp.pi * mp.nint(x / (2 * mp.pi)) for x in q - p], dtype=object)

    def norm(self, v, p):
        return length(v)

    def coordinates(self, v, p):
        return v


EXACT = {
    Grassmann: ExactGrassmann,
    Torus: ExactTorus,
    HPDAffine: ExactHPDAffine,
    Rotations: ExactRotations,
    Euclidean: ExactEuclidean,
    Sphere: ExactSphere,
    Simplex: ExactSimplex,
    Hyperbolic: ExactHyperbolic,
    KendallShapes: ExactKendall,
    SPDAffine: ExactSPDAffine,
    **dict.fromkeys(CHARTS, ExactChart),
}


def exact(space: Space):
    """The exact counterpart of a space."""
    return EXACT[type(space)](space)


def inner(space: Space) -> Space:
    """The space with whose points all is computed: another one, if this is that one in other words."""
    if isinstance(space, Simplex):
        return space.model
    return replace(space, model="hyperboloid") if isinstance(space, Hyperbolic) else space


def distance(space: Space, a: np.ndarray, b: np.ndarray) -> mp.mpf:
    """Distance of exact points."""
    reference = exact(space)
    return reference.norm(reference.log(b, a), a)


def exact_mean(space: Space, x: np.ndarray, start: np.ndarray, counts: list[int] | None = None) -> np.ndarray:
    """The critical point of F next to `start` (floats), by Newton's method to 33 digits; each record counts so often.

    The derivative of the gradient is taken by differences of 1e-25 along a basis at the current point.
    """
    reference = exact(space)
    records, weights = [reference.read(record) for record in x], counts or [1] * len(x)
    if in_chart(space):
        return sum(m * record for m, record in zip(weights, records, strict=True)) / sum(weights)
    model = inner(space)
    base = start if model == space else drop(reference.read(start))
    basis = [ambient(v) for v in model.from_coordinates(np.eye(space.dim), base)]

    def gradient(point):
        logs = (m * reference.log(record, point) for m, record in zip(weights, records, strict=True))
        total = sum(logs) / sum(weights)
        return [mp.re(sum(mp.conj(a) * b for a, b in zip(e.reshape(-1), total.reshape(-1), strict=True))) for e in basis]

    def moved(point, c):
        step = sum(t * e for t, e in zip(c, basis, strict=True))
        return reference.exp(tangent(model, step, point), point)

    point, h = reference.read(start), mp.mpf(10) ** -25
    for _ in range(12):
        value = gradient(point)
        if max(abs(g) for g in value) < mp.mpf(10) ** -33:
            return point
        columns = [[(a - b) / h for a, b in zip(gradient(moved(point, row)), value, strict=True)] for row in _steps(h, len(basis))]
        point = moved(point, list(mp.lu_solve(mp.matrix(columns).T, -mp.matrix(value))))
    raise AssertionError("the reference did not converge")


def _steps(h, dim):
    return [[h if i == j else mp.mpf(0) for j in range(dim)] for i in range(dim)]


def ambient(v):
    return lift(v @ [1, 1j]) if v.ndim == 2 and v.shape[-1] == 2 and v.shape[0] > 2 else lift(v)


def tangent(space, v, p):
    """v without what is not tangent at p."""
    if isinstance(space, Sphere):
        return v - p * (p @ v) / (p @ p)
    if isinstance(space, Hyperbolic):
        lorentz = ExactHyperbolic(space).lorentz
        return v - p * lorentz(p, v) / lorentz(p, p)
    if isinstance(space, Rotations):
        a = p.T @ v
        return p @ (a - a.T) / 2
    if isinstance(space, KendallShapes):
        v = v - sum(v) / len(v)
        return v - p * sum(mp.conj(a) * b for a, b in zip(p, v, strict=True))
    return v
