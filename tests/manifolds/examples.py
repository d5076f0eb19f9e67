"""The examples of every space that the package has, and references for some of what they do.

Spaces are found by registration, and all are held to the axioms. Isometries and planes of extreme curvature are
references, written down here by hand: a space with capabilities but without them fails `test_axioms.py`, loudly. One
with nothing but its core, as newcomers begin, needs none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import strategies as st
from scipy.stats import ortho_group

from manifolds.half_plane import HalfPlane
from riemdp.errors import MechanismError
from riemdp.manifolds import (
    Correlations,
    Euclidean,
    Grassmann,
    HPDAffine,
    HPDLogEuclidean,
    Hyperbolic,
    KendallShapes,
    Product,
    RigidMotions,
    Rotations,
    Simplex,
    Space,
    SPDAffine,
    SPDLogCholesky,
    SPDLogEuclidean,
    Sphere,
    Torus,
    package_spaces,
)
from riemdp.manifolds.capabilities import CAPABILITIES
from riemdp.statistics.frechet import frechet_mean

Isometry = Callable[[np.ndarray], np.ndarray]
Plane = tuple[np.ndarray, np.ndarray]

BATCH = 4


def left_out(picked: Iterable[object], but: Iterable[type[Space]] = ()) -> list[str]:
    """Spaces of the package of which there is none in a list (or table) that is picked by hand, but for some."""
    there = {kind if isinstance(kind, type) else type(kind) for kind in picked}
    return [kind.__name__ for kind in package_spaces() if kind not in there | set(but)]


def without_reference(references: Iterable[object], but: Iterable[type[Space]] = ()) -> list[str]:
    """Those of the spaces left out that claim more than their core, which is what references are for."""
    return left_out(references, [*but, *filter(has_core_only, package_spaces())])


def has_core_only(kind: type[Space]) -> bool:
    """Whether a space claims no capability: then only tangent means of it are released."""
    return not any(issubclass(kind, role) for role in CAPABILITIES)


def is_complete(space: Space) -> bool:
    """Whether it can do more than its core: has a volume, and Fréchet means."""
    try:
        space.log_volume_density(space.from_coordinates(np.zeros(space.dim), space.origin), space.origin)
        frechet_mean(space.random_point(3, 0), space)
    except MechanismError:
        return False
    return True


def in_disc(space: Space) -> bool:
    """Whether points are those of the Poincaré ball."""
    return isinstance(space, Hyperbolic) and space.model == "poincare"


# A space with an edge keeps the axioms away from it only (`reach`), and has tests of its own.
WITH_EDGES = [Simplex]
EVERY = [space for kind in [*package_spaces(), HalfPlane] if kind not in WITH_EDGES for space in kind.examples()]
SPACES = [space for space in EVERY if is_complete(space)]
INSIDE = [space for kind in WITH_EDGES for space in kind.examples()]
# Those with a reference of their own in `exact.py`, and products of them, whose vectors are those of the reference.
BY_DEFINITION = [space for space in SPACES if not isinstance(space, RigidMotions) and not in_disc(space)]


def with_others(picked: list[Space], but: Iterable[type[Space]] = ()) -> list[Space]:
    """Spaces picked by hand for their sizes, and the last example of every other kind that can do as much."""
    last = {type(space).__name__: space for space in SPACES}
    return picked + [last[name] for name in left_out(picked, but) if name in last]


# --- points and vectors ------------------------------------------------------------------------------------

seeds = st.integers(0, 2**32 - 1)

def reach(space: Space) -> float:
    """A length up to which exp is well conditioned: short of the cut locus or of an edge, moderate elsewhere."""
    if isinstance(space, Simplex):  # twice, from the middle: 2 arcsin(1/sqrt k) to the edge
        return 0.8 * math.asin(1 / math.sqrt(space.k))
    return min(0.9 * space.injectivity_radius, 2.0)


def coords(space: Space, longest: float | None = None) -> st.SearchStrategy[np.ndarray]:
    """Coordinates (BATCH, dim) of tangent vectors of every length up to `longest`, tiny and zero ones among them."""
    limit = reach(space) if longest is None else longest
    lengths = st.lists(st.floats(0, 1), min_size=BATCH, max_size=BATCH)
    return st.builds(lambda seed, t: limit * np.array(t)[:, None] * _directions(space.dim, seed), seeds, lengths)


def _directions(dim: int, seed: int) -> np.ndarray:
    """Unit vectors; every other one along an axis."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((BATCH, dim))
    normal[::2] = np.eye(dim)[rng.integers(dim, size=len(normal[::2]))]
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def points(space: Space, longest: float | None = None) -> st.SearchStrategy[np.ndarray]:
    """BATCH points within `longest` of the origin."""
    return coords(space, longest).map(lambda c: at(space, c, space.origin))


def at(space: Space, c: np.ndarray, base: np.ndarray) -> np.ndarray:
    """The point exp(c), c in coordinates at the base."""
    return space.exp(space.from_coordinates(c, base), base)


# --- isometries ----------------------------------------------------------------------------------------------


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    """A random orthogonal matrix, reflections included."""
    return ortho_group.rvs(d, random_state=rng) if d > 1 else np.array([[rng.choice([-1.0, 1.0])]])


def _euclidean(space: Euclidean, rng: np.random.Generator) -> Isometry:
    turn, shift = rotation(space.d, rng), rng.standard_normal(space.d)
    return lambda x: x @ turn.T + shift


def _sphere(space: Sphere, rng: np.random.Generator) -> Isometry:
    turn = rotation(space.d + 1, rng)
    return lambda x: x @ turn.T


def _hyperbolic(space: Hyperbolic, rng: np.random.Generator) -> Isometry:
    """A rotation of space, then a boost along its first axis."""
    t = rng.uniform(-1, 1)
    lorentz = np.eye(space.d + 1)
    lorentz[1:, 1:] = rotation(space.d, rng)
    boost = np.eye(space.d + 1)
    boost[:2, :2] = [[np.cosh(t), np.sinh(t)], [np.sinh(t), np.cosh(t)]]
    if not in_disc(space):
        return lambda x: x @ (boost @ lorentz).T
    return lambda y: _to_disc(_from_disc(y) @ (boost @ lorentz).T)


def _from_disc(y: np.ndarray) -> np.ndarray:
    """The point of the unit hyperboloid."""
    s = (y * y).sum(axis=-1, keepdims=True)
    return np.concatenate([1 + s, 2 * y], axis=-1) / (1 - s)


def _to_disc(x: np.ndarray) -> np.ndarray:
    return x[..., 1:] / (1 + x[..., :1])


def _simplex(space: Simplex, rng: np.random.Generator) -> Isometry:
    """Another order of the categories."""
    order = rng.permutation(space.k)
    return lambda x: x[..., order]


def _spd_affine(space: SPDAffine, rng: np.random.Generator) -> Isometry:
    """A congruence, and inversion half of the time."""
    a = rotation(space.k, rng) @ np.diag(rng.uniform(0.3, 3, space.k)) @ rotation(space.k, rng)
    invert = np.linalg.inv if rng.random() < 0.5 else np.copy
    return lambda x: space.project(a @ invert(x) @ a.T)


def _spd_log_euclidean(space: SPDLogEuclidean, rng: np.random.Generator) -> Isometry:
    """A rotation, a scaling, and inversion half of the time."""
    turn, scale = rotation(space.k, rng), rng.uniform(0.3, 3)
    invert = np.linalg.inv if rng.random() < 0.5 else np.copy
    return lambda x: space.project(scale * turn @ invert(x) @ turn.T)


def _spd_log_cholesky(space: SPDLogCholesky, rng: np.random.Generator) -> Isometry:
    """The translations of the group of Lin (2019): strict triangles are added, diagonals multiplied."""
    shift, scale = np.tril(rng.standard_normal((space.k, space.k)), -1), np.diag(rng.uniform(0.3, 3, space.k))

    def isometry(x: np.ndarray) -> np.ndarray:
        factor = np.linalg.cholesky(x)
        moved = np.tril(factor, -1) + shift + scale * factor
        return moved @ np.swapaxes(moved, -1, -2)

    return isometry


def _rotations(space: Rotations, rng: np.random.Generator) -> Isometry:
    """Rotations before and after, and inversion half of the time."""
    before, after = (space.project(rng.standard_normal(4)) for _ in range(2))
    invert = (lambda x: np.swapaxes(x, -1, -2)) if rng.random() < 0.5 else np.copy
    return lambda x: after @ invert(x) @ before


def _correlations(space: Correlations, rng: np.random.Generator) -> Isometry:
    """Another order of the variables, with other signs."""
    order, signs = rng.permutation(space.k), rng.choice([-1.0, 1.0], space.k)
    return lambda x: (x * signs[:, None] * signs)[..., order, :][..., order]


def unitary(k: int, rng: np.random.Generator) -> np.ndarray:
    """A random unitary matrix."""
    return np.linalg.qr(rng.standard_normal((k, k, 2)) @ [1, 1j])[0]


def _hpd_affine(space: HPDAffine, rng: np.random.Generator) -> Isometry:
    """A congruence, and complex conjugation or inversion now and then."""
    a = unitary(space.k, rng) @ np.diag(rng.uniform(0.3, 3, space.k)) @ unitary(space.k, rng)
    change = [np.linalg.inv, np.conj, np.copy][rng.integers(3)]
    return lambda x: space.project(a @ change(x) @ a.conj().T)


def _hpd_log_euclidean(space: HPDLogEuclidean, rng: np.random.Generator) -> Isometry:
    turn, scale, change = unitary(space.k, rng), rng.uniform(0.3, 3), [np.linalg.inv, np.conj, np.copy][rng.integers(3)]
    return lambda x: space.project(scale * turn @ change(x) @ turn.conj().T)


def _torus(space: Torus, rng: np.random.Generator) -> Isometry:
    """Other zeros, other directions, another order."""
    order, signs, shift = rng.permutation(space.d), rng.choice([-1.0, 1.0], space.d), rng.uniform(-9, 9, space.d)
    return lambda x: (signs * x + shift)[..., order]


def _grassmann(space: Grassmann, rng: np.random.Generator) -> Isometry:
    """Another orthonormal basis of the surrounding space, and orthogonal complements where they are as large."""
    turn = rotation(space.n, rng)
    change = (lambda x: np.eye(space.n) - x) if space.n == 2 * space.p and rng.random() < 0.5 else np.copy
    return lambda x: space.project(turn @ change(x) @ turn.T)


def _rigid_motions(space: RigidMotions, rng: np.random.Generator) -> Isometry:
    """Another place and orientation of the observer."""
    motion = space.project((rng.standard_normal(4), rng.standard_normal(3)))
    return lambda x: motion @ x


def _kendall(space: KendallShapes, rng: np.random.Generator) -> Isometry:
    """A unitary map of the centred configurations, and a reflection of the plane half of the time."""
    basis = np.linalg.qr(np.c_[np.ones(space.k), rng.standard_normal((space.k, space.k - 1))])[0][:, 1:]
    block = rng.standard_normal((space.k - 1, space.k - 1, 2)) @ [1, 1j]
    unitary = basis @ np.linalg.qr(block)[0] @ basis.T
    reflect = np.conj if rng.random() < 0.5 else np.copy

    def isometry(x: np.ndarray) -> np.ndarray:
        z = reflect(x @ [1, 1j]) @ unitary.T
        return np.stack([z.real, z.imag], axis=-1)

    return isometry


def _product(space: Product, rng: np.random.Generator) -> Isometry:
    parts = [isometry(factor, rng) for factor in space.factors]
    return lambda x: space.join([g(part) for g, part in zip(parts, space.split(x), strict=True)])


ISOMETRIES: dict[type[Space], Callable[..., Isometry]] = {
    Euclidean: _euclidean,
    Sphere: _sphere,
    Hyperbolic: _hyperbolic,
    SPDAffine: _spd_affine,
    SPDLogEuclidean: _spd_log_euclidean,
    SPDLogCholesky: _spd_log_cholesky,
    KendallShapes: _kendall,
    RigidMotions: _rigid_motions,
    Torus: _torus,
    Simplex: _simplex,
    Grassmann: _grassmann,
    HPDAffine: _hpd_affine,
    HPDLogEuclidean: _hpd_log_euclidean,
    Correlations: _correlations,
    Rotations: _rotations,
    Product: _product,
}


def isometry(space: Space, rng: np.random.Generator) -> Isometry:
    """A random isometry of the space."""
    return ISOMETRIES[type(space)](space, rng)


# --- planes of extreme curvature at the origin --------------------------------------------------------------


def _first_two(space: Space) -> list[Plane]:
    axes = np.eye(space.dim)
    return [(axes[0], axes[1])] if space.dim > 1 else []


def _commuting_or_not(space: SPDAffine) -> list[Plane]:
    """Curvature 0: two diagonal matrices. Curvature -1/2: diag(1, -1) and the exchange of two axes."""
    if space.k == 1:
        return []
    axes = np.eye(space.dim)
    return [(axes[0], axes[1]), ((axes[0] - axes[1]) / np.sqrt(2), axes[space.k])]


def _complex_or_real(space: KendallShapes) -> list[Plane]:
    """Curvature 4: u and iu. Curvature 1: two complex-orthogonal directions."""
    axes = np.eye(space.dim)
    return [(axes[0], axes[1])] + ([(axes[0], axes[2])] if space.k > 3 else [])


def _one_block(space: Grassmann) -> list[Plane]:
    """Curvature 0: entries without a common row or column. Curvature 2: 1 and the quarter turn, of two by two."""
    if space.p == 1:
        return _first_two(space)
    entry = {(i, j): np.eye(space.dim)[i * space.p + j] for i in (0, 1) for j in (0, 1)}
    same, turn = entry[0, 0] + entry[1, 1], entry[0, 1] - entry[1, 0]
    return [(entry[0, 0], entry[1, 1]), (same / np.sqrt(2), turn / np.sqrt(2))]


def _across_and_within(space: Product) -> list[Plane]:
    """Flat: directions of two factors. Otherwise the planes of the factors."""
    starts = np.cumsum([0] + [factor.dim for factor in space.factors])
    axes = np.eye(space.dim)
    planes = [(axes[0], axes[starts[1]])] if len(space.factors) > 1 else []
    for factor, start in zip(space.factors, starts[:-1], strict=True):
        widen = axes[start : start + factor.dim].T
        planes += [(widen @ u, widen @ v) for u, v in extreme_planes(factor)]
    return planes


EXTREME_PLANES: dict[type[Space], Callable[..., list[Plane]]] = {
    Euclidean: _first_two,
    Sphere: _first_two,
    Hyperbolic: _first_two,
    SPDAffine: _commuting_or_not,
    SPDLogEuclidean: _first_two,
    SPDLogCholesky: _first_two,
    KendallShapes: _complex_or_real,
    RigidMotions: lambda space: _across_and_within(space.model),
    Torus: _first_two,
    Simplex: _first_two,
    Grassmann: _one_block,
    HPDAffine: _commuting_or_not,
    HPDLogEuclidean: _first_two,
    Correlations: _first_two,
    Rotations: _first_two,
    Product: _across_and_within,
}


def extreme_planes(space: Space) -> list[Plane]:
    """Orthonormal pairs, in coordinates at the origin, on which the curvature bounds are attained."""
    return EXTREME_PLANES.get(type(space), lambda _: [])(space)
