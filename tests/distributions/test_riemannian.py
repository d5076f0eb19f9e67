"""Riemannian Laplace and Gaussian laws against quadrature and importance sampling, in both arithmetics.

Each statistical test rejects at p < 1e-8; there are fewer than 80. Controls, off by 3 % where the sample is large and by
more in ball arithmetic where it is small, must be rejected by the same test.
"""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy import special

from distributions.laws import (
    LEVEL,
    Z_LEVEL,
    assert_law,
    directions,
    ideal_floats,
    largest_z,
    log_sinhc,
    p_value,
    profile,
    quadrature_cdf,
    symmetric,
    weighted_moments,
)
from riemdp.arithmetic import working_precision
from riemdp.distributions import RiemannianGaussian, RiemannianLaplace
from riemdp.distributions.riemannian import expected_trials, laplace_limit, mean_square
from riemdp.errors import InputError, MechanismError
from riemdp.manifolds import Euclidean, Hyperbolic, KendallShapes, Product, SPDAffine, SPDLogEuclidean, Sphere
from riemdp.randomness import SystemRandomness

LAWS = {"laplace": RiemannianLaplace, "gaussian": RiemannianGaussian}


def law_of(kind, space, scale):
    return LAWS[kind](space, space.origin, scale)


# --- radial laws against quadrature -----------------------------------------------------------------------


def flat_area(d):
    return lambda t: (d - 1) * np.log(t)


def sphere_area(d, radius=1.0):
    return lambda t: (d - 1) * np.log(np.abs(np.sin(t / radius)))


def hyperbolic_area(d, radius=1.0):
    return lambda t: (d - 1) * (t / radius + np.log1p(-np.exp(-2 * t / radius)))


def shape_area(k):
    return lambda t: (2 * k - 5) * np.log(np.sin(t)) + np.log(np.abs(np.cos(t)))


RADIAL = [
    ("laplace", Euclidean(1), 0.7, flat_area(1), 30.0),
    ("laplace", Euclidean(2), 1.0, flat_area(2), 40.0),
    ("gaussian", Euclidean(2), 1.0, flat_area(2), 12.0),
    ("laplace", Euclidean(60), 3.0, flat_area(60), 600.0),
    ("laplace", SPDLogEuclidean(3), 0.2, flat_area(6), 10.0),
    ("laplace", SPDAffine(1), 0.2, flat_area(1), 8.0),
    ("laplace", Product(SPDLogEuclidean(2), Euclidean(2)), 1.0, flat_area(5), 60.0),
    ("laplace", Sphere(1), 50.0, sphere_area(1), math.pi),
    ("laplace", Sphere(2), 0.3, sphere_area(2), math.pi),
    ("laplace", Sphere(9), 1.0, sphere_area(9), math.pi),
    ("gaussian", Sphere(3, curvature=4.0), 0.2, sphere_area(3, 0.5), math.pi / 2),
    ("gaussian", Product(Sphere(5, curvature=0.25)), 1.0, sphere_area(5, 2.0), 2 * math.pi),
    ("laplace", Hyperbolic(2), 0.4, hyperbolic_area(2), 30.0),
    ("laplace", Hyperbolic(4, curvature=-4.0), 0.16, hyperbolic_area(4, 0.5), 200.0),  # the limit is 1/6
    ("gaussian", Hyperbolic(5), 2.0, hyperbolic_area(5), 60.0),
    ("laplace", KendallShapes(3), 0.4, shape_area(3), math.pi / 2),
    ("laplace", KendallShapes(50), 0.02, shape_area(50), math.pi / 2),
    ("laplace", KendallShapes(50), 3e-4, shape_area(50), 0.12),
    ("gaussian", KendallShapes(7), 0.5, shape_area(7), math.pi / 2),
]


def reference(kind, scale, area, stop):
    return quadrature_cdf(lambda t: area(t) + profile(kind, scale, t), stop)


@pytest.mark.parametrize(("kind", "space", "scale", "area", "stop"), RADIAL)
def test_radial_laws(kind, space, scale, area, stop):
    size = 120_000 if space.dim < 20 else 20_000
    coords = law_of(kind, space, scale).sample_coords(size, np.random.default_rng(1))
    assert_law(np.linalg.norm(coords, axis=1), reference(kind, scale, area, stop))


@pytest.mark.parametrize("index", [3, 9, 13, 14, 16, 18])
def test_radial_laws_in_balls(index):
    kind, space, scale, area, stop = RADIAL[index]
    lengths = np.linalg.norm(ideal_floats(law_of(kind, space, scale), 1000), axis=1)
    assert_law(lengths, reference(kind, scale, area, stop), off=1.07 if space.dim > 50 else 1.5)  # unseeded: far apart


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("arithmetic", ["floats", "balls"])
def test_directions_are_uniform(kind, arithmetic):
    """|first half|²/|all|² ~ Beta(d/4, d/4), and each coordinate of a direction in R³ is uniform."""
    law = law_of(kind, Hyperbolic(40), 0.01)
    coords = law.sample_coords(1500, np.random.default_rng(2)) if arithmetic == "floats" else ideal_floats(law, 800)
    share = (coords[:, :20] ** 2).sum(1) / (coords**2).sum(1)
    assert p_value(special.betainc(10, 10, share)) > LEVEL
    assert p_value(special.betainc(10, 10, 1.15 * share)) < LEVEL
    law = law_of(kind, Sphere(3), 0.5)
    coords = law.sample_coords(1500, np.random.default_rng(2)) if arithmetic == "floats" else ideal_floats(law, 800)
    for axis in (coords / np.linalg.norm(coords, axis=1, keepdims=True)).T:
        assert p_value((1 + axis) / 2) > LEVEL


# --- affine-invariant SPD ---------------------------------------------------------------------------------


def spd2_marginals(kind, scale, reach):
    """CDFs of s = (r1 + r2)/sqrt2 and w = |r1 - r2|/sqrt2, whose joint density is g(|(s, w)|) sinh(w/sqrt2)."""
    cells = (np.arange(1200) + 0.5) * reach / 1200
    s, w = cells[:, None], cells[None, :]
    logs = profile(kind, scale, np.hypot(s, w)) + w / math.sqrt(2) + np.log1p(-np.exp(-math.sqrt(2) * w))
    density = np.exp(logs - logs.max())
    edges = np.linspace(0, reach, 1201)
    sums = [np.concatenate([[0.0], np.cumsum(density.sum(axis=axis))]) for axis in (1, 0)]
    return [lambda x, total=total: np.interp(x, edges, total / total[-1]) for total in sums]


@pytest.mark.parametrize(("kind", "scale", "reach"), [
    ("laplace", 0.3, 12.0), ("laplace", 0.9, 60.0), ("gaussian", 0.5, 5.0), ("gaussian", 3.0, 30.0),
])
def test_spd2_eigenvalues(kind, scale, reach):
    law, (sum_cdf, gap_cdf) = law_of(kind, SPDAffine(2), scale), spd2_marginals(kind, scale, reach)
    for coords, off in [(law.sample_coords(120_000, np.random.default_rng(3)), 1.03), (ideal_floats(law, 600), 1.5)]:
        values = np.linalg.eigvalsh(symmetric(coords, 2))
        assert_law(np.abs(values.sum(axis=1)) / math.sqrt(2), sum_cdf, off)
        assert_law((values[:, 1] - values[:, 0]) / math.sqrt(2), gap_cdf, off)


def spd_log_density(coords, k):
    values = np.linalg.eigvalsh(symmetric(coords, k))
    i, j = np.triu_indices(k, 1)
    return log_sinhc(np.abs(values[:, i] - values[:, j]) / 2).sum(axis=1)


def spd_functionals(coords, k):
    values = np.linalg.eigvalsh(symmetric(coords, k))
    lengths = np.linalg.norm(values, axis=1)
    return np.stack([lengths, lengths**2, values[:, -1] - values[:, 0], values[:, -1], (values**4).sum(axis=1)], axis=1)


def importance(log_density, functionals, kind, scale, dim, proposal, size):
    """Reference means: lengths Gamma(dim, proposal), uniform directions, weights g J t^(d-1) over that."""
    rng = np.random.default_rng(4)
    t = proposal * rng.standard_gamma(dim, size)
    coords = directions(size, dim, rng) * t[:, None]
    return weighted_moments(functionals(coords), profile(kind, scale, t) + t / proposal + log_density(coords))


@pytest.mark.parametrize(("kind", "k", "scale", "proposal"), [
    ("laplace", 3, 0.3, 0.37), ("laplace", 5, 0.1, 0.115), ("gaussian", 3, 0.8, 0.42), ("gaussian", 5, 0.4, 0.11),
])
def test_spd_against_importance_sampling(kind, k, scale, proposal):
    space = SPDAffine(k)
    means, errors = importance(
        lambda c: spd_log_density(c, k), lambda c: spd_functionals(c, k), kind, scale, space.dim, proposal, 100_000
    )
    assert (errors < 0.01 * np.abs(means)).all()

    def z(scale, size=50_000):
        coords = law_of(kind, space, scale).sample_coords(size, np.random.default_rng(5))
        return largest_z(spd_functionals(coords, k), means, errors)

    assert z(scale) < Z_LEVEL
    assert z(scale * 1.03) > Z_LEVEL
    assert z(scale / 1.03) > Z_LEVEL
    ideal = spd_functionals(ideal_floats(law_of(kind, space, scale), 500), k)
    assert largest_z(ideal, means, errors) < Z_LEVEL
    assert largest_z(1.25 * ideal, means, errors) > Z_LEVEL


# --- products ---------------------------------------------------------------------------------------------


def product_log_density(coords):
    """Of Sphere(2) x Hyperbolic(3) x Euclidean(1)."""
    a, b = np.linalg.norm(coords[:, :2], axis=1), np.linalg.norm(coords[:, 2:5], axis=1)
    with np.errstate(divide="ignore"):
        return np.where(a < np.pi, np.log(np.abs(np.sin(a) / a)), -np.inf) + 2 * log_sinhc(b)


def product_functionals(coords):
    parts = [np.linalg.norm(part, axis=1) for part in np.split(coords, [2, 5], axis=1)]
    return np.stack([*parts, np.linalg.norm(coords, axis=1), parts[0] * parts[1]], axis=1)


@pytest.mark.parametrize(("kind", "scale", "proposal"), [("laplace", 0.3, 0.45), ("gaussian", 0.9, 0.5)])
def test_products_against_importance_sampling(kind, scale, proposal):
    space = Product(Sphere(2), Hyperbolic(3), Euclidean(1))
    means, errors = importance(product_log_density, product_functionals, kind, scale, 6, proposal, 400_000)

    def z(scale, size=120_000):
        coords = law_of(kind, space, scale).sample_coords(size, np.random.default_rng(6))
        return largest_z(product_functionals(coords), means, errors)

    assert z(scale) < Z_LEVEL
    assert z(scale * 1.03) > Z_LEVEL
    assert z(scale / 1.03) > Z_LEVEL
    ideal = product_functionals(ideal_floats(law_of(kind, space, scale), 600))
    assert largest_z(ideal, means, errors) < Z_LEVEL
    assert largest_z(1.25 * ideal, means, errors) > Z_LEVEL


# --- what users see ---------------------------------------------------------------------------------------

EVERY_SPACE = [
    Euclidean(2), Sphere(3), Hyperbolic(2), SPDAffine(3), SPDLogEuclidean(2), KendallShapes(5),
    Product(SPDAffine(2), KendallShapes(4), Hyperbolic(2)),
]  # fmt: skip


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("space", EVERY_SPACE, ids=repr)
def test_draws_are_points_at_their_distance(kind, space):
    center = space.random_point(1, 7)[0]
    law = LAWS[kind](space, center, 0.1)
    points = law.sample(50, 8)
    lengths = np.linalg.norm(law.sample_coords(50, np.random.default_rng(8)), axis=1)
    assert space.contains(points).all()
    np.testing.assert_allclose(space.dist(center, points), lengths, rtol=1e-6)
    np.testing.assert_allclose(law.log_density(points), profile(kind, 0.1, lengths), rtol=1e-5)
    np.testing.assert_array_equal(points, law.sample(50, np.random.default_rng(8)))


def test_the_system_source_will_do():
    coords = law_of("laplace", SPDAffine(3), 0.1).sample_coords(2000, SystemRandomness())
    assert coords.shape == (2000, 6)


@pytest.mark.parametrize("space", [Sphere(3), SPDAffine(3)], ids=repr)
def test_an_ideal_draw_is_one_real_vector(space):
    """More bits shrink the same balls."""
    for _ in range(20):
        coords = law_of("laplace", space, 0.2).ideal_coords()
        with working_precision(256):
            rough = coords(64)
        with working_precision(2048):
            fine = coords(1024)
        assert all(a.overlaps(b) for a, b in zip(rough, fine, strict=True))
        assert all(b.rad() < 1e-200 for b in fine)
        assert len({float(x) for x in fine}) == space.dim


@pytest.mark.parametrize(("space", "scale", "acceptance"), [
    (SPDAffine(5), 0.1, 0.96), (SPDAffine(9), 0.05, 0.92), (SPDAffine(11), 0.02, 0.98), (SPDAffine(20), 0.02, 0.68),
    (SPDAffine(20), 0.005, 0.98), (KendallShapes(50), 0.02, 1.0), (Sphere(9), 1.0, 1.0), (Hyperbolic(4), 0.33, 1.0),
    (Euclidean(2), 1.0, 1.0),
])
def test_acceptance(space, scale, acceptance):
    """At most 0.05 below the best; a binomial count 6 standard deviations off is allowed for."""
    law, size = law_of("laplace", space, scale), 2000
    source = np.random.default_rng(9)
    _, log_ratio = law._proposals(source, *law.envelope.propose(source, size))
    accepted = (np.log(np.random.default_rng(10).random(size)) < log_ratio).mean()
    assert accepted > acceptance - 0.05 - 0.01
    assert 1 / expected_trials(law) == pytest.approx(accepted, abs=6 * 0.5 / math.sqrt(size))


@pytest.mark.parametrize(("space", "limit"), [
    (SPDAffine(2), math.sqrt(2)), (SPDAffine(3), 1 / math.sqrt(2)), (SPDAffine(9), math.sqrt(12 / 720)),
    (SPDAffine(30), math.sqrt(12 / (30 * 899))), (Hyperbolic(3), 0.5), (Hyperbolic(3, curvature=-4.0), 0.25),
    (Product(SPDAffine(2), Hyperbolic(3)), 1 / math.sqrt(4.5)), (SPDAffine(1), math.inf), (Hyperbolic(1), math.inf),
    (Euclidean(3), math.inf), (Sphere(3), math.inf), (KendallShapes(5), math.inf), (SPDLogEuclidean(4), math.inf),
])
def test_existence(space, limit):
    assert laplace_limit(space) == pytest.approx(limit, rel=1e-9)
    if limit < math.inf:
        nearest = RiemannianLaplace(space, space.origin, (1 - 2.0**-19) * limit)
        assert expected_trials(nearest) >= 1 - 1e-9
        assert np.isfinite(nearest.envelope.float_lines.mass).all()
        for scale in (limit * (1 + 1e-9), 2 * limit):
            with pytest.raises(MechanismError, match=r"scale = .*exists only below .*wrapped"):
                RiemannianLaplace(space, space.origin, scale)
    assert law_of("gaussian", space, 0.1).sample_coords(10, np.random.default_rng(0)).shape == (10, space.dim)


def test_hopeless_rejection_is_refused():
    with pytest.raises(MechanismError, match="trials"):
        law_of("laplace", SPDAffine(20), 0.0385).ideal_coords()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_bad_scales(scale):
    with pytest.raises(InputError, match="scale"):
        RiemannianLaplace(Euclidean(2), np.zeros(2), scale)


def test_bad_centers():
    for center in (np.zeros((2, 2)), np.zeros(3), "a"):
        with pytest.raises(InputError, match="center"):
            RiemannianLaplace(Euclidean(2), center, 1.0)
    with pytest.raises(InputError, match="size"):
        law_of("laplace", Euclidean(2), 1.0).sample(0, 0)


def test_mean_squares():
    for d in (1, 2, 7, 300):
        assert mean_square(law_of("laplace", Euclidean(d), 0.3)) == pytest.approx(0.09 * d * (d + 1), rel=1e-7)
        assert mean_square(law_of("gaussian", Euclidean(d), 0.3)) == pytest.approx(0.09 * d, rel=1e-7)
    assert mean_square(law_of("laplace", Sphere(1), 1e9)) == pytest.approx(math.pi**2 / 3, rel=1e-7)
    assert mean_square(law_of("laplace", Sphere(2), 1e9)) == pytest.approx((math.pi**2 - 4) / 2, rel=1e-7)
    s = 0.4  # on the hyperbolic plane the radial law is exp(-t/s) sinh t
    exact = 2 * ((1 / s - 1) ** -3 - (1 / s + 1) ** -3) / ((1 / s - 1) ** -1 - (1 / s + 1) ** -1)
    assert mean_square(law_of("laplace", Hyperbolic(2), s)) == pytest.approx(exact, rel=1e-7)
    law = law_of("laplace", SPDAffine(3), 0.2)
    sample = (law.sample_coords(40_000, np.random.default_rng(11)) ** 2).sum(axis=1).mean()
    assert mean_square(law) == pytest.approx(sample, rel=0.05)


def test_simulation_is_fast():
    law = law_of("laplace", SPDAffine(5), 0.1)
    law.sample(16, 0)
    start = time.perf_counter()
    law.sample(10_000, 0)
    assert time.perf_counter() - start < 1.0


def test_the_circle_ends_at_its_antipode():
    """Where (d - 1) log sin would be 0 times -inf: decided all the same."""
    from flint import arb

    from riemdp.distributions.envelope import BALLS

    inside, outside = (Sphere(1).log_area(arb(t), BALLS)[0] for t in (3, 4))
    assert abs(float(inside)) < 1e-15
    assert outside < -(10**300)
