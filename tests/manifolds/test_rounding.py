"""What a model of the Fréchet function says of its own rounding errors, against 200-bit arithmetic.

The places are generic and the clusters tight as well as wide: near a pole many roundings vanish, and in a wide
cluster the bounds are too loose to be tested. Records are repeated up to 2^14 times, so that errors add up and the
reference remains quick.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean, inner, length, lift
from manifolds.examples import left_out
from riemdp.kernels.constants import UNIT_ROUNDOFF
from riemdp.manifolds.capabilities import FrechetModel
from riemdp.manifolds.local_model import LocalModel, Part, certain, merged
from riemdp.statistics.frechet import error_bound

MANY = 2**14
SPREADS = [1e-100, 1e-12, 2e-8, 1e-5, 1e-2, 0.99]  # in units of the widest ball
SPACES = [
    rd.Sphere(1),
    rd.Sphere(2),
    rd.Sphere(2, curvature=1e-6),
    rd.Sphere(3, curvature=9.0),
    rd.Sphere(20),
    rd.KendallShapes(3),
    rd.KendallShapes(4),
    rd.KendallShapes(25),
    rd.Hyperbolic(1),
    rd.Hyperbolic(2),
    rd.Hyperbolic(4, curvature=-4.0),
    rd.Hyperbolic(2, model="poincare"),
    rd.SPDAffine(2),
    rd.SPDAffine(3),
    rd.Rotations(),
    rd.HPDAffine(2),
    rd.HPDAffine(3),
    rd.Torus(3),
    rd.Grassmann(4),
    rd.Grassmann(4, 2),
    rd.Grassmann(5, 2),
    rd.Simplex(2),
    rd.Simplex(5),
]
every_space = pytest.mark.parametrize("space", SPACES, ids=repr)


def test_every_space_with_a_model_is_here():
    """The others are flat, or products: the mean of such a one is those of its factors."""
    with_model = {kind for kind in rd.manifolds.package_spaces() if any(space.has(FrechetModel) for space in kind.examples())}
    assert left_out(SPACES, but=set(rd.manifolds.package_spaces()) - with_model) == []


def widest(space):
    """Nearly the largest ball in which means are unique, or one of radius 3."""
    return min(0.9 * space.uniqueness_radius, 3.0)


def places(space, spread, rng, distinct):
    """A generic point x, and distinct records in a ball around it: x need not be their mean."""
    origin = space.read(space.origin, "origin")
    x = space.exp_coords(direction(space, rng) * 0.4 * widest(space), origin)
    coords = np.array([direction(space, rng) * spread * rng.uniform(0.5, 1) for _ in range(distinct)])
    return x, space.exp_coords(coords, x)


def direction(space, rng):
    c = rng.standard_normal(space.dim)
    return c / np.linalg.norm(c)


def gradient_error(space, distinct, counts, x, descent):
    """Distance of a computed mean of logs from the exact one, in the frame that the exact x has."""
    reference = exact(inner(space))
    point = reference.read(x)
    total = sum(int(m) * reference.log(reference.read(q), point) for q, m in zip(distinct, counts, strict=True))
    return length(reference.coordinates(total / int(sum(counts)), point) - lift(descent))


@every_space
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("n", [1, MANY])
def test_a_mean_of_logs_is_as_accurate_as_its_model_says(space, spread, n):
    rng = np.random.default_rng(n)
    for distinct in (1, min(n, 3)):
        x, points = places(space, spread * widest(space), rng, distinct)
        counts = np.bincount(np.arange(n) % distinct)
        records = points[np.arange(n) % distinct]
        model = space.local_model(records, x)
        assert gradient_error(space, points, counts, x, model.descent) <= model.rounding


@every_space
@pytest.mark.parametrize("spread", [1e-12, 2e-8, 1e-2, 0.9])
def test_merged_means_of_logs_are_as_accurate_as_the_public_limit_says(space, spread):
    """Around the origin, where releases happen, with three blocks of 2^14 records."""
    radius, rng = spread * widest(space), np.random.default_rng(3)
    origin = space.read(space.origin, "origin")
    x = space.exp_coords(direction(space, rng) * radius, origin)
    points = space.exp_coords(np.array([direction(space, rng) * radius for _ in range(3)]), origin)
    part = Part.of(points[np.arange(MANY) % 3], space, x)
    model = merged([part] * 3, space.curvature_bounds[1], np.asarray)
    counts = np.bincount(np.arange(MANY) % 3)
    assert gradient_error(space, points, counts, x, model.descent) <= model.rounding
    assert model.rounding <= space.rounding_limit(radius, MANY)


@pytest.mark.parametrize("space", [space for space in SPACES if space.curvature_bounds[1] > 0], ids=repr)
@pytest.mark.parametrize("spread", [1e-12, 1e-9, 1e-5, 0.1, 0.9])
def test_distances_are_rounded_up_and_the_convexity_down(space, spread):
    """(1/n) sum a(rho_i + valid_within), a(t) = t cot t in units of the largest curvature, is no less than the model's."""
    x, points = places(space, spread * widest(space), np.random.default_rng(5), 4)
    model, reference = space.local_model(points, x), exact(inner(space))
    apart = [distance(space, reference.read(x), reference.read(q)) for q in points]
    assert max(apart) <= model.farthest
    root = mp.sqrt(mp.mpf(space.curvature_bounds[1]))
    assert model.convexity <= sum((t + model.valid_within) * root * mp.cot((t + model.valid_within) * root) for t in apart) / 4
    assert model.across <= sum(t * root * mp.cot(t * root) if t else 1 for t in apart) / 4
    assert model.convexity > 0.5 * model.across


@pytest.mark.parametrize("largest", [1e-3, 0.1, 3.1])
def test_the_convexity_where_it_is_valid_is_rounded_down(largest):
    """h is no larger than the mean of t cot t less the distance up to which it holds times the steepest slope, that of the farthest record."""
    rng = np.random.default_rng(7)
    for _ in range(500):
        across, k_max, angle = rng.uniform(0.05, 1), rng.uniform(0.1, 9), rng.uniform(0, largest)
        farthest = angle / np.sqrt(k_max)
        lower, valid_within = certain(across, farthest, k_max)
        root = mp.sqrt(mp.mpf(k_max))
        t = root * (mp.mpf(farthest) + valid_within)
        assert lower > 0.7 * across
        assert lower <= across - root * valid_within * (t / mp.sin(t) ** 2 - mp.cot(t))


@pytest.mark.parametrize("dim", [1, 3, 1000])
def test_the_certificate_is_rounded_up(dim):
    """(‖gradient‖ + its rounding) / h, and not the float next to it that may be below."""
    rng = np.random.default_rng(dim)
    for _ in range(200):
        descent, rounding, h = rng.standard_normal(dim) * 1e-9, rng.uniform(0, 1e-15), rng.uniform(0.1, 1)
        model = LocalModel(descent, np.asarray, h, valid_within=1.0, across=h, farthest=0.1, rounding=rounding)
        exact = (length(lift(descent)) + rounding) / mp.mpf(h)
        assert exact <= error_bound(model) <= exact * (1 + 1e-12)


def test_records_next_to_the_antipode_have_no_certificate():
    """There the direction of a log is lost, and with it every bound."""
    space = rd.Sphere(2)
    x = space.project([0.3, -0.5, 0.8])
    near = space.exp(space.from_coordinates([np.pi - 1e-9, 0.0], x), x)
    assert space.local_model(np.stack([*[x] * 99, near]), x).convexity == -np.inf


def test_no_matrix_of_a_ball_has_a_larger_trace():
    """Equal small eigenvalues beside one large one: k - 1 + e^r would be too little."""
    k, r = 5, 3.0
    space, angle = rd.SPDAffine(k), np.linspace(0, np.pi / 2, 1000)
    traces = np.exp(r * np.cos(angle)) + (k - 1) * np.exp(r * np.sin(angle) / np.sqrt(k - 1))
    assert k - 1 + np.exp(r) < traces.max() <= space._largest_trace(r) <= 1.2 * traces.max()


def test_tight_clusters_are_measured_in_a_few_units_of_roundoff():
    """The bounds are of use: 2^14 records cost no more than one."""
    for space in (rd.Sphere(2), rd.KendallShapes(3)):
        x, points = places(space, 1e-8, np.random.default_rng(0), 1)
        assert space.local_model(points[np.zeros(MANY, dtype=int)], x).rounding <= 10 * UNIT_ROUNDOFF
        assert space.rounding_limit(1e-8, MANY) <= 10 * UNIT_ROUNDOFF


@pytest.mark.parametrize("space", [space for space in SPACES if space.dim < 10], ids=repr)
@pytest.mark.parametrize("spread", [1e-12, 1e-8, 0.3])
def test_a_public_mean_is_as_near_to_the_exact_one_as_it_says(space, spread):
    """Of 2^14 records, three of them distinct, away from pole and origin."""
    _, points = places(space, spread * widest(space), np.random.default_rng(8), 3)
    x = space.write(points[np.arange(MANY) % 3], space.origin)
    found = rd.frechet_mean(x, space, tol=1e-8)
    counts = np.bincount(np.arange(MANY) % 3).tolist()
    truth = exact_mean(space, x[:3], found.point, counts)
    assert distance(space, exact(space).read(found.point), truth) <= found.error_bound


FLAT = [rd.Euclidean(3), rd.SPDLogEuclidean(3), rd.SPDLogCholesky(3), rd.HPDLogEuclidean(2), rd.Correlations(3)]


@pytest.mark.parametrize("space", FLAT, ids=repr)
@pytest.mark.parametrize("spread", [1e-12, 1e-8, 0.3])
def test_a_mean_in_closed_form_is_as_near_to_the_exact_one_as_it_says(space, spread):
    _, points = places(space, spread, np.random.default_rng(8), 3)
    x = space.write(points[np.arange(MANY) % 3], space.origin)
    found = rd.frechet_mean(x, space, tol=1e-8)
    truth = exact_mean(space, x[:3], found.point, np.bincount(np.arange(MANY) % 3).tolist())
    assert distance(space, exact(space).read(found.point), truth) <= found.error_bound


@pytest.mark.parametrize("product", [rd.Product(rd.Sphere(2), rd.SPDLogEuclidean(3)), rd.RigidMotions(0.5)], ids=repr)
@pytest.mark.parametrize("spread", [1e-12, 1e-8, 0.3])
def test_a_mean_of_pairs_is_as_near_to_the_exact_one_as_it_says(product, spread):
    """Factor by factor: the distance of pairs is the root of the sum of squares."""
    _, points = places(product, spread, np.random.default_rng(9), 3)
    x = product.write(points[np.arange(MANY) % 3], product.origin)
    counts, found = np.bincount(np.arange(MANY) % 3).tolist(), rd.frechet_mean(x, product, tol=1e-8)
    parts = zip(product.factors, product.split(x[:3]), product.split(found.point), strict=True)
    apart = [distance(space, exact(space).read(mean), exact_mean(space, records, mean, counts)) for space, records, mean in parts]
    assert mp.norm(apart) <= found.error_bound


@every_space
@pytest.mark.parametrize("share", [1e-7, 0.3, 1.0])
def test_a_short_step_ends_where_the_public_limit_says(space, share):
    """In coordinates: at such lengths they differ from distances by less than a tenth."""
    radius, rng, reference = share * widest(space), np.random.default_rng(4), exact(inner(space))
    origin = space.read(space.origin, "origin")
    for size in (1e-12, 1e-6, 1e-2):
        x = space.exp_coords(direction(space, rng) * radius, origin)
        step = direction(space, rng) * size * radius
        point = reference.read(x)
        found = reference.coordinates(reference.log(reference.read(space.exp_coords(step, x)), point), point)
        assert 1.1 * length(found - lift(step)) <= space.step_limit(radius)
