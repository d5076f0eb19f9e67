"""The axioms of a Riemannian manifold, on every space that the package exports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manifolds.examples import (
    EXAMPLES,
    EXTREME_PLANES,
    ISOMETRIES,
    SPACES,
    at,
    coords,
    exported_spaces,
    extreme_planes,
    isometry,
    points,
    reach,
)

every_space = pytest.mark.parametrize("space", SPACES, ids=repr)
TOL = 2e-12  # points stay within 2 of the origin: condition numbers of a few hundred units of roundoff


@pytest.mark.parametrize("table", [EXAMPLES, ISOMETRIES, EXTREME_PLANES], ids=["examples", "isometries", "planes"])
def test_every_exported_space_is_in_the_suite(table):
    missing = [space.__name__ for space in exported_spaces() if not table.get(space)]
    assert not missing, f"add {', '.join(missing)} to the tables of tests/manifolds/examples.py"


def test_the_exported_spaces_are_found():
    assert {"Euclidean", "Sphere", "Hyperbolic", "SPDAffine", "SPDLogEuclidean", "KendallShapes", "Product"} <= {
        space.__name__ for space in exported_spaces()
    }


# --- exp, log, dist --------------------------------------------------------------------------------------------


@every_space
@given(data=st.data())
def test_log_inverts_exp(space, data):
    base, c = data.draw(points(space)), data.draw(coords(space))
    vector = space.from_coordinates(c, base)
    back = space.coordinates(space.log(space.exp(vector, base), base), base)
    np.testing.assert_allclose(back, c, rtol=0, atol=TOL)


@every_space
@given(data=st.data())
def test_exp_inverts_log(space, data):
    base, point = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    assert space.dist(space.exp(space.log(point, base), base), point) <= TOL


@every_space
@given(data=st.data())
def test_distance_is_a_metric(space, data):
    a, b, c = (data.draw(points(space)) for _ in range(3))
    assert space.dist(a, a) <= TOL
    assert space.dist(a, b) >= 0
    assert abs(space.dist(a, b) - space.dist(b, a)) <= TOL
    assert space.dist(a, c) <= space.dist(a, b) + space.dist(b, c) + TOL


@every_space
@given(data=st.data())
def test_distance_is_the_length_of_log_and_of_exp(space, data):
    base, c = data.draw(points(space)), data.draw(coords(space))
    point = at(space, c, base)
    assert space.dist(base, point) == pytest.approx(np.linalg.norm(c), abs=TOL)
    assert space.norm(space.log(point, base), base) == pytest.approx(np.linalg.norm(c), abs=TOL)


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
    np.testing.assert_allclose(space.coordinates(u, base), a, rtol=0, atol=TOL)
    assert space.inner(u, v, base) == pytest.approx(a @ b, abs=TOL)
    assert space.norm(u, base) == pytest.approx(np.linalg.norm(a), abs=TOL)


@every_space
@given(data=st.data())
def test_tangent_vectors_come_back_from_coordinates(space, data):
    base, point = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    v = space.log(point, base)
    np.testing.assert_allclose(space.from_coordinates(space.coordinates(v, base), base), v, rtol=0, atol=40 * TOL)


@every_space
@given(data=st.data())
def test_coordinates_are_linear(space, data):
    base, a, b = data.draw(points(space)), data.draw(coords(space)), data.draw(coords(space))
    mixed = space.from_coordinates(2 * a - 3 * b, base)
    parts = 2 * space.from_coordinates(a, base) - 3 * space.from_coordinates(b, base)
    np.testing.assert_allclose(mixed, parts, rtol=0, atol=100 * TOL)


@every_space
@given(data=st.data())
def test_inner_product_is_the_second_derivative_of_the_distance(space, data):
    """dist(exp(tu), exp(tv)) = t ‖u - v‖ + O(t³): the metric behind `dist` is the one behind `inner`."""
    base, a, b = data.draw(points(space)), data.draw(coords(space, 1.0)), data.draw(coords(space, 1.0))
    t = 1e-4 * min(1.0, reach(space))
    u, v = space.from_coordinates(a, base), space.from_coordinates(b, base)
    difference = space.norm(u - v, base)
    slope = space.dist(space.exp(t * u, base), space.exp(t * v, base)) / t
    assert slope == pytest.approx(difference, abs=1e-7)


# --- geodesics -----------------------------------------------------------------------------------------------------


@every_space
@given(data=st.data())
def test_geodesics_have_constant_speed_and_their_ends(space, data):
    a, c = data.draw(points(space)), data.draw(coords(space))
    s, t = data.draw(st.floats(0, 1)), data.draw(st.floats(0, 1))
    b = at(space, c, a)
    length = space.dist(a, b)
    assert space.dist(space.geodesic(a, b, 0.0), a) <= TOL
    assert space.dist(space.geodesic(a, b, 1.0), b) <= TOL
    path = space.geodesic(a, b, np.array([s, t]))
    assert space.dist(path[0], path[1]) == pytest.approx(abs(s - t) * length, abs=TOL)


@every_space
@given(data=st.data())
def test_geodesics_are_shortest(space, data):
    """No broken path through a third point near the geodesic is shorter; through its own points none is longer."""
    a, c, off = data.draw(points(space)), data.draw(coords(space)), data.draw(coords(space, 0.3))
    b = at(space, c, a)
    middle = space.geodesic(a, b, 0.4)
    detour = at(space, off, middle)
    length = space.dist(a, b)
    assert space.dist(a, middle) + space.dist(middle, b) == pytest.approx(length, abs=TOL)
    assert space.dist(a, detour) + space.dist(detour, b) >= length - TOL


@every_space
def test_geodesics_beyond_their_ends_are_exp(space):
    a = space.origin
    c = np.ones(space.dim) * reach(space) / 4 / np.sqrt(space.dim)
    b = at(space, c, a)
    assert space.dist(space.geodesic(a, b, 3.0), at(space, 3 * c, a)) <= TOL
    assert space.dist(space.geodesic(a, b, -1.0), at(space, -c, a)) <= TOL


# --- membership ------------------------------------------------------------------------------------------------------


@every_space
def test_random_points_are_points_in_a_ball_with_a_unique_mean(space):
    x = space.random_point(200, np.random.default_rng(0))
    assert x.shape == (200, *space.point_shape)
    assert space.contains(x).all()
    assert space.dist(x, space.origin).max() < space.uniqueness_radius
    assert len(np.unique(x.round(9), axis=0)) == 200
    np.testing.assert_array_equal(x, space.random_point(200, 0))


@every_space
@given(data=st.data())
def test_project_is_idempotent_and_keeps_points(space, data):
    x = data.draw(points(space))
    assert space.contains(x)
    once = space.project(x)
    assert space.contains(once)
    assert space.dist(once, x) <= TOL
    np.testing.assert_allclose(space.project(once), once, rtol=0, atol=TOL)


@every_space
@pytest.mark.parametrize("size", [1e-4, 1e-10])
def test_contains_draws_its_line_at_the_stated_tolerance(space, size):
    """A push off the space by 1e-4 is noticed (where one can leave it), one by 1e-10 is not."""
    rng = np.random.default_rng(4)
    x = space.random_point(20, 3)
    pushed = x * (1 + size * rng.standard_normal(x.shape))
    open_set = type(space).__name__ == "Euclidean" or (space.point_shape == (1, 1)) or space.point_shape == (3,) and size == 0
    assert space.contains(pushed).all() == (size < 1e-8 or open_set)


@every_space
def test_the_origin_is_a_point(space):
    assert space.origin.shape == space.point_shape
    assert space.contains(space.origin)


# --- volume --------------------------------------------------------------------------------------------------------


def jacobian_of_exp(space, c, base, h=2e-3):
    """d exp at the vector with coordinates c, from tangent space to tangent space; 4th-order differences."""
    end = at(space, c, base)
    steps = h * np.array([-2, -1, 1, 2])
    shifted = c + steps[:, None, None] * np.eye(space.dim)
    values = space.coordinates(space.log(at(space, shifted, base), end), end)
    return np.tensordot(np.array([1, -8, 8, -1]) / (12 * h), values, axes=1).T


@every_space
@given(data=st.data())
def test_volume_density_is_the_jacobian_of_exp(space, data):
    base, c = data.draw(points(space)), data.draw(coords(space, min(0.8 * space.injectivity_radius, 3.0)))
    determinant = np.linalg.det(jacobian_of_exp(space, c, base))
    computed = space.log_volume_density(space.from_coordinates(c, base), base)
    assert np.exp(computed) == pytest.approx(determinant, rel=1e-6)


@every_space
def test_volume_density_is_one_at_zero_and_none_past_the_cut_locus(space):
    unit = np.eye(space.dim)[-1]
    at_zero = space.log_volume_density(space.from_coordinates(0 * unit, space.origin), space.origin)
    assert at_zero == 0.0
    if np.isfinite(space.injectivity_radius):
        lengths = space.injectivity_radius * np.array([1.0, 1.5, 2.2, 3.3])[:, None]
        past = space.from_coordinates(lengths * extreme_direction(space), space.origin)
        assert (space.log_volume_density(past, space.origin) == -np.inf).all()


def extreme_direction(space):
    """A direction in the factor whose injectivity radius is the smallest."""
    factors = getattr(space, "factors", [space])
    short = [f.injectivity_radius == space.injectivity_radius for f in factors for _ in range(f.dim)]
    return np.eye(space.dim)[short.index(True)]


# --- curvature -----------------------------------------------------------------------------------------------------


def sectional_curvature(space, u, v, base):
    """From dist(exp(tu), exp(tv))² = 2t² - K t⁴/3 + O(t⁶), u and v orthonormal; one Richardson step."""

    def estimate(t):
        a, b = at(space, t * u, base), at(space, t * v, base)
        return 3 * (2 * t**2 - space.dist(a, b) ** 2) / t**4

    t = 0.06 / max(1.0, np.sqrt(np.abs(space.curvature_bounds).max()))
    return (4 * estimate(t / 2) - estimate(t)) / 3


def _unit(k):
    return 1e-4 * max(1.0, abs(k))


@every_space
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_sectional_curvature_is_within_its_bounds(space, data, seed):
    if space.dim < 2:
        return
    base = data.draw(points(space))
    u, v = np.linalg.qr(np.random.default_rng(seed).standard_normal((space.dim, 2)))[0].T
    k_min, k_max = space.curvature_bounds
    curvature = sectional_curvature(space, u, v, base)
    assert k_min - _unit(k_min) <= curvature <= k_max + _unit(k_max)


@every_space
def test_curvature_bounds_are_attained(space):
    planes = extreme_planes(space)
    if not planes:
        pytest.skip("a line has no planes")
    found = [sectional_curvature(space, u, v, space.origin) for u, v in planes]
    k_min, k_max = space.curvature_bounds
    assert min(found) == pytest.approx(k_min, abs=_unit(k_min))
    assert max(found) == pytest.approx(k_max, abs=_unit(k_max))


@every_space
def test_injectivity_radius_is_sharp(space):
    """Just short of it exp and log still are inverse; just past it a geodesic is no longer shortest."""
    radius = space.injectivity_radius
    if np.isinf(radius):
        far = at(space, 6.0 * np.eye(space.dim)[0], space.origin)
        assert space.dist(space.origin, far) == pytest.approx(6.0, abs=1e-9)
        return
    direction = extreme_direction(space)
    for factor, shortest in ((0.999, 0.999), (1.001, 0.999)):
        end = at(space, factor * radius * direction, space.origin)
        assert space.dist(space.origin, end) == pytest.approx(shortest * radius, rel=1e-9)


@every_space
def test_uniqueness_radius_follows_from_the_facts(space):
    k_max = space.curvature_bounds[1]
    turn = np.pi / np.sqrt(k_max) if k_max > 0 else np.inf
    assert space.uniqueness_radius == min(space.injectivity_radius, turn) / 2
    assert space.homogeneous


@every_space
@given(data=st.data(), t=st.floats(0, 1))
def test_triangles_are_as_fat_as_curvature_allows(space, data, t):
    """CAT(0) and Alexandrov: with curvature <= 0 (>= 0) a median is at most (least) the flat one."""
    a, b, c = (data.draw(points(space, reach(space) / 4)) for _ in range(3))
    flat = (1 - t) * space.dist(a, b) ** 2 + t * space.dist(a, c) ** 2 - t * (1 - t) * space.dist(b, c) ** 2
    median = space.dist(a, space.geodesic(b, c, t)) ** 2
    k_min, k_max = space.curvature_bounds
    if k_max <= 0:
        assert median <= flat + TOL
    if k_min >= 0:
        assert median >= flat - TOL


# --- isometries ----------------------------------------------------------------------------------------------------


@every_space
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_isometries_preserve_distance_and_carry_geodesics(space, data, seed):
    a, b = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    g = isometry(space, np.random.default_rng(seed))
    ga, gb = space.project(g(a)), space.project(g(b))
    assert space.dist(ga, gb) == pytest.approx(space.dist(a, b), abs=20 * TOL)
    middle = space.project(g(space.geodesic(a, b, 0.3)))
    assert space.dist(space.geodesic(ga, gb, 0.3), middle) <= 20 * TOL


@every_space
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_isometries_preserve_volume_density(space, data, seed):
    """log J depends on the vector's place under isometries only: carried by g, it stays the same."""
    a, b = data.draw(points(space)), data.draw(points(space, reach(space) / 4))
    g = isometry(space, np.random.default_rng(seed))
    ga, gb = space.project(g(a)), space.project(g(b))
    before = space.log_volume_density(space.log(b, a), a)
    assert space.log_volume_density(space.log(gb, ga), ga) == pytest.approx(before, abs=100 * TOL)
