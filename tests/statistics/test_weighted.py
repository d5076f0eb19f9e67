"""Weighted Fréchet means: what repetition gives, what is known by construction, what pyRiemann says; certified."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import riemdp as rd
from manifolds.exact import distance, exact, exact_mean
from manifolds.examples import SPACES
from riemdp.statistics.weighted import Weights

every_space = pytest.mark.parametrize("space", SPACES, ids=repr)
WHOLE = np.array([1, 5, 0, 2, 3, 1, 8])
REAL = np.array([0.1, 1 / 3, 0.0, 2.7, 1e-9, 0.25, np.pi])


def points_of_a_geodesic(space, times, seed=0):
    """Points at these times, between -1 and 1, of a geodesic that is short enough for their mean to be unique."""
    rng = np.random.default_rng(seed)
    center = space.random_point(1, rng)[0]
    direction = rng.standard_normal(space.dim)
    direction *= 0.9 * min(space.uniqueness_radius, 2.0) / np.linalg.norm(direction)
    curve = times[:, None] * direction
    return center, space.exp(space.from_coordinates(curve, center), center), direction


TIMES = np.array([-1.0, -0.5, 0.9, 0.1, 0.4, 0.7, 1.0])


@every_space
def test_whole_weights_are_repetitions(space):
    _, points, _ = points_of_a_geodesic(space, TIMES)
    points = np.concatenate([points, points_of_a_geodesic(space, TIMES)[1]])
    weights = np.concatenate([WHOLE, WHOLE[::-1]])
    weighted = rd.frechet_mean(points, space, sample_weight=weights)
    repeated = rd.frechet_mean(np.repeat(points, weights, axis=0), space)
    assert space.dist(weighted.point, repeated.point) <= weighted.error_bound + repeated.error_bound + 1e-14


@every_space
@pytest.mark.parametrize("weights", [WHOLE, REAL, 1e200 * REAL, 1e-300 * REAL], ids=["whole", "real", "large", "tiny"])
def test_the_mean_of_a_geodesic_is_at_the_weighted_time(space, weights):
    center, points, direction = points_of_a_geodesic(space, TIMES)
    exact = [Fraction(w) for w in weights.tolist()]
    time = float(sum(w * Fraction(t) for w, t in zip(exact, TIMES.tolist(), strict=True)) / sum(exact))
    expected = space.exp(space.from_coordinates(time * direction, center), center)
    found = rd.frechet_mean(points, space, sample_weight=weights)
    assert space.dist(found.point, expected) <= found.error_bound + 1e-9  # of the points themselves
    assert found.error_bound < 1e-6


@pytest.mark.parametrize("space", [
    rd.Sphere(2), rd.Hyperbolic(2), rd.SPDAffine(2), rd.SPDLogEuclidean(2), rd.KendallShapes(4), rd.SPDLogCholesky(4), rd.Correlations(3),
    rd.HPDLogEuclidean(2),
], ids=repr)  # fmt: skip
def test_the_certificate_holds_against_the_exact_mean(space):
    """The distance to the exact mean of the very floats and weights passed; records far from one geodesic."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((6, space.dim))
    vectors *= 0.7 * min(space.uniqueness_radius, 2.0) / np.linalg.norm(vectors, axis=1).max()
    points = space.exp(space.from_coordinates(vectors, space.origin), space.origin)
    weights = np.array([0.1, 2.5, 1 / 3, 7.0, 1e-6, 0.9])
    counts = [int(Fraction(w) * 2**80) for w in weights.tolist()]  # whole: these floats end long before
    found = rd.frechet_mean(points, space, sample_weight=weights)
    truth = exact_mean(space, points, found.point, counts)
    assert distance(space, exact(space).read(found.point), truth) <= found.error_bound < 1e-11


@every_space
def test_equal_weights_change_nothing(space):
    _, points, _ = points_of_a_geodesic(space, TIMES)
    plain, equal = rd.frechet_mean(points, space), rd.frechet_mean(points, space, sample_weight=np.full(7, 0.3))
    assert space.dist(plain.point, equal.point) <= plain.error_bound + equal.error_bound + 1e-14


@pytest.mark.parametrize(("space", "metric"), [(rd.SPDAffine(3), "riemann"), (rd.SPDLogEuclidean(3), "logeuclid")])
def test_pyriemann_agrees(space, metric):
    from pyriemann.geometry.mean import gmean

    rng = np.random.default_rng(0)
    raw, weights = rng.normal(size=(40, 3, 9)), rng.random(40)
    points = raw @ raw.swapaxes(1, 2)
    found = rd.frechet_mean(points, space, sample_weight=weights)
    theirs = gmean(points, metric=metric, sample_weight=weights, **({"tol": 1e-12} if metric == "riemann" else {}))
    assert space.dist(found.point, theirs) < 1e-8
    assert found.error_bound < 1e-9


@pytest.mark.parametrize("weights", [WHOLE[WHOLE > 0], REAL[REAL > 0], np.array([1.0, 1e-30]), np.array([5e-324, 1e-320])])
def test_counts_keep_the_shares_to_within_the_stated_loss(weights):
    made = Weights.of(weights.astype(float))
    asked, counts = [Fraction(w) for w in weights.tolist()], made.counts.tolist()
    off = sum(abs(a / sum(asked) - Fraction(c, sum(counts))) for a, c in zip(asked, counts, strict=True))
    assert off <= Fraction(made.loss)
    assert made.loss < 1e-12
    assert sum(counts) < 2**53
    assert (Weights.of(WHOLE[WHOLE > 0].astype(float)).loss) == 0


@pytest.mark.parametrize(("weights", "told"), [
    (np.ones(6), r"sample_weight has shape \(6,\): pass one weight for each of the 7 records"),
    (np.ones((7, 1)), "sample_weight has shape"),
    (-WHOLE, "sample_weight: pass weights that are not negative"),
    (np.zeros(7), "sample_weight: pass weights that are not negative, and not all 0"),
    (np.full(7, np.nan), "sample_weight holds NaN"),
    (np.full(7, 1e308), "too large to add up"),
])  # fmt: skip
def test_wrong_weights_get_one_sentence(weights, told):
    with pytest.raises(rd.InputError, match=told):
        rd.frechet_mean(np.zeros((7, 2)), rd.Euclidean(2), sample_weight=weights)


def test_a_tolerance_below_what_weights_allow_is_refused():
    _, points, _ = points_of_a_geodesic(rd.Sphere(2), TIMES)
    with pytest.raises(rd.ConvergenceError):
        rd.frechet_mean(points, rd.Sphere(2), tol=1e-30, sample_weight=REAL)
