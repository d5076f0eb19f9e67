"""What spaces say of themselves (docs/proofs/spaces), against 60-digit arithmetic that shares no code with them.

Curvature comes from distances alone: dist(exp(tu), exp(tv))² = 2t² - K t⁴/3 + ... for orthonormal u and v. With 60
digits and t = 1e-10 it is known to 18 digits, so that wrong bounds fail by whatever they are wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mpmath as mp
import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import CHARTS, ambient, distance, exact, in_chart, length, lift, tangent
from manifolds.examples import BY_DEFINITION as SPACES
from manifolds.examples import extreme_planes
from riemdp.kernels.spectral import UNIT_ROUNDOFF
from riemdp.manifolds.base import Space

STEP = mp.mpf(10) ** -10
CLOSE = 1e-12  # frames come from the floats of the spaces
EDGES = [rd.Sphere(2, curvature=1e-6), rd.SPDAffine(3), rd.KendallShapes(5), rd.Product(rd.Sphere(1), rd.Sphere(1))]
every_space = pytest.mark.parametrize("space", [*SPACES, *EDGES], ids=repr)
curved = pytest.mark.parametrize("space", [s for s in [*SPACES, *EDGES] if s.dim > 1], ids=repr)
compact = pytest.mark.parametrize("space", [s for s in SPACES if math.isfinite(s.injectivity_radius)], ids=repr)


# --- exact points from coordinates ----------------------------------------------------------------------------------


def factors(space):
    return space.factors if isinstance(space, rd.Product) else (space,)


def split(space, coords):
    return np.split(coords, np.cumsum([factor.dim for factor in factors(space)])[:-1])


def parts(space, point):
    return space.split(point) if isinstance(space, rd.Product) else [point]


def frame(space, base):
    """The vectors of the space's own basis at an exact point, orthonormal in the exact metric.

    The floats of `from_coordinates` are brought onto the tangent space, and by Gram and Schmidt to 60 digits.
    """
    vectors = [ambient(v) for v in space.from_coordinates(np.eye(space.dim), base)]
    point, found = exact(space).read(base), []
    for v in vectors:
        v = tangent(space, v, point)
        for e in found:
            v = v - inner(space, v, e, point) * e
        found.append(v / mp.sqrt(inner(space, v, v, point)))
    return found


def inner(space, u, v, p):
    """By polarisation of the exact norm."""
    norm = exact(space).norm
    return (norm(u + v, p) ** 2 - norm(u - v, p) ** 2) / 4


def basis(space, base):
    """An orthonormal basis of exact tangent vectors; where there is a chart, that of R^d, whatever the base."""
    if in_chart(space):
        return list(lift(np.eye(space.dim)))
    return frame(space, base)


class Place:
    """A point of a space, with exact distances between what lies around it."""

    def __init__(self, space: Space, base: np.ndarray) -> None:
        self.space = space
        self.factors = [(f, exact(f).read(p), basis(f, p)) for f, p in zip(factors(space), parts(space, base), strict=True)]

    def at(self, coords):
        """exp of the vector with these coordinates, factor by factor."""
        ends = []
        for (factor, point, vectors), c in zip(self.factors, split(self.space, np.asarray(coords, dtype=object)), strict=True):
            ends.append(exact(factor).exp(sum((x * e for x, e in zip(c, vectors, strict=True)), 0 * vectors[0]), point))
        return ends

    def apart(self, a, b):
        """Distance of two such points."""
        return mp.sqrt(sum(distance(f, p, q) ** 2 for (f, _, _), p, q in zip(self.factors, a, b, strict=True)))

    def curvature(self, u, v):
        """Of the plane of two orthonormal vectors, given by their coordinates."""
        u, v = lift(u), lift(v)
        flat = sum((u - v) ** 2)
        return float(3 * (flat * STEP**2 - self.apart(self.at(STEP * u), self.at(STEP * v)) ** 2) / STEP**4)


def generic(space, seed=0):
    """A point away from the origin."""
    return space.random_point(3, seed)[2]


def planes(space, number, seed):
    rng = np.random.default_rng(seed)
    return [np.linalg.qr(rng.standard_normal((space.dim, 2)))[0].T for _ in range(number)]


def complaints(space, bounds):
    """Curvatures of random planes and of extreme ones that are beyond these bounds."""
    k_min, k_max = bounds
    slack = CLOSE * max(1.0, abs(k_min), abs(k_max))
    found = [Place(space, generic(space)).curvature(u, v) for u, v in planes(space, 4, 1)]
    found += [Place(space, space.origin).curvature(u, v) for u, v in extreme_planes(space)]
    return [value for value in found if not k_min - slack <= value <= k_max + slack]


# --- curvature ------------------------------------------------------------------------------------------------------


@curved
def test_no_plane_has_a_curvature_beyond_the_bounds(space):
    assert complaints(space, space.curvature_bounds) == []


@pytest.mark.parametrize("space", [s for s in [*SPACES, *EDGES[:3]] if extreme_planes(s)], ids=repr)
def test_the_bounds_are_attained(space):
    place = Place(space, space.origin)
    found = [place.curvature(u, v) for u, v in extreme_planes(space)]
    assert (min(found), max(found)) == pytest.approx(space.curvature_bounds, rel=CLOSE, abs=CLOSE)


def test_every_direction_of_a_shape_has_both_curvatures():
    """4 with iu and 1 with whatever is complex-orthogonal; 1 + 3a² between them."""
    space, rng = rd.KendallShapes(5), np.random.default_rng(3)
    place = Place(space, generic(space))
    u, w = np.linalg.qr(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)))[0][:, :2].T
    for a in (0.0, 0.6, 1.0):
        pair = (np.ascontiguousarray(z).view(float) for z in (u, a * 1j * u + math.sqrt(1 - a * a) * w))
        assert place.curvature(*pair) == pytest.approx(1 + 3 * a * a, abs=CLOSE)


def test_the_curvature_of_matrices_is_that_of_their_commutator():
    """-|[u, v]|²/4 at a generic point, in the coordinates of the Cholesky factor."""
    space = rd.SPDAffine(3)
    place = Place(space, generic(space))
    for u, v in planes(space, 3, 5):
        a, b = (rd.SPDLogEuclidean(3).invvecd(c) for c in (u, v))
        assert place.curvature(u, v) == pytest.approx(-np.linalg.norm(a @ b - b @ a) ** 2 / 4, abs=1e-10)


@pytest.mark.parametrize(
    ("space", "bounds"),
    [
        (rd.Sphere(2), (1.0, 1.0 - 1e-9)),
        (rd.KendallShapes(4), (1.0, 4.0 - 1e-9)),
        (rd.SPDAffine(2), (-0.5 + 1e-9, 0.0)),
        (rd.Hyperbolic(2), (-1.0, -1.0 - 1e-9)),
    ],
    ids=repr,
)
def test_a_wrong_bound_is_noticed(space, bounds):
    """Wrong by 1e-9: a space that said so would fail the test above."""
    assert complaints(space, space.curvature_bounds) == []
    assert complaints(space, bounds) != []


@pytest.mark.parametrize(
    ("space", "bounds"),
    [
        (rd.KendallShapes(3), (4.0, 4.0)),
        (rd.KendallShapes(4), (1.0, 4.0)),
        (rd.SPDAffine(1), (0.0, 0.0)),
        (rd.SPDAffine(2), (-0.5, 0.0)),
        (rd.Product(rd.Sphere(2)), (1.0, 1.0)),
        (rd.Product(rd.Sphere(2), rd.Hyperbolic(2)), (-1.0, 1.0)),
        (rd.Product(rd.Sphere(2), rd.Euclidean(1)), (0.0, 1.0)),
        (rd.Product(rd.Hyperbolic(1), rd.SPDAffine(2)), (-1.0, 0.0)),
    ],
    ids=repr,
)
def test_the_edge_cases_state_what_is_proved(space, bounds):
    assert space.curvature_bounds == bounds


# --- coordinates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [s for s in SPACES if not isinstance(s, rd.Product)], ids=repr)
def test_the_basis_of_the_coordinates_is_orthonormal_in_the_exact_metric(space):
    """Where the metric is that of a chart, by the differential of it, from differences of 60 digits."""
    base = generic(space)
    point = exact(space).read(base)
    vectors = [velocity(space, ambient(v), base) for v in space.from_coordinates(np.eye(space.dim), base)]
    gram = np.array([[float(inner(space, u, v, point)) for u in vectors] for v in vectors])
    np.testing.assert_allclose(gram, np.eye(space.dim), rtol=0, atol=1e-13)


def velocity(space, v, base):
    """A tangent vector in the form that its exact space has for it."""
    if not in_chart(space):
        return v
    h, chart = mp.mpf(10) ** -25, CHARTS[type(space)]
    return (chart(lift(base) + h * v) - chart(lift(base) - h * v)) / (2 * h)


# --- injectivity radius, flatness, unique means ------------------------------------------------------------------------


def directions(space, number=2):
    rng = np.random.default_rng(8)
    found = [c / np.linalg.norm(c) for c in rng.standard_normal((number, space.dim))]
    return [*found, np.eye(space.dim)[0]]


@every_space
def test_geodesics_are_shortest_up_to_the_injectivity_radius(space):
    """In every direction, whatever the factor; 12 is long enough where they never end."""
    place, length = Place(space, generic(space)), mp.mpf(min(0.9999 * space.injectivity_radius, 12.0))
    start = place.at(np.zeros(space.dim))
    for u in directions(space):
        assert place.apart(start, place.at(length * lift(u))) == pytest.approx(float(length * mp.sqrt(sum(lift(u) ** 2))), rel=1e-14)


@compact
def test_and_no_farther(space):
    """Past it, along the factor that has it, a geodesic is longer than the distance by twice as much as it overshoots."""
    place, beyond = Place(space, generic(space)), mp.mpf("1.0001") * mp.mpf(space.injectivity_radius)
    end = place.at(beyond * lift(nearest_cut(space)))
    expected = 2 * mp.mpf(space.injectivity_radius) - beyond
    assert float(place.apart(place.at(np.zeros(space.dim)), end)) == pytest.approx(float(expected), rel=1e-12)


def nearest_cut(space):
    """A direction of the factor with the least injectivity radius."""
    least = [f.injectivity_radius == space.injectivity_radius for f in factors(space) for _ in range(f.dim)]
    return np.eye(space.dim)[least.index(True)]


@compact
def test_means_are_unique_up_to_the_radius_and_no_farther(space):
    """Two records exp(±ru): the midpoint is their mean, until the point opposite of it is nearer to both."""
    direction, radius = lift(nearest_cut(space)), mp.mpf(space.uniqueness_radius)
    place = Place(space, space.origin)
    middle, opposite = place.at(0 * direction), place.at(2 * radius * direction)
    for share, unique in ((mp.mpf("0.999"), True), (mp.mpf("1.001"), False)):
        records = [place.at(sign * share * radius * direction) for sign in (1, -1)]
        energy = [sum(place.apart(point, record) ** 2 for record in records) for point in (middle, opposite)]
        assert (energy[0] < energy[1]) == unique


@dataclass(frozen=True)
class FlatTorus(rd.Euclidean):
    """R^d modulo whole numbers."""

    injectivity_radius = 0.5


def test_a_flat_torus_is_not_flat():
    """It is flat, but not isometric to a Euclidean space: formulas for that must not be used."""
    assert rd.Euclidean(2).is_flat
    assert rd.Product(rd.Euclidean(1), rd.SPDLogEuclidean(2), rd.SPDAffine(1)).is_flat
    assert not FlatTorus(2).is_flat
    assert not rd.Product(rd.Euclidean(1), FlatTorus(2)).is_flat
    assert not rd.Product(rd.Sphere(1), rd.Sphere(1)).is_flat
    assert FlatTorus(2).uniqueness_radius == 0.25


def test_circles_and_lines_state_bounds_that_say_nothing():
    """In dimension 1 there are no planes; no volume grows, and only lines that say so are flat."""
    for space, flat in ((rd.Sphere(1), False), (rd.Hyperbolic(1), False), (rd.Euclidean(1), True), (rd.SPDAffine(1), True)):
        assert space.is_flat == flat
        assert space.growth_rate == 0.0
        assert space.log_density(np.array([[0.5], [1.5]])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("curvature", [1.0, 9.0, 1e-6, 0.1, 3.0, 7.7e5])
def test_the_radius_of_a_space_is_the_root_of_its_curvature(curvature):
    """To 2 units of roundoff, which is less than what the sensitivity is asked for in excess."""
    for space in (rd.Sphere(2, curvature=curvature), rd.Hyperbolic(2, curvature=-curvature)):
        exact_radius = 1 / mp.sqrt(mp.mpf(curvature))
        assert abs(mp.mpf(space.radius) / exact_radius - 1) <= 2 * UNIT_ROUNDOFF
    assert abs(mp.mpf(rd.Sphere(2, curvature=curvature).injectivity_radius) / (mp.pi * exact_radius) - 1) <= 4 * UNIT_ROUNDOFF


# --- rounding that is stated, not derived ------------------------------------------------------------------------------


@pytest.mark.parametrize("space", [rd.Hyperbolic(1), rd.Hyperbolic(2), rd.Hyperbolic(2, curvature=-3.0), rd.Hyperbolic(7, curvature=-0.3)], ids=repr)
@pytest.mark.parametrize("near", [1e-8, 0.1, 1.9, 3.0, 12.0, 25.0])
def test_the_log_of_hyperbolic_space_is_as_accurate_as_it_says(space, near):
    """`_log_error` with both points up to 25 R from the origin: opposite, side by side, one behind the other, anywhere."""
    rng, reference = np.random.default_rng(int(near)), exact(space)
    origin = space.origin
    for far in (1e-3, 1.0, 8.0, 25.0):
        for turn in (1.0, -1.0, 1 - 1e-9, 0.0, *rng.uniform(-1, 1, 4)):
            u, v = pair(space.dim, turn, rng)
            p, q = (space.exp_coords(t * space.radius * c, origin) for t, c in ((near, u), (far, v)))
            point, target = reference.read(p), reference.read(q)
            log = reference.log(target, point)
            error = length(reference.coordinates(log, point) - lift(space.log_coords(q, p)))
            rho = float(reference.norm(log, point)) / space.radius
            times = [float(x[0]) / space.radius for x in (point, target)]
            growth = times[0] + times[1] * (rho / math.sinh(rho) if rho else 1.0)
            assert error <= UNIT_ROUNDOFF * float(space._log_error(growth)), (far, turn)


@pytest.mark.parametrize("space", [rd.Hyperbolic(1, curvature=-3.0), rd.Hyperbolic(2), rd.Hyperbolic(2, curvature=-3.0)], ids=repr)
@pytest.mark.parametrize("far", [100.0, 200.0, 350.0])
def test_far_records_of_hyperbolic_space_too(space, far):
    """There the roundings of the length are more than `_log_error`, and the model counts them all the same."""
    rng = np.random.default_rng(2)
    for near in rng.uniform(1, 5, 20):
        u, v = pair(space.dim, -1.0, rng)
        x, q = (space.exp_coords(t * space.radius * c, space.origin) for t, c in ((near, u), (far, v)))
        model = space.local_model(q[None], x)
        with mp.workdps(400):
            reference = exact(space)
            point = reference.read(x)
            log = reference.coordinates(reference.log(reference.read(q), point), point)
            assert length(log - lift(model.descent)) <= model.rounding


def pair(dim, cosine, rng):
    """Two unit vectors with that cosine, or its sign in one dimension."""
    u, v = rng.standard_normal((2, dim))
    u /= np.linalg.norm(u)
    if dim == 1:
        return u, math.copysign(1.0, cosine) * u
    v -= (u @ v) * u
    return u, cosine * u + math.sqrt(1 - cosine**2) * v / np.linalg.norm(v)
