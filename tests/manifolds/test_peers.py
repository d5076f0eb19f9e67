"""exp, log, dist and means against 60-digit arithmetic, geomstats and pyriemann, to 1e-12 relative."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, drop, exact, exact_mean, in_chart, lift, of_symmetric
from manifolds.examples import at, reach, without_reference

REL = 1e-12
EXACT = [
    rd.Euclidean(2),
    rd.Sphere(2),
    rd.Sphere(4, curvature=0.3),
    rd.Hyperbolic(2),
    rd.Hyperbolic(3, curvature=-2.5),
    rd.KendallShapes(3),
    rd.KendallShapes(6),
    rd.SPDAffine(2),
    rd.SPDAffine(3),
    rd.SPDLogEuclidean(3),
    rd.SPDLogCholesky(3),
    rd.Rotations(),
    rd.Correlations(4),
    rd.HPDAffine(2),
    rd.HPDLogEuclidean(2),
    rd.Torus(3),
    rd.Grassmann(3),
    rd.Grassmann(5, 2),
]
N = 6


def test_every_space_is_compared():
    assert without_reference(EXACT, but=[rd.Product, rd.RigidMotions, rd.Simplex]) == []  # compared factor by factor; see OTHER_WORDS


def sample(space):
    """(base points, points) of a space, well-conditioned."""
    return np.split(space.random_point(2 * N, 0), 2)


def relative(found, expected) -> float:
    """Largest error relative to the largest entry."""
    return float(np.abs(np.asarray(found) - expected).max() / max(1.0, np.abs(expected).max()))


# --- 60 digits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", EXACT, ids=repr)
def test_distance_agrees_with_60_digits(space):
    reference = exact(space)
    base, point = sample(space)
    for p, q in zip(base, point, strict=True):
        truth = distance(space, reference.read(p), reference.read(q))
        assert abs(mp.mpf(float(space.dist(p, q))) / truth - 1) <= REL


@pytest.mark.parametrize("space", EXACT, ids=repr)
def test_exp_and_log_agree_with_60_digits(space):
    """The point that exp reaches, and the vector whose exact exponential is the point."""
    reference = exact(space)
    base, point = sample(space)
    for p, q in zip(base, point, strict=True):
        vector = _vector(space, space.log(q, p), p)
        start, end = reference.read(p), reference.read(q)
        assert distance(space, reference.exp(vector, start), end) <= REL
        assert distance(space, reference.exp(vector, start), reference.read(space.exp(space.log(q, p), p))) <= REL


def _vector(space, v, p):
    """A tangent vector as the exact space takes it: in coordinates, where it has a chart."""
    if in_chart(space):
        return lift(space.coordinates(v, p))
    return lift(v @ [1, 1j]) if isinstance(space, rd.KendallShapes) else lift(v)


@pytest.mark.parametrize("space", EXACT, ids=repr)
def test_mean_agrees_with_60_digits(space):
    x = space.random_point(4, 3)
    result = rd.frechet_mean(x, space, tol=1e-12)
    truth = exact_mean(space, x, result.point)
    assert distance(space, exact(space).read(result.point), truth) <= REL


# Spaces in other words: from the formulas of those words, in 60 digits.


def mobius(a, b):
    """(-a) ⊕ b, the sum of the Poincaré ball."""
    ab, aa, bb = -(a @ b), a @ a, b @ b
    return (-(1 + 2 * ab + bb) * a + (1 - aa) * b) / (1 + 2 * ab + aa * bb)


def poincare_log(q, p):
    gap = mobius(p, q)
    return gap / mp.norm(gap) * mp.atanh(mp.norm(gap)) * (1 - p @ p), 2 * mp.atanh(mp.norm(gap))


def fisher_rao_log(q, p):
    p, q = p / sum(p), q / sum(q)
    angle = mp.acos(sum(mp.sqrt(s * t) for s, t in zip(p, q, strict=True)))
    across = np.array([mp.sqrt(s * t) - mp.cos(angle) * s for s, t in zip(p, q, strict=True)])
    return across * (2 * angle / mp.sin(angle)), 2 * angle


OTHER_WORDS = [(rd.Hyperbolic(2, model="poincare"), poincare_log), (rd.Simplex(4), fisher_rao_log)]


@pytest.mark.parametrize(("space", "log"), OTHER_WORDS, ids=["Poincaré", "Simplex"])
def test_spaces_in_other_words_agree_with_60_digits(space, log):
    for p, q in zip(*sample(space), strict=True):
        vector, length = log(lift(q), lift(p))
        assert abs(mp.mpf(float(space.dist(p, q))) / length - 1) <= REL
        assert relative(space.log(q, p), drop(vector)) <= REL
        assert relative(space.exp(drop(vector), p), q) <= REL


@pytest.mark.parametrize(("space", "log"), OTHER_WORDS, ids=["Poincaré", "Simplex"])
def test_the_exact_logs_at_a_mean_in_other_words_add_up_to_0(space, log):
    x = space.random_point(5, 3)
    mean = rd.frechet_mean(x, space, tol=1e-12).point
    gradient = sum(log(lift(one), lift(mean))[0] for one in x)
    assert np.abs(drop(gradient)).max() <= REL


def test_log_euclidean_tangent_vectors_are_derivatives():
    """The differential of log (Daleckii-Krein) against differences of 1e-25 in 60 digits."""
    space = rd.SPDLogEuclidean(3)
    p = space.random_point(1, 0)[0]
    v = np.random.default_rng(0).standard_normal((3, 3))
    v = v + v.T
    h = mp.mpf(10) ** -25
    slope = (of_symmetric(mp.log, lift(p) + h * lift(v)) - of_symmetric(mp.log, lift(p))) / h
    assert relative(space.coordinates(v, p), space.vecd(drop(slope))) <= REL


# --- pyriemann -----------------------------------------------------------------------------------------------------


def test_affine_geometry_agrees_with_pyriemann(pyriemann):
    space = rd.SPDAffine(5)
    base, point = sample(space)
    theirs = pyriemann.tangentspace.log_map_riemann(point, base[0], C12=True)
    assert relative(space.log(point, base[0]), theirs) <= REL
    assert relative(space.exp(theirs, base[0]), pyriemann.tangentspace.exp_map_riemann(theirs, base[0], Cm12=True)) <= REL
    assert relative(space.dist(point, base), pyriemann.distance.distance_riemann(point, base)) <= REL
    middle = pyriemann.geodesic.geodesic_riemann(base, point, 0.3)
    assert relative(space.geodesic(base, point, 0.3), middle) <= REL


def test_log_euclidean_geometry_agrees_with_pyriemann(pyriemann):
    space = rd.SPDLogEuclidean(5)
    base, point = sample(space)
    assert relative(space.dist(point, base), pyriemann.distance.distance_logeuclid(point, base)) <= REL
    theirs = pyriemann.tangentspace.log_map_logeuclid(point, base[0])
    assert relative(space.log(point, base[0]), theirs) <= REL
    assert relative(space.exp(theirs, base[0]), pyriemann.tangentspace.exp_map_logeuclid(theirs, base[0])) <= REL


def test_log_cholesky_geometry_agrees_with_pyriemann(pyriemann):
    space = rd.SPDLogCholesky(5)
    base, point = sample(space)
    assert relative(space.dist(point, base), pyriemann.distance.distance_logchol(point, base)) <= REL
    theirs = pyriemann.tangentspace.log_map_logchol(point, base[0])
    assert relative(space.log(point, base[0]), theirs) <= REL
    assert relative(space.exp(theirs, base[0]), pyriemann.tangentspace.exp_map_logchol(theirs, base[0])) <= REL


@pytest.mark.parametrize("k", [2, 3, 9])
def test_means_agree_with_pyriemann(pyriemann, k):
    affine, flat = rd.SPDAffine(k), rd.SPDLogEuclidean(k)
    x = affine.random_point(40, 0)
    theirs = pyriemann.mean.mean_riemann(x, tol=1e-13, maxiter=200)
    assert relative(rd.frechet_mean(x, affine, tol=1e-12).point, theirs) <= 4 * REL
    assert relative(rd.frechet_mean(x, flat).point, pyriemann.mean.mean_logeuclid(x)) <= REL
    assert relative(rd.frechet_mean(x, rd.SPDLogCholesky(k)).point, pyriemann.mean.mean_logchol(x)) <= REL


# --- geomstats -----------------------------------------------------------------------------------------------------


def _spd(geomstats, k, metric):
    space = geomstats.SPDMatrices(k, equip=False)
    space.equip_with_metric(metric)
    return space


def _shapes(geomstats, k):
    space = geomstats.PreShapeSpace(k, 2)
    space.equip_with_group_action("rotations")
    space.equip_with_quotient()
    return space.quotient


@pytest.fixture
def peers(geomstats):
    """Our spaces and geomstats'."""
    return [
        (rd.SPDAffine(4), _spd(geomstats, 4, geomstats.SPDAffineMetric)),
        (rd.SPDLogEuclidean(4), _spd(geomstats, 4, geomstats.SPDLogEuclideanMetric)),
        (rd.Sphere(5), geomstats.Hypersphere(5)),
        (rd.Hyperbolic(3), geomstats.Hyperboloid(3)),
        (rd.KendallShapes(6), _shapes(geomstats, 6)),
    ]


def test_geometry_agrees_with_geomstats(peers):
    for ours, theirs in peers:
        base, point = sample(ours)
        logs = ours.log(point, base)
        assert relative(logs, theirs.metric.log(point, base)) <= 10 * REL, ours
        assert relative(ours.dist(point, base), theirs.metric.dist(point, base)) <= 10 * REL, ours
        assert relative(ours.norm(logs, base), theirs.metric.norm(logs, base)) <= 10 * REL, ours
        ends = theirs.metric.exp(logs, base)
        assert ours.dist(ours.exp(logs, base), ours.project(ends)).max() <= 10 * REL, ours
        others = ours.from_coordinates(_balls(N, ours.dim), base)
        inner = theirs.metric.inner_product(logs, others, base)
        assert relative(ours.inner(logs, others, base), inner) <= 10 * REL, ours


def test_means_agree_with_geomstats(geomstats, peers):
    """Their mean stops at a squared gradient norm of 1e-22 per dimension; ours says how far it is from exact."""
    for ours, theirs in peers:
        x = at(ours, 0.3 * reach(ours) * _balls(30, ours.dim), ours.origin)
        estimator = geomstats.FrechetMean(theirs)
        if hasattr(estimator, "set"):
            estimator.set(epsilon=1e-24, max_iter=2000)
        found = rd.frechet_mean(x, ours, tol=1e-12)
        assert ours.dist(found.point, ours.project(estimator.fit(x).estimate_)) <= 2e-11, ours


def _balls(n, d):
    rng = np.random.default_rng(4)
    v = rng.standard_normal((n, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True) * rng.random((n, 1))
