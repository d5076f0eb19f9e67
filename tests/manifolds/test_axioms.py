"""The axioms of a Riemannian manifold, on every space of the package and on the one that docs/extending.md defines.

Each example is a small batch of points or vectors, so that broadcasting is tried along the way.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.linalg import norm

import riemdp
from manifolds.exact import CHARTS
from manifolds.examples import (
    EVERY,
    EXTREME_PLANES,
    INSIDE,
    ISOMETRIES,
    SPACES,
    at,
    coords,
    extreme_planes,
    has_core_only,
    in_disc,
    isometry,
    left_out,
    points,
    reach,
    seeds,
    without_reference,
)
from manifolds.half_plane import HalfPlane

every_space = pytest.mark.parametrize("space", [*EVERY, *INSIDE], ids=repr)
with_volume = pytest.mark.parametrize("space", [*SPACES, *INSIDE], ids=repr)  # more than the core of a space
TOL = 2e-12  # points stay within 2 of the origin, where conditioning costs at most a few thousand roundoffs


def assert_close(actual, expected, atol=TOL):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def test_every_space_is_in_the_suite():
    """A new class says its examples itself."""
    assert left_out([*EVERY, *INSIDE]) == []


@pytest.mark.parametrize("references", [ISOMETRIES, EXTREME_PLANES], ids=["isometries", "planes"])
def test_every_space_with_a_capability_has_references(references):
    """Those of tests/manifolds/examples.py are written for it; one that has its core alone is held to the axioms."""
    assert without_reference(references) == []


def test_a_space_without_references_is_noticed_if_it_claims_more_than_its_core():
    assert without_reference([kind for kind in ISOMETRIES if kind is not riemdp.Torus]) == ["Torus"]
    assert has_core_only(HalfPlane)
    assert not any(map(has_core_only, [riemdp.Torus, riemdp.Product, riemdp.RigidMotions]))


def test_the_spaces_of_the_package_are_found_and_exported():
    names = {kind.__name__ for kind in riemdp.manifolds.package_spaces()}
    assert names >= {"Euclidean", "Sphere", "Hyperbolic", "SPDAffine", "SPDLogEuclidean", "KendallShapes", "Product"}
    assert names <= set(riemdp.manifolds.__all__) & set(riemdp.__all__)


# --- exp, log, dist --------------------------------------------------------------------------------------------


@every_space
@given(data=st.data())
def test_log_inverts_exp(space, data):
    base, c = data.draw(points(space)), data.draw(coords(space))
    end = space.exp(space.from_coordinates(c, base), base)
    assert_close(space.coordinates(space.log(end, base), base), c)


@every_space
@given(data=st.data())
def test_exp_inverts_log(space, data):
    base, point = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    assert_close(space.dist(space.exp(space.log(point, base), base), point), 0)


@every_space
@given(data=st.data())
def test_distance_is_a_metric(space, data):
    a, b, c = (data.draw(points(space)) for _ in range(3))
    assert_close(space.dist(a, a), 0)
    assert (space.dist(a, b) >= 0).all()
    assert_close(space.dist(a, b), space.dist(b, a))
    assert (space.dist(a, c) <= space.dist(a, b) + space.dist(b, c) + TOL).all()


@every_space
@given(data=st.data())
def test_distance_is_the_length_of_log_and_of_exp(space, data):
    base, c = data.draw(points(space)), data.draw(coords(space))
    point = at(space, c, base)
    assert_close(space.dist(base, point), norm(c, axis=-1))
    assert_close(space.norm(space.log(point, base), base), norm(c, axis=-1))


@every_space
def test_distinct_points_are_apart(space):
    a, b = space.random_point(2, 5)
    assert space.dist(a, b) > 1e-3


# --- tangent spaces ----------------------------------------------------------------------------------------------


@every_space
@given(data=st.data())
def test_coordinates_are_an_isometry(space, data):
    base, a, b = data.draw(points(space)), data.draw(coords(space)), data.draw(coords(space))
    u, v = space.from_coordinates(a, base), space.from_coordinates(b, base)
    assert_close(space.coordinates(u, base), a)
    assert_close(space.inner(u, v, base), (a * b).sum(axis=-1))
    assert_close(space.norm(u, base), norm(a, axis=-1))


@every_space
@given(data=st.data())
def test_tangent_vectors_come_back_from_coordinates(space, data):
    base, point = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    v = space.log(point, base)
    assert_close(space.from_coordinates(space.coordinates(v, base), base), v, 40 * TOL)


@every_space
@given(data=st.data())
def test_coordinates_are_linear(space, data):
    base, a, b = data.draw(points(space)), data.draw(coords(space)), data.draw(coords(space))
    parts = 2 * space.from_coordinates(a, base) - 3 * space.from_coordinates(b, base)
    assert_close(space.from_coordinates(2 * a - 3 * b, base), parts, 40 * TOL)


@every_space
@given(data=st.data())
def test_inner_product_and_distance_are_of_one_metric(space, data):
    """dist(exp(tu), exp(tv)) = t ‖u - v‖ + O(t³)."""
    base, a, b = data.draw(points(space)), data.draw(coords(space, 1.0)), data.draw(coords(space, 1.0))
    t = 1e-4 * min(1.0, reach(space))
    u, v = space.from_coordinates(a, base), space.from_coordinates(b, base)
    slope = space.dist(space.exp(t * u, base), space.exp(t * v, base)) / t
    assert_close(slope, space.norm(u - v, base), 1e-7)


# --- geodesics -----------------------------------------------------------------------------------------------------


@every_space
@given(data=st.data(), s=st.floats(0, 1), t=st.floats(0, 1))
def test_geodesics_have_constant_speed_and_their_ends(space, data, s, t):
    a, c = data.draw(points(space)), data.draw(coords(space))
    b = at(space, c, a)
    first, start, second, end = (space.geodesic(a, b, time) for time in (s, 0.0, t, 1.0))
    assert_close(space.dist(start, a), 0)
    assert_close(space.dist(end, b), 0)
    assert_close(space.dist(first, second), abs(s - t) * space.dist(a, b))


@every_space
@given(data=st.data())
def test_geodesics_are_shortest(space, data):
    """A path through a point of the geodesic is as long as its ends are apart; a detour is not shorter."""
    a, c, off = data.draw(points(space)), data.draw(coords(space)), data.draw(coords(space, 0.3))
    b = at(space, c, a)
    middle = space.geodesic(a, b, 0.4)
    detour = at(space, off, middle)
    assert_close(space.dist(a, middle) + space.dist(middle, b), space.dist(a, b))
    assert (space.dist(a, detour) + space.dist(detour, b) >= space.dist(a, b) - TOL).all()


@every_space
def test_geodesics_beyond_their_ends_are_exp(space):
    c = np.full(space.dim, reach(space) / 4 / np.sqrt(space.dim))
    end = at(space, c, space.origin)
    beyond = space.geodesic(space.origin, end, np.array([3.0, -1.0]))
    assert_close(space.dist(beyond, at(space, np.array([3 * c, -c]), space.origin)), 0)


# --- membership ------------------------------------------------------------------------------------------------------


@every_space
def test_random_points_are_points_with_a_unique_mean(space):
    x = space.random_point(200, np.random.default_rng(0))
    assert x.shape == (200, *space.point_shape)
    assert space.contains(x).all()
    assert len(np.unique(x.round(9), axis=0)) == 200
    np.testing.assert_array_equal(x, space.random_point(200, 0))
    pieces = [x] if space.parts == (space,) else space.split(x)
    pairs = zip(space.parts, pieces, strict=True)
    assert all(part.dist(piece, part.origin).max() < part.uniqueness_radius for part, piece in pairs)


@every_space
@given(data=st.data())
def test_project_is_idempotent_and_keeps_points(space, data):
    x = data.draw(points(space))
    assert space.contains(x).all()
    once = space.project(x)
    assert space.contains(once).all()
    assert_close(space.dist(once, x), 0)
    assert_close(space.project(once), once)


@every_space
def test_contains_has_the_stated_tolerance(space):
    """Noise of 1e-10 of a point's size is tolerated; noise of 1e-4 is not, unless points fill an open set."""
    x = space.random_point(20, 3)
    noise = x * np.random.default_rng(4).standard_normal(x.shape)
    assert space.contains(x + 1e-10 * noise).all()
    is_open = np.prod(space.point_shape) * (2 if np.iscomplexobj(x) else 1) == space.dim
    assert space.contains(x + 1e-4 * noise).all() == is_open


@every_space
@given(data=st.data())
def test_points_within_the_tolerance_stand_for_their_projections(space, data):
    """What is computed from a point 1e-9 off the space is what is computed from the point nearest to it."""
    x, y = data.draw(points(space, reach(space) / 4)), data.draw(points(space, reach(space) / 4))
    noisy = x * (1 + 1e-9 * np.random.default_rng(4).standard_normal(x.shape))
    assert_close(space.dist(y, noisy), space.dist(y, space.project(noisy)))


@every_space
def test_the_origin_is_a_point(space):
    assert space.origin.shape == space.point_shape
    assert space.contains(space.origin)


# --- volume --------------------------------------------------------------------------------------------------------


def jacobian_of_exp(space, c, base, h=1e-3):
    """d exp at the vector with coordinates c, from tangent space to tangent space; 4th-order differences.

    Of the primitives: what is written may be folded back, as on the simplex, and then has no derivative at its edge.
    """
    inner = space.read(base, "base")
    steps = h * np.array([-2, -1, 1, 2])
    shifted = c + steps[:, None, None] * np.eye(space.dim)
    values = space.log_coords(space.exp_coords(shifted, inner), space.exp_coords(c, inner))
    return np.tensordot(np.array([1, -8, 8, -1]) / (12 * h), values, axes=1).T


@with_volume
@given(data=st.data())
def test_volume_density_is_the_jacobian_of_exp(space, data):
    base = data.draw(points(space))[0]
    longest = 3 / np.sqrt(max(1.0, -space.curvature_bounds[0]))
    c = data.draw(coords(space, min(0.8 * space.injectivity_radius, longest)))
    determinants = [abs(np.linalg.det(jacobian_of_exp(space, v, base))) for v in c]
    computed = space.log_volume_density(space.from_coordinates(c, base), base)
    np.testing.assert_allclose(np.exp(computed), determinants, rtol=1e-6)


@with_volume
def test_volume_density_is_one_at_zero_and_none_past_the_cut_locus(space):
    base, zero = space.origin, space.from_coordinates(np.zeros(space.dim), space.origin)
    assert space.log_volume_density(zero, base) == 0.0
    if np.isfinite(space.injectivity_radius):
        lengths = space.injectivity_radius * np.array([1.0, 1.5, 2.2, 3.3])[:, None]
        past = space.from_coordinates(lengths * shortest_direction(space), base)
        assert (space.log_volume_density(past, base) == -np.inf).all()


def shortest_direction(space):
    """A direction in the factor whose injectivity radius is the smallest."""
    short = [f.injectivity_radius == space.injectivity_radius for f in space.parts for _ in range(f.dim)]
    return np.eye(space.dim)[short.index(True)]


# --- curvature -----------------------------------------------------------------------------------------------------


def sectional_curvature(space, u, v, base):
    """From dist(exp(tu), exp(tv))² = 2t² - K t⁴/3 + O(t⁶), u and v orthonormal; one Richardson step."""

    def estimate(t):
        return 3 * (2 * t**2 - space.dist(at(space, t * u, base), at(space, t * v, base)) ** 2) / t**4

    t = 0.06 / max(1.0, np.sqrt(np.abs(space.curvature_bounds).max()))
    return (4 * estimate(t / 2) - estimate(t)) / 3


def slack(curvature):
    return 1e-4 * max(1.0, abs(curvature))


@every_space
@given(data=st.data(), seed=seeds)
def test_sectional_curvature_is_within_its_bounds(space, data, seed):
    base = data.draw(points(space))
    if space.dim > 1:
        u, v = np.linalg.qr(np.random.default_rng(seed).standard_normal((space.dim, 2)))[0].T
        k_min, k_max = space.curvature_bounds
        curvature = sectional_curvature(space, u, v, base)
        assert (curvature >= k_min - slack(k_min)).all()
        assert (curvature <= k_max + slack(k_max)).all()


@pytest.mark.parametrize("space", [space for space in EVERY if extreme_planes(space)], ids=repr)
def test_curvature_bounds_are_attained(space):
    found = [sectional_curvature(space, u, v, space.origin) for u, v in extreme_planes(space)]
    k_min, k_max = space.curvature_bounds
    assert min(found) == pytest.approx(k_min, abs=slack(k_min))
    assert max(found) == pytest.approx(k_max, abs=slack(k_max))


@pytest.mark.parametrize("space", EVERY, ids=repr)  # beyond an edge there is nothing
def test_injectivity_radius_is_sharp(space):
    """Short of it a geodesic is shortest; past it, as much as it overshoots is lost. Infinite: no end at 6."""
    radius, direction = min(space.injectivity_radius, 1e6), shortest_direction(space)
    if radius == 1e6:
        assert_close(space.dist(space.origin, at(space, 6.0 * direction, space.origin)), 6.0, 1e-9)
        return
    ends = at(space, radius * np.array([[0.999], [1.001]]) * direction, space.origin)
    assert_close(space.dist(space.origin, ends), 0.999 * radius, 1e-9)


@every_space
def test_uniqueness_radius_follows_from_the_facts(space):
    k_max = space.curvature_bounds[1]
    turn = np.pi / np.sqrt(k_max) if k_max > 0 else np.inf
    assert space.uniqueness_radius == min(space.injectivity_radius, turn) / 2
    assert space.is_flat == (space.curvature_bounds == (0, 0) and np.isinf(space.injectivity_radius))


@every_space
@given(data=st.data(), t=st.floats(0, 1))
def test_triangles_are_as_fat_as_curvature_allows(space, data, t):
    """With curvature <= 0 (CAT(0)) a median is at most the flat one, with curvature >= 0 at least."""
    a, b, c = (data.draw(points(space, reach(space) / 4)) for _ in range(3))
    flat = (1 - t) * space.dist(a, b) ** 2 + t * space.dist(a, c) ** 2 - t * (1 - t) * space.dist(b, c) ** 2
    median = space.dist(a, space.geodesic(b, c, t)) ** 2
    k_min, k_max = space.curvature_bounds
    assert k_max > 0 or (median <= flat + TOL).all()
    assert k_min < 0 or (median >= flat - TOL).all()


# --- isometries ----------------------------------------------------------------------------------------------------


@with_volume
@given(data=st.data(), seed=seeds)
def test_isometries_keep_distances_geodesics_and_volume(space, data, seed):
    a, b = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    g = isometry(space, np.random.default_rng(seed))
    ga, gb, middle = (space.project(g(x)) for x in (a, b, space.geodesic(a, b, 0.3)))
    assert_close(space.dist(ga, gb), space.dist(a, b), 20 * TOL)
    assert_close(space.dist(space.geodesic(ga, gb, 0.3), middle), 0, 20 * TOL)
    density = space.log_volume_density(space.log(b, a), a)
    assert_close(space.log_volume_density(space.log(gb, ga), ga), density, 100 * TOL)


def test_landmarks_modulo_similarities_are_one_shape():
    """Translation, scale and rotation of the raw configuration do not move the shape; a reflection does."""
    from riemdp.manifolds import KendallShapes

    space, rng = KendallShapes(6), np.random.default_rng(2)
    raw = rng.standard_normal((50, 6, 2))
    moved = 3.7 * (raw @ [1, 1j]) * np.exp(1j * rng.uniform(0, 7, 50))[:, None] + (5 - 2j)
    assert_close(space.dist(space.project(raw), space.project(np.stack([moved.real, moved.imag], -1))), 0)
    assert (space.dist(space.project(raw), space.project(raw * [1, -1])) > 1e-3).all()


def test_relabelling_landmarks_is_an_isometry_of_shapes():
    from riemdp.manifolds import KendallShapes

    space = KendallShapes(6)
    a, b = np.split(space.random_point(20, 0), 2)
    order = np.random.default_rng(0).permutation(6)
    assert_close(space.dist(a[:, order], b[:, order]), space.dist(a, b))


# --- the formulas of the metrics ---------------------------------------------------------------------------------


def ambient_inner(space, u, v, p):
    """The metric of MATH.md section 1, written in the ambient coordinates."""
    name = type(space).__name__
    if name in ("SPDAffine", "HPDAffine"):
        return np.trace(np.linalg.solve(p, u) @ np.linalg.solve(p, v), axis1=-2, axis2=-1).real
    if name == "Simplex":
        return (u * v / p).sum(axis=-1)
    if in_disc(space):
        return 4 * (u * v).sum(axis=-1) / (1 - (p * p).sum(axis=-1)) ** 2
    if name == "Hyperbolic":
        return (u[..., 1:] * v[..., 1:]).sum(axis=-1) - u[..., 0] * v[..., 0]
    flat = (u * v).sum(axis=tuple(range(1, u.ndim)))
    return flat / 2 if name in ("Rotations", "Grassmann") else flat


# Their metrics are those of a chart, and of factors.
NOT_AMBIENT = {*(kind.__name__ for kind in CHARTS), "Product", "RigidMotions"}


@pytest.mark.parametrize("space", [s for s in [*SPACES, *INSIDE] if type(s).__name__ not in NOT_AMBIENT], ids=repr)
@given(data=st.data())
def test_inner_product_is_the_stated_one(space, data):
    base, a, b = data.draw(points(space)), data.draw(coords(space)), data.draw(coords(space))
    u, v = space.from_coordinates(a, base), space.from_coordinates(b, base)
    assert_close(space.inner(u, v, base), ambient_inner(space, u, v, base), 100 * TOL)
